"""Whether a delivered page says that it does not exist.

What speaks for it are whole titles, headings and short sentences about a page that is not there,
and the marks that frameworks put on their error page; never "404" somewhere in a text. What
speaks against it is content.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from target_health.pages.document import Document
from target_health.pages.layout import Block, Layout, letters
from target_health.pages.markers import Markers, normalized
from target_health.pages.marks import SEPARATOR, Finding
from target_health.pages.phrases import PhraseIndex

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

_CODE = re.compile(r"(?<![\w$€£#])(?<!\d[.,:/-])4[0o]4(?![\w%]|[.,:/-]\d)")
_NO_LETTERS = re.compile(r"[\W\d_]+")
_SENTENCE_END = re.compile(r"[.!?。！？…\n]+(?:\s|$)|[。！？]|\s[-–—|]\s")
_URL = re.compile(
    r"(?:^|[/_.-])(?:404|error-?404|not-?found|page-?not-?found|pagenotfound)"
    r"(?:\.\w{2,5})?/?$"
)
#: Characters of a paragraph that tells something, and how many of those an error page has.
_PARAGRAPH = 160
_FEW_PARAGRAPHS = 3
_LONGEST_LABEL = 90
#: Letters of a page, navigation and all, up to which a sentence in it can be all it says.
_SAYS_LITTLE = 1_500
_LONGEST_MESSAGE = 420


def is_suspicious(document: Document, markers: Markers) -> bool:
    """A cheap look at a long page: is a closer one worth it?"""
    if _has_markup(document, markers):
        return True
    said = normalized(f"{document.title or ''}\n{' '.join(document.headings)}")
    if _CODE.search(said) is None and not markers.missing_words.any_in(said):
        return False
    return any(
        _says_missing(text, markers)
        for text in [*title_parts(document.title), *document.headings]
    )


def find(document: Document, url: str, markers: Markers) -> list[Finding]:
    """The evidence `soft_404:…` of a page, empty where it does not reach."""
    if document.kind in ("json", "xml", "text") and document.size < 4_000:
        data = _data_says(document, markers)
        if data is not None:
            return data
    if document.kind not in ("html", "text"):
        return []
    if not _worth_laying_out(document, url, markers):
        return []
    layout = document.layout
    signs = _signs(document, layout, url, markers)
    if not signs:
        return []
    message_blocks = signs.pop("blocks", [])
    said = sum(len(block.text) and letters(block.text) for block in message_blocks)
    content = max(0, layout.content_letters - said)
    points = sum(_POINTS[how] for how in signs)
    if content <= _BARE_LETTERS and not layout.user_inputs:
        points += _BARE_BONUS
    needed = next((needs for limit, needs in _NEEDED if content <= limit), None)
    if needed is None or points < needed:
        return []
    tells = content > _MARKUP_ONLY_ABOVE or _paragraphs(layout) > _FEW_PARAGRAPHS
    if tells and "markup" not in signs:
        return []
    if content > 300 and _shows_product(document):
        return []
    confidence = min(0.97, 0.6 + 0.15 * (points - needed) + (0.15 if content < 300 else 0.05))
    return [
        Finding(
            f"soft_404:{how}",
            f"Not found: {_SAYS[how]}{f' (“{_short(shown)}”)' if shown else ''}.",
            confidence,
        )
        for how, shown in signs.items()
    ]


def _worth_laying_out(document: Document, url: str, markers: Markers) -> bool:
    """A sentence alone decides on a page that says little else."""
    if is_suspicious(document, markers) or _is_error_url(url):
        return True
    if document.letters > _SAYS_LITTLE:
        return False
    said = normalized(document.text)
    return _CODE.search(said) is not None or markers.gone_words.any_in(said)


def _paragraphs(layout: Layout) -> int:
    return sum(len(block.text) >= _PARAGRAPH for block in layout.content)


def _signs(document: Document, layout: Layout, url: str, markers: Markers) -> dict:
    """Which signs a page shows, each with what it was seen in; `blocks` are those that speak."""
    signs: dict = {}
    markup = _has_markup(document, markers)
    if markup:
        signs["markup"] = markup
    for part in title_parts(document.title):
        if _says_missing(part, markers):
            signs["title"] = part
            break
    shown = _squeezed(layout.visible)
    heads = {text for text in document.headings if _squeezed(text) in shown}
    for text in document.headings:
        if text in heads and _says_missing(text, markers):
            signs["heading"] = text
            break
    spoken = layout.content or layout.blocks
    gallery = layout.other_codes > 1
    if gallery:
        signs.pop("heading", None)
    blocks: list[Block] = []
    for block in spoken[:400]:
        text = block.text
        if block.quoted or block.is_link or len(text) > _LONGEST_MESSAGE:
            continue
        if text in heads:
            if _says_missing(text, markers):
                blocks.append(block)
            continue
        if len(text) <= _LONGEST_LABEL and _is_label(text, markers):
            if block.tag in ("li", "td") or gallery:
                continue
            blocks.append(block)
            signs.setdefault("message" if _gone(normalized(text), markers) else "number", text)
        elif block.tag != "li" and not gallery and _message(text, markers):
            blocks.append(block)
            signs.setdefault("message", text)
    if signs and _is_error_url(url):
        signs["url"] = url
    if signs and set(signs) <= {"number"} and not document.title:
        return {}
    if signs:
        signs["blocks"] = blocks
    return signs


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _is_error_url(url: str) -> bool:
    return bool(url) and _URL.search(urlsplit(url).path.lower()) is not None


def title_parts(title: str | None) -> list[str]:
    """A title whole and by its parts: sites put their own name beside the page's."""
    if not title:
        return []
    parts = [part.strip() for part in SEPARATOR.split(title)]
    return [title, *(part for part in parts if part and part != title)]


