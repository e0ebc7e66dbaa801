"""Which marks a page carries, and whether they stand in place of content.

A vendor's script on a good page is no challenge, and an article about block pages is none: each
finding is weighed against the content beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from target_health.pages.about import is_about
from target_health.pages.document import Document
from target_health.pages.hints import HINT_LETTERS, HINT_LINKS, telling_hint
from target_health.pages.layout import Layout, letters
from target_health.pages.markers import WHOLE, Markers, Needle, Strength, normalized

#: Letters of content (navigation and links left out) up to which a finding of a strength stands
#: in place of content. The wordiest block pages (Cloudflare's "What can I do to prevent this",
#: DataDome's list of reasons) have about 1,500; a short article begins there.
CONTENT_LIMIT: Mapping[Strength, int] = {"proof": 3_000, "strong": 1_100, "hint": HINT_LETTERS}

#: Characters of a page's text that phrases are looked for in.
_SEARCHED = 12_000

#: Letters of a page, navigation and all, above which it is not bare enough for a hint.
_HINT_LETTERS = 1_500

_CONFIDENCE: Mapping[Strength, float] = {"proof": 0.97, "strong": 0.88, "hint": 0.7}

#: JSON answers of challenge scripts are short; longer ones are data.
_JSON_LIMIT = 20_000

_PLACE_NAMES = {
    "header": "the header",
    "cookie": "a cookie",
    "html": "the source",
    "title": "the title",
    "heading": "a heading",
    "text": "the text",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One word of evidence with its reason."""

    evidence: str
    why: str
    confidence: float


def header_findings(headers: Mapping[str, str], markers: Markers) -> list[Finding]:
    """What headers prove by themselves."""
    found = []
    for needle in markers.header:
        if needle.strength != "proof":
            continue
        name, part = needle.parts
        value = headers.get(name)
        if value is not None and part in value.lower():
            shown = f"{name}: {value[:60]}"
            found.append(
                Finding(
                    f"{needle.verdict}:{needle.how}",
                    f"{needle.vendor} says so in the header `{shown}`.",
                    0.99,
                )
            )
    return found


def looks_marked(title: str | None, headings: Iterable[str], markers: Markers) -> bool:
    """Whether a long page's title or headings are those of a challenge or a block page."""
    for place, text in (("title", normalized(title or "")), ("heading", _joined(headings))):
        if any(needle.strength != "hint" for needle in _spoken(place, text, markers)):
            return True
    return False


def page_findings(
    document: Document, headers: Mapping[str, str], markers: Markers, *, has_item: bool
) -> list[Finding]:
    """Challenge, block and not-found marks of a page that stand in place of its content."""
    if has_item or (document.kind == "json" and document.size > _JSON_LIMIT):
        return []
    hits = _hits(document, headers, markers)
    if all(needle.place in ("header", "cookie") for needle in hits):
        return []
    layout = document.layout
    hits = [needle for needle in hits if not _is_displayed(needle, layout)]
    content = layout.content_letters
    found: list[Finding] = []
    hints: dict[str, list[Needle]] = {}
    about = is_about(document, markers)
    for needle in hits:
        if needle.strength == "hint":
            hints.setdefault(needle.verdict, []).append(needle)
        elif content <= _limit(needle, hits, document, about=about) and (
            needle.strength == "proof" or not _is_form(layout)
        ):
            found.append(_finding(needle))
    if not about and not any(finding.evidence.startswith("challenge") for finding in found):
        if found:  # A refusal that offers a puzzle is a challenge.
            hints = {"challenge": list(filter(_offers_check, hints.get("challenge", [])))}
        found += [
            _finding(needle) for group in hints.values() for needle in telling_hint(group, document)
        ]
    return _strongest(found)


def _offers_check(needle: Needle) -> bool:
    """A widget, or a sentence that asks to solve or confirm something."""
    return needle.place == "html" or len(needle.parts) > 1


