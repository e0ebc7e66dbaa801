"""Whether an article was withheld from us, and what the page says of its price.

A publisher's declaration (schema.org `isAccessibleForFree`), a notice to subscribers, the markup
of a paywall and missing text are evidence each; one alone is none. Many publishers declare a
paywall and serve the whole text: that page is ok, since we got it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from lxml import etree

from target_health.pages.document import Document
from target_health.pages.layout import letters
from target_health.pages.markers import DECLARES_FREE, DECLARES_TIER, Markers, normalized
from target_health.pages.marks import Finding
from target_health.pages.response import Paywall

#: Letters of running text (paragraphs of some length) below which an article is a teaser: three
#: paragraphs. A short news item has about 1,000.
_TEASER = 900
#: Running text after a notice that the rest is withheld, up to which the notice is believed: what
#: follows are other articles' teasers and the terms of the offer.
_AFTER_NOTICE = 1_800
_PARAGRAPH = 60
_LONGEST_NOTICE = 700
#: How often a phrase may stand on a page before it is a label of other articles.
_LABELS_FROM = 2
_SEARCHED = 60_000

_FALSE = frozenset(("false", "no", "0", "http://schema.org/false", "https://schema.org/false"))
_TRUE = frozenset(("true", "yes", "1", "http://schema.org/true", "https://schema.org/true"))
_TIER = re.compile(
    rb"""content_tier["'][^>]{0,40}content=["'](\w+)|content=["'](\w+)["'][^>]{0,40}content_tier"""
)
_BREAKS_OFF = "the text breaks off"
_ELLIPSIS = re.compile(r"(?:…|\.\.\.|\[\.\.\.\]|\[…\])\s*$")


@dataclass(slots=True)
class Declared:
    """What structured data says: free or not (None: nothing), and which parts are not."""

    free: bool | None = None
    selectors: list[str] = field(default_factory=list)


def judge(document: Document, markers: Markers) -> tuple[Paywall, list[Finding]]:
    """The state of a delivered page and the evidence that its article is withheld."""
    if document.kind != "html":
        return "UNKNOWN", []
    declared = _declared(document, markers)
    tier = _tier(document, markers)
    if declared.free is None and not tier:
        markup = _markup(document, markers)
        if not markup:
            return "UNKNOWN", []
    else:
        markup = "" if declared.free else _markup(document, markers)
    if declared.free:
        return "FREE", []

    found: list[Finding] = []
    if declared.free is False:
        found.append(
            Finding(
                "paywalled:schema_org",
                "Paywall: structured data declares the article as not accessible for free.",
                0.9,
            )
        )
    if tier or markup:
        found.append(
            Finding(
                "paywalled:markup",
                f"Paywall: the page is built around one (“{tier or markup}”).",
                0.75,
            )
        )
    text = _running_text(document)
    notice = _notice(text, markers)
    if notice:
        found.append(
            Finding(
                "paywalled:notice",
                f"Paywall: a notice says that the rest is withheld (“{notice}”).",
                0.85,
            )
        )
    withheld = _withheld(text, declared, document, notice=bool(notice))
    if withheld:
        found.append(Finding("paywalled:withheld", f"Paywall: {withheld}.", 0.8))
    stated = declared.free is False or bool(tier)
    # Without a declaration a short text is no sign: the article may be short.
    agreed = (stated and bool(notice or withheld)) or (
        bool(markup) and bool(notice) and withheld == _BREAKS_OFF
    )
    if agreed:
        return "PAYWALLED", found
    # A declared paywall around a text that was served: the state is the publisher's word, the
    # verdict what we received.
    return ("PAYWALLED" if stated else "UNKNOWN"), []


def _declared(document: Document, markers: Markers) -> Declared:
    declared = Declared()
    if document.seen is None or DECLARES_FREE not in document.marks(markers):
        return declared
    values: list[bool] = []
    for node in _json_ld(document):
        value = _truth(node.get("isAccessibleForFree"))
        if value is None:
            continue
        values.append(value)
        if value is False:
            selector = node.get("cssSelector")
            names = selector if isinstance(selector, list) else [selector]
            declared.selectors += [name for name in names if isinstance(name, str)]
    microdata = b"itemprop" in document.lowered
    for element in document.seen.iterfind(".//*[@itemprop]") if microdata else ():
        if "isAccessibleForFree" in (element.get("itemprop") or ""):
            word = element.get("content") or element.get("href") or "".join(element.itertext())
            value = _truth(word)
            if value is not None:
                values.append(value)
    if values:
        declared.free = all(values)
    return declared


