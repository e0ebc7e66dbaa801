"""Whether a delivered page says that it does not exist.

What speaks for it are whole titles, headings and short sentences about a page that is not there,
and the marks that frameworks put on their error page; never "404" somewhere in a text. What
speaks against it is content.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from target_health.pages.about import is_about_codes, is_told
from target_health.pages.document import Document
from target_health.pages.layout import Block, Layout, letters
from target_health.pages.markers import Markers, normalized
from target_health.pages.marks import Finding
from target_health.pages.missing import (
    LONGEST_LABEL,
    is_about_else,
    is_label,
    is_message,
    may_say_missing,
    message,
    says_gone,
    says_missing,
    title_parts,
)

#: Points a page needs by how much content it has beside what says that it is missing. Error
#: pages with recent posts and contact details have up to some 600 letters; above 1,500 only a
#: framework's own mark is believed, since texts about missing pages are as long.
_NEEDED = ((600, 1.0), (1_500, 1.6), (4_000, 2.5))
_MARKUP_ONLY_ABOVE = 1_500

_POINTS = {"markup": 1.2, "title": 1.0, "heading": 1.0, "message": 0.8, "number": 0.6, "url": 0.6}
#: A page that consists of the message alone.
_BARE_BONUS = 0.4
_BARE_LETTERS = 150

_SAYS = {
    "markup": "the framework marks this page as its not-found page",
    "title": "the title says that the page does not exist",
    "heading": "a heading says that the page does not exist",
    "message": "a sentence says that the page does not exist",
    "number": "404 stands by itself on the page",
    "url": "the address is that of a not-found page",
    "body": "the answer says that what was asked for does not exist",
}

_URL = re.compile(
    r"(?:^|[/_.-])(?:404|error-?404|not-?found|page-?not-?found|pagenotfound)"
    r"(?:\.\w{2,5})?/?$"
)
#: Characters of a link's name with what stands between links.
_LINK_CHARS = 35
#: Letters of a page, navigation and all, up to which a sentence in it can be all it says.
_SAYS_LITTLE = 1_500
#: Characters of a paragraph that tells something, and how many of those an error page has.
_PARAGRAPH = 160
_FEW_PARAGRAPHS = 3
_LONGEST_MESSAGE = 420
_BLOCKS = 400
#: Bytes of an answer that is no page and says that nothing is there.
_DATA_LIMIT = 4_000


@dataclass(slots=True)
class Signs:
    """What says that the page is missing: each kind with what it was seen in."""

    shown: dict[str, str] = field(default_factory=dict)
    #: Letters of the blocks that say so: they are not content.
    letters: int = 0

    def add(self, kind: str, text: str, block: Block | None = None) -> None:
        self.shown.setdefault(kind, text)
        if block is not None:
            self.letters += letters(block.text)


def is_suspicious(document: Document, markers: Markers) -> bool:
    """A cheap look at a long page: is a closer one worth it?"""
    if _markup(document, markers):
        return True
    said = "\n".join([document.title or "", *document.headings])
    return may_say_missing(said, markers) and any(
        says_missing(text, markers) for text in [*title_parts(document.title), *document.headings]
    )


def find(document: Document, url: str, markers: Markers) -> list[Finding]:
    """The evidence `soft_404:…` of a page, empty where it does not reach."""
    if document.kind in ("json", "text", "xml"):
        return _data(document, markers) if document.size < _DATA_LIMIT else []
    if document.kind != "html" or not _worth_laying_out(document, url, markers):
        return []
    layout = document.layout
    signs = _signs(document, layout, url, markers)
    content = max(0, layout.content_letters - signs.letters)
    spare = _points(signs, content, layout) - _needed(signs, content, layout)
    if spare < 0 or (content > _BARE_LETTERS * 2 and _shows_product(document)):
        return []
    confidence = min(0.97, 0.65 + 0.15 * spare + (0.1 if content < _BARE_LETTERS * 2 else 0))
    return [
        Finding(f"soft_404:{kind}", _why(kind, text), confidence)
        for kind, text in signs.shown.items()
    ]


def _points(signs: Signs, content: int, layout: Layout) -> float:
    points = sum(_POINTS[kind] for kind in signs.shown)
    if points and content <= _BARE_LETTERS and not layout.user_inputs:
        points += _BARE_BONUS
    return points


def _needed(signs: Signs, content: int, layout: Layout) -> float:
    """Points that a page with this much content needs; more than there are where it tells
    something and no framework says otherwise."""
    told = sum(len(block.text) >= _PARAGRAPH for block in layout.content)
    if (content > _MARKUP_ONLY_ABOVE or told > _FEW_PARAGRAPHS) and "markup" not in signs.shown:
        return float("inf")
    return next((needs for limit, needs in _NEEDED if content <= limit), float("inf"))


def _worth_laying_out(document: Document, url: str, markers: Markers) -> bool:
    """A sentence alone decides on a page that says little else."""
    if is_suspicious(document, markers) or _is_error_url(url):
        return True
    short = document.letters <= _SAYS_LITTLE or is_mostly_links(document)
    text = document.text
    # Blocks that stand next to each other have nothing between them in this text.
    return short and ("404" in text or may_say_missing(text, markers))


def is_mostly_links(document: Document) -> bool:
    """Whether a page's text is about as much as its links' names: a menu, whatever its length."""
    return document.lowered.count(b"<a ") * _LINK_CHARS > len(document.text)


def _signs(document: Document, layout: Layout, url: str, markers: Markers) -> Signs:
    signs = Signs()
    markup = _markup(document, markers)
    if markup:
        signs.add("markup", markup)
    about_codes = is_about_codes(document, markers)
    for part in title_parts(document.title):
        if not about_codes and says_missing(part, markers):
            signs.add("title", part)
            break
    # A gallery of error pages, a list of status codes or a text on one is none itself.
    if layout.other_codes <= 1 and not about_codes and not is_told(document, markers):
        _add_said(signs, document, layout, markers)
    if signs.shown and _is_error_url(url):
        signs.add("url", url)
    return signs


def _add_said(signs: Signs, document: Document, layout: Layout, markers: Markers) -> None:
    """What the visible page says, in headings and in blocks of its own."""
    visible = _squeezed(layout.visible)
    headings = {text for text in document.headings if _squeezed(text) in visible}
    for text in document.headings:
        if text in headings and says_missing(text, markers):
            signs.add("heading", text)
            break
    # A heading names what the page is about: a product that is out of stock is still shown.
    things = (
        layout.content_letters <= _BARE_LETTERS
        and all(names_nothing(text, markers) or says_missing(text, markers) for text in headings)
        and not layout.search_inputs
        and not is_about_else(document.title or "", markers)
    )
    for block in (layout.content or layout.blocks)[:_BLOCKS]:
        text = block.text
        if block.quoted or block.is_link or len(text) > _LONGEST_MESSAGE:
            continue
        if text in headings:
            if says_missing(text, markers):
                signs.letters += letters(text)
        elif len(text) <= LONGEST_LABEL and is_label(text, markers):
            if block.tag not in ("li", "td"):
                gone = says_gone(normalized(text), markers)
                signs.add("message" if gone else "number", text, block)
        elif block.tag != "li":
            told = message(text, markers, things=things)
            if told:
                signs.add("message", text)
                signs.letters += letters(text if len(text) <= _PARAGRAPH else told)


def names_nothing(text: str, markers: Markers) -> bool:
    """Whether a heading is “Information”, “Sorry” or the like, of no thing in particular."""
    said = rest = normalized(text)
    for word in markers.label_words.found_in(said):
        rest = rest.replace(word, " ")
    return not any(map(str.isalpha, rest)) or said.strip(" .!:…") in markers.notices


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _is_error_url(url: str) -> bool:
    try:
        path = urlsplit(url).path
    except ValueError:  # no URL at all
        return False
    return _URL.search(path.lower()) is not None


def _markup(document: Document, markers: Markers) -> str:
    """The mark of a framework's own not-found page."""
    for name in markers.not_found_classes:
        if name in document.body_classes:
            return name.strip()
    there = document.marks(markers)
    for parts in markers.not_found_html if there else ():
        if parts <= there:
            return " … ".join(sorted(part.decode() for part in parts))
    return ""