def _limit(needle: Needle, hits: list[Needle], document: Document, *, about: bool) -> int:
    """Letters of content beside a mark.

    A sentence may be quoted: a text about block pages is no block page. A title may be that of a
    page about them, so beside more than a few lines the page itself must say so too.
    """
    if needle.place == "html":
        return 0 if document.layout.shows_code else CONTENT_LIMIT[needle.strength]
    if about:
        return 0
    if needle.strength == "proof":
        told = document.layout.told if needle.place == "text" else 0
        return CONTENT_LIMIT["proof"] // 2 if told <= _FEW_PARAGRAPHS else 0
    if document.layout.told > _FEW_PARAGRAPHS:
        return 0
    if needle.place == "text":
        return CONTENT_LIMIT["strong"] * 2 // 3
    labels = normalized("\n".join([document.title or "", *document.headings]))
    if any(
        other.verdict == needle.verdict
        and other.place not in ("title", "heading")
        and not all(part in labels for part in other.parts)
        for other in hits
    ):
        return CONTENT_LIMIT["strong"]
    if needle.verdict == "challenge" and document.layout.links > HINT_LINKS:
        return 0
    return CONTENT_LIMIT["hint"]


#: Paragraphs that tell something, as many as the wordiest challenge and block pages have.
_FEW_PARAGRAPHS = 2


def _is_displayed(needle: Needle, layout: Layout) -> bool:
    """Whether a piece of source is shown to readers, as texts on challenges do."""
    if needle.place != "html":
        return False
    return any(map(_CODE_LIKE.search, needle.parts)) and all(
        part in layout.visible_lowered for part in needle.parts
    )


_CODE_LIKE = re.compile(r"[={(_<]")


def _is_form(layout: Layout) -> bool:
    """A login, contact or sign-up page: captcha widgets belong there."""
    return layout.user_inputs >= 2 or layout.password_inputs > 0


def _hits(document: Document, headers: Mapping[str, str], markers: Markers) -> list[Needle]:
    hits = []
    for needle in markers.header:
        name, part = needle.parts
        if needle.strength != "proof" and name in headers and part in headers[name].lower():
            hits.append(needle)
    cookies = headers.get("set-cookie", "").lower()
    if cookies:
        names = [line.partition("=")[0].strip() for line in cookies.replace("\n", ",").split(",")]
        hits += [
            needle
            for needle in markers.cookie
            if any(name.startswith(needle.parts[0]) for name in names)
        ]
    there = document.marks(markers)
    if there:
        hits += [needle for needle, parts in markers.html if parts <= there]
    hits += _labels("title", normalized(QUOTED.sub(" ", document.title or "")), markers)
    hits += _labels("heading", QUOTED.sub(" ", _joined(document.headings)), markers)
    # A look at all text first: laying out the visible part of it costs more than the search.
    text = normalized(f"{document.title or ''} {document.text[:_SEARCHED]}")
    spoken = _spoken("text", text, markers)
    if document.letters > _HINT_LETTERS:
        spoken = [needle for needle in spoken if needle.strength != "hint"]
    if spoken:
        layout = document.layout
        text = normalized(
            f"{document.title or ''} {layout.visible[:_SEARCHED]} {layout.noscript[:2_000]}"
        )
        unquoted = text
        if document.kind == "html":
            unquoted = normalized(
                f"{document.title or ''} {QUOTED.sub(' ', layout.visible[:_SEARCHED])}"
                f" {layout.noscript[:2_000]}"
            )
        hits += [
            needle
            for needle in _spoken("text", text, markers)
            if needle.strength == "hint"
            or (
                all(part in unquoted for part in needle.parts)
                and not _is_supposed(needle.parts[0], unquoted)
            )
        ]
    if document.letters <= _HINT_LETTERS:
        hits += _said_in_a_sentence(text, document, markers)
    return hits


#: What stands between quotation marks on one line.
QUOTED = re.compile(r"""["“”„«»「『][^"“”„«»「」『』\n]{2,120}["“”«»」』]""")


#: “If your address is blocked” says that of nobody.
_SUPPOSED = re.compile(
    r"\b(?:if|whether|when|wenn|falls|ob|si|se|als|jeśli|gdy|если|когда)\s(?:\S+\s){0,2}$"
)


def _is_supposed(phrase: str, text: str) -> bool:
    at = text.find(phrase)
    return _SUPPOSED.search(text[max(0, at - 40) : at]) is not None