def _json_ld(document: Document) -> Iterator[dict[str, Any]]:
    """Every object in the page's JSON-LD, nested ones too, of the first articles it describes."""
    pending = [
        item
        for text in document.structured_data
        if "isAccessibleForFree" in text
        for item in _items(text)
    ]
    visited = 0
    while pending and visited < 5_000:
        node = pending.pop()
        visited += 1
        if isinstance(node, list):
            pending.extend(node)
        # Lists of other articles say nothing of this one.
        elif isinstance(node, dict) and node.get("@type") not in ("ItemList", "CollectionPage"):
            yield node
            pending.extend(node.values())


def _items(text: str) -> list[Any]:
    """A script's JSON; where it is not quite JSON, what extruct makes of it."""
    try:
        return [json.loads(text, strict=False)]
    except (ValueError, RecursionError):
        pass
    # Imported by those who meet such a script: it takes longer than all else here together.
    from extruct.jsonld import JsonLdExtractor

    script = etree.Element("script", type="application/ld+json")
    holder = etree.Element("html")
    holder.append(script)
    try:
        script.text = text
        return list(JsonLdExtractor().extract_items(holder))
    except (ValueError, TypeError, RecursionError):
        return []


def _truth(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    if isinstance(value, list):
        found = [truth for truth in map(_truth, value) if truth is not None]
        return all(found) if found else None
    if isinstance(value, dict):
        return _truth(value.get("@value", value.get("@id")))
    word = str(value).strip().lower() if value is not None else ""
    if word in _FALSE:
        return False
    return True if word in _TRUE else None


def _tier(document: Document, markers: Markers) -> str:
    if DECLARES_TIER not in document.marks(markers):
        return ""
    match = _TIER.search(document.lowered)
    if match is None:
        return ""
    word = (match.group(1) or match.group(2)).decode()
    return f"content_tier {word}" if word in markers.paywall_tiers else ""


def _markup(document: Document, markers: Markers) -> str:
    """A class or id that publishers put around what is withheld."""
    there = document.marks(markers)
    words = [word for word in markers.paywall_markup if word.encode() in there]
    if document.seen is None or not words:
        return ""
    for element in document.seen.iter():
        if not element.attrib:
            continue
        names = f"{element.get('class') or ''} {element.get('id') or ''}".lower()
        if len(names) > 1:
            for word in words:
                if word in names:
                    return word
    return ""


def _running_text(document: Document) -> list[str]:
    """The visible blocks, in order, without navigation and links of their own."""
    if document.is_long or document.layout.complete:
        return [block.text for block in document.layout.blocks if not block.chrome]
    return [document.text[:_SEARCHED]]


def _notice(blocks: list[str], markers: Markers) -> str:
    """A phrase that says that the rest is for subscribers, with little text after it.

    The same words stand as labels beside links to other articles, so a phrase that is repeated
    is none.
    """
    said = [
        (text, markers.paywall_withheld.found_in(text) if len(text) < _LONGEST_NOTICE else [])
        for text in map(normalized, blocks)
    ]
    times = Counter(phrase for _, phrases in said for phrase in phrases)
    after = 0
    for text, phrases in reversed(said):
        for phrase in phrases:
            if times[phrase] <= _LABELS_FROM and _sells(text, markers):
                return phrase
        if len(text) >= _PARAGRAPH:
            after += letters(text)
            if after > _AFTER_NOTICE:
                break
    return ""


def _sells(text: str, markers: Markers) -> bool:
    """Phrases of everyday language count only beside words of a subscription."""
    return markers.paywall_offer.any_in(text)


def _withheld(blocks: list[str], declared: Declared, document: Document, *, notice: bool) -> str:
    """How the text is seen to be missing, or nothing."""
    paragraphs = [text for text in blocks if len(text) >= _PARAGRAPH]
    total = sum(map(letters, paragraphs))
    if declared.selectors and document.seen is not None:
        inside = _inside(document, declared.selectors)
        if inside is not None and inside > _TEASER // 2:
            return ""
        if inside is not None and total < 2 * _TEASER:
            return "the part declared as paid holds no text"
    if notice and any(_ELLIPSIS.search(text) for text in paragraphs):
        return _BREAKS_OFF
    if total < _TEASER:
        return f"only {total} letters of running text were served"
    return ""


def _inside(document: Document, selectors: list[str]) -> int | None:
    """Letters within the elements that a declaration names; None where it names none."""
    classes = {
        name for selector in selectors for name in re.findall(r"[.#]([\w-]{2,80})", selector)
    }
    if not classes or document.seen is None:
        return None
    best: int | None = None
    for element in document.seen.iter():
        if element.attrib:
            names = f"{element.get('class') or ''} {element.get('id') or ''}".split()
            if not classes.isdisjoint(names):
                count = letters(" ".join("".join(element.itertext()).split())[:20_000])
                best = max(best or 0, count)
    return 0 if best is None else best