def _has_markup(document: Document, markers: Markers) -> str:
    for name in markers.not_found_classes:
        if name in document.body_classes:
            return name.strip()
    there = document.marks(markers)
    for parts in markers.not_found_html if there else ():
        if parts <= there:
            return " … ".join(sorted(part.decode() for part in parts))
    return ""


def _says_missing(text: str, markers: Markers) -> bool:
    """Whether a title, a part of one or a heading says by itself that the page is missing."""
    if not text or len(text) > _LONGEST_LABEL:
        return False
    return _is_label(text, markers) or _sentence_says(normalized(text), markers, things=True)


def _is_label(text: str, markers: Markers) -> bool:
    """`404`, `Oops! Error 404`, `Page not found`: nothing is left when those words are gone."""
    said = normalized(text)
    if said.strip(" .!?:;()[]…😢🙁:(-") in markers.alone_words:
        return True
    if not _CODE.search(said) and not _gone(said, markers):
        return False
    rest = _CODE.sub(" ", said)
    for word in markers.label_words.found_in(rest):
        rest = _without(rest, word)
    return not _NO_LETTERS.sub("", rest) and (
        _CODE.search(said) is not None or markers.page_words.any_in(said)
    )


def _without(text: str, word: str) -> str:
    """`text` without `word`: whole words only, where the script has spaces between them."""
    if word.isascii() or not _unspaced(word):
        return re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", " ", text)
    return text.replace(word, " ")


def _unspaced(word: str) -> bool:
    return any("\u0e00" <= char <= "\u0eff" or char >= "\u1100" for char in word)


def _gone(said: str, markers: Markers) -> bool:
    return markers.gone_words.any_in(said)


def _message(text: str, markers: Markers) -> bool:
    """Whether a short paragraph tells the visitor that the page is missing."""
    said = normalized(text)
    return _gone(said, markers) and any(
        _sentence_says(sentence, markers, things=False) for sentence in _sentences(said)
    )


def _sentences(said: str) -> Iterator[str]:
    for sentence in _SENTENCE_END.split(said):
        if 3 < len(sentence) <= 260:
            yield sentence


def _sentence_says(sentence: str, markers: Markers, *, things: bool) -> bool:
    """A noun for a page and a word for its absence in one sentence, about nothing else."""
    for gone in markers.gone_words.found_in(sentence):
        rest = _without(sentence, gone)
        if _names(rest, markers.page_words) or (
            things and _names(rest, markers.thing_words)
        ) or _CODE.search(rest):
            return not _names(sentence, markers.not_about_pages)
    return False


def _names(sentence: str, words: PhraseIndex) -> bool:
    """Whether one of `words` begins a word of the sentence; short ones must be all of it."""
    for word in words.found_in(sentence):
        if _unspaced(word):
            return True
        end = r"(?!\w)" if len(word) <= 4 else ""
        if re.search(rf"(?<!\w){re.escape(word)}{end}", sentence):
            return True
    return False


def _shows_product(document: Document) -> bool:
    source = document.lowered
    return b'itemprop="price"' in source or b"add-to-cart" in source or b"addtocart" in source


def _data_says(document: Document, markers: Markers) -> list[Finding] | None:
    """JSON, XML and plain text that say in so many words that nothing is there."""
    said = normalized(document.text)
    if document.kind == "text":
        if len(said) > 200:
            return None
        if _is_label(said, markers) or said.strip(" .!") in markers.alone_words or _message(
            said, markers
        ):
            return [_body_finding(said)]
        return None
    if document.kind == "json" and _JSON_NOT_FOUND.search(said):
        return [_body_finding(said)]
    return []


_JSON_NOT_FOUND = re.compile(
    r'^\s*\{.{0,200}"(?:status|statuscode|status_code|code|error_code|errorcode)"\s*:\s*"?404"?\s*[,}]'
    r'|^\s*\{.{0,200}"(?:error|message|detail|title|reason|msg)"\s*:\s*"(?:\w+ ){0,4}not found\.?"'
    r'|^\s*\{.{0,200}"(?:error|code)"\s*:\s*"(?:not_found|notfound|nosuchkey)"'
)


def _body_finding(said: str) -> Finding:
    return Finding("soft_404:body", f"Not found: {_SAYS['body']} (“{_short(said)}”).", 0.85)


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:77]}…"