def _labels(place: str, text: str, markers: Markers) -> list[Needle]:
    """The marks of a title or of headings. A strong one that is a small part of what is said
    there is a hint: “Access denied when I open a folder” is a question."""
    return [
        replace(needle, strength="hint")
        if needle.strength == "strong"
        and (not _is_most(needle, text) or (needle.verdict == "soft_block" and "?" in text))
        else needle
        for needle in _spoken(place, text, markers)
    ]


def _is_most(needle: Needle, text: str) -> bool:
    phrase = needle.parts[0]
    if phrase.startswith(WHOLE):
        return True
    return any(
        phrase in segment and letters(_HOST.sub("", segment.replace(phrase, ""))) <= _BESIDE_LABEL
        for segment in segments(text)
    )


#: Letters beside a mark in the part of a title or the heading that it stands in.
_BESIDE_LABEL = 10
_HOST = re.compile(r"\S+\.[a-z]{2,}\S*")


def _said_in_a_sentence(text: str, document: Document, markers: Markers) -> list[Needle]:
    """The marks whose two kinds of words stand in one sentence of a page with few."""
    found: list[Needle] = []
    for mark in markers.sentences:
        if not mark.one.any_in(text) or not mark.other.any_in(text):
            continue
        if mark.unless is not None and mark.unless.any_in(text):
            continue
        sure = mark.needle.strength != "hint"
        for sentence in _visible_sentences(document, sure=sure):
            one, other = mark.one.found_in(sentence), mark.other.found_in(sentence)
            if one and other and not (sure and _is_supposed(one[0], sentence)):
                found.append(replace(mark.needle, parts=(one[0], other[0])))
                break
    return found


def _spoken(place: str, text: str, markers: Markers) -> list[Needle]:
    """The marks of a place that its text has."""
    if not text:
        return []
    there = dict.fromkeys(markers.said_index.found_in(text))
    whole = {WHOLE + part for part in segments(text)} if place != "text" else set()
    marks = markers.said[place]
    return [
        needle
        for part in (*there, *whole)
        if part in marks
        for needle in marks[part]
        if all(other in there or other in whole for other in needle.parts)
    ]


def _joined(headings: Iterable[str]) -> str:
    return "\n".join(map(normalized, headings))


def segments(text: str) -> set[str]:
    """The parts of a title between its separators, and the whole, without outer punctuation."""
    return {part.strip(" .!?:;()[]…") for part in [text, *SEPARATOR.split(text)]}


#: What stands between a page's name and its site's in a title.
SEPARATOR = re.compile(r"\s[-–—|·•:»«/~>]\s|[|·•»—\n]|:\s|\s[-–]")


def _visible_sentences(document: Document, *, sure: bool) -> Iterator[str]:
    """The page's sentences; for a sure mark those of its content alone."""
    layout = document.layout
    blocks = layout.content if sure else layout.blocks
    for said in [document.title or "", layout.noscript, *(block.text for block in blocks)]:
        # A Chinese comma often stands where others end a sentence.
        yield from sentences(normalized(said[:2_000]).replace("，", "。"))


_SENTENCE_END = re.compile(r"[.!?。！？…\n]+(?:\s|$)|[。！？]|\s[-–—|]\s")
_LONGEST_SENTENCE = 260


def sentences(said: str) -> Iterator[str]:
    """The sentences of a normalized text, but for very long ones."""
    for sentence in _SENTENCE_END.split(said):
        if 3 < len(sentence) <= _LONGEST_SENTENCE:
            yield sentence


def _finding(needle: Needle) -> Finding:
    what = {
        "challenge": "a challenge is shown in place of the content",
        "soft_block": "a block page is shown in place of the content",
        "soft_404": "the page says that it does not exist",
    }[needle.verdict]
    shown = needle.shown if needle.place not in ("header", "cookie") else needle.parts[0]
    return Finding(
        f"{needle.verdict}:{needle.how}",
        f"{needle.vendor}: {what} ({_PLACE_NAMES[needle.place]} has “{shown}”).",
        _CONFIDENCE[needle.strength],
    )


def _strongest(findings: list[Finding]) -> list[Finding]:
    """One finding for each word, the surest first."""
    best: dict[str, Finding] = {}
    for finding in sorted(findings, key=lambda found: -found.confidence):
        best.setdefault(finding.evidence, finding)
    return list(best.values())