def _shows_product(document: Document) -> bool:
    source = document.lowered
    return b'itemprop="price"' in source or b"add-to-cart" in source or b"addtocart" in source


_CODE_KEYS = frozenset(("status", "statuscode", "status_code", "code", "error_code", "errorcode"))
_WORD_KEYS = frozenset(("error", "message", "detail", "title", "reason", "msg", "code"))
_INNER_KEYS = frozenset(("error", "errors", "meta", "status"))
_SAYS_NOT_FOUND = re.compile(r"(?:\w+ ){0,4}not found\.?|not_found|notfound|nosuchkey")


def _answers_not_found(data: object, *, inner: bool = False) -> bool:
    """Whether an object, or the error within it, is that nothing was found; not its records."""
    if not isinstance(data, dict):
        return False
    for name, value in data.items():
        key = str(name).lower()
        if key in _CODE_KEYS and str(value) == "404":
            return True
        if (
            key in _WORD_KEYS
            and isinstance(value, str)
            and len(data) <= _FEW_KEYS
            and _SAYS_NOT_FOUND.fullmatch(value.strip().lower())
        ):
            return True
        if key in _INNER_KEYS and not inner:
            parts = value if isinstance(value, list) else [value]
            if any(_answers_not_found(part, inner=True) for part in parts[:3]):
                return True
    return False


#: Keys of an object that is an error's description.
_FEW_KEYS = 8


def _data(document: Document, markers: Markers) -> list[Finding]:
    """JSON and plain text that say in so many words that nothing is there."""
    said = normalized(document.text)
    if document.kind == "json":
        try:
            missing = _answers_not_found(json.loads(document.text))
        except (ValueError, RecursionError):
            missing = False
    else:
        missing = len(said) <= 200 and (is_label(said, markers) or is_message(said, markers))
    return [Finding("soft_404:body", _why("body", said), 0.85)] if missing else []


def _why(kind: str, text: str) -> str:
    short = text if len(text) <= 80 else f"{text[:77]}…"
    return f"Not found: {_SAYS[kind]} (“{short}”)."
