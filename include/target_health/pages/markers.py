"""The marks by which a page is recognised, read from `markers.yaml`.

A user adds a file of the same form; its marks and phrases are added to the shipped ones.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from target_health.config.marker_files import marker_files
from target_health.errors import ConfigurationError
from target_health.pages.phrases import BytesIndex, PhraseIndex
from target_health.paths import SHIPPED_CONFIG

Strength = Literal["proof", "strong", "hint"]
STRENGTHS: tuple[Strength, ...] = ("proof", "strong", "hint")


class MarkersError(ConfigurationError):
    """A markers file cannot be used; the message names the file and the key."""


def normalized(text: str) -> str:
    """As phrases are compared: case, typographic quotes and white space make no difference."""
    # The Turkish capital İ is casefolded to an i with a dot above.
    folded = text.casefold().replace("i̇", "i")
    return " ".join(folded.replace("’", "'").replace("‘", "'").split())


def _as_parts(value: object) -> object:
    return [value] if isinstance(value, str) else value


#: One phrase, or several of which all must be there.
Phrase = Annotated[
    list[Annotated[str, Field(min_length=2)]], BeforeValidator(_as_parts), Field(min_length=1)
]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Pair(_Strict):
    """Something of `one` and something of `other` in one sentence of a page that says nothing of
    `unless`."""

    one: list[str]
    other: list[str]
    unless: list[str] = []


class Places(_Strict):
    """Where a mark is looked for. In each list any one entry will do.

    `header`: `name` or `name: part of its value`; `cookie`: how a cookie's name begins;
    `html`: the source; `title`; `heading` (levels 1 to 3); `text`: what a reader sees;
    `sentence`: two kinds of words in one sentence of it.
    """

    header: list[str] = []
    cookie: list[str] = []
    html: list[Phrase] = []
    title: list[Phrase] = []
    heading: list[Phrase] = []
    text: list[Phrase] = []
    sentence: list[Pair] = []


class Mark(_Strict):
    """One vendor's or one kind of page's marks.

    `proof` stands on no other page, `strong` on few that have content, `hint` on many.
    """

    how: str = Field(pattern=r"^[a-z0-9_]+$")
    verdict: Literal["challenge", "soft_block", "soft_404"]
    vendor: str = Field(min_length=1)
    source: str = Field(min_length=1)
    proof: Places = Places()
    strong: Places = Places()
    hint: Places = Places()


class NotFoundWords(_Strict):
    """How one language says that a page does not exist: something of `page` (or, weaker, of
    `thing`) and something of `gone` in one sentence; `alone` says it as a whole title."""

    page: list[str] = []
    thing: list[str] = []
    gone: list[str] = []
    alone: list[str] = []


class NotFound(_Strict):
    source: str = ""
    body_class: list[str] = []
    html: list[Phrase] = []
    error_words: list[str] = []
    not_about_pages: list[str] = []
    not_in_titles: list[str] = []
    notices: list[str] = []
    languages: dict[str, NotFoundWords] = {}


class PaywallWords(_Strict):
    """`withheld` tells that the rest is for subscribers only; `offer` sells a subscription."""

    source: str = ""
    markup: list[str] = []
    tier_meta: list[str] = []
    withheld: list[str] = []
    offer: list[str] = []


class MarkersFile(_Strict):
    """`about` begins, or in a script without spaces stands in, a title of a text on such pages;
    `about_codes` are words of texts on HTTP, `told_by_a_person` of those who ask for help."""

    marks: list[Mark] = []
    about: list[str] = []
    about_codes: list[str] = []
    told_by_a_person: list[str] = []
    not_found: NotFound = NotFound()
    paywall: PaywallWords = PaywallWords()


#: What a page's source has where it says whether its article is free.
DECLARES_FREE = b"isaccessibleforfree"
DECLARES_TIER = b"content_tier"

#: Begins a phrase that must be a whole title, part of a title or heading.
WHOLE = "= "


@dataclass(frozen=True, slots=True)
class Needle:
    """One mark in one place, ready to search: all of `parts` must be there."""

    verdict: str
    how: str
    vendor: str
    strength: Strength
    place: str
    parts: tuple[str, ...]

    @property
    def shown(self) -> str:
        return " … ".join(self.parts)


@dataclass(frozen=True, slots=True)
class SentenceMark:
    """A `Pair` ready to search."""

    needle: Needle
    one: PhraseIndex
    other: PhraseIndex
    unless: PhraseIndex | None


class Markers:
    """All marks, arranged by where they are looked for."""

    def __init__(self, files: Sequence[MarkersFile]) -> None:
        needles = [needle for file in files for mark in file.marks for needle in _needles(mark)]
        self.header = [needle for needle in needles if needle.place == "header"]
        self.cookie = [needle for needle in needles if needle.place == "cookie"]
        self.html = [
            (needle, frozenset(part.lower().encode() for part in needle.parts))
            for needle in needles
            if needle.place == "html"
        ]
        #: By place, the marks that have a phrase as their first part.
        self.said: dict[str, dict[str, list[Needle]]] = {"title": {}, "heading": {}, "text": {}}
        for needle in needles:
            if needle.place in self.said:
                self.said[needle.place].setdefault(needle.parts[0], []).append(needle)
        self.said_index = PhraseIndex(
            part
            for needle in needles
            if needle.place in self.said
            for part in needle.parts
            if not part.startswith(WHOLE)
        )
        self.sentences = [
            sentence for file in files for mark in file.marks for sentence in _pairs(mark)
        ]
        self._about = PhraseIndex(_words(word for file in files for word in file.about))
        self.about_codes = PhraseIndex(_words(word for file in files for word in file.about_codes))
        self.told_by_a_person = PhraseIndex(
            _words(word for file in files for word in file.told_by_a_person)
        )
        not_found = [file.not_found for file in files]
        self.not_found_classes = tuple(
            f" {name.lower()} " for part in not_found for name in part.body_class
        )
        self.not_found_html = tuple(
            frozenset(piece.lower().encode() for piece in phrase)
            for part in not_found
            for phrase in part.html
        )
        paywalls = [file.paywall for file in files]
        self.paywall_markup = _words(word for part in paywalls for word in part.markup)
        self.html_index = BytesIndex(
            [
                *(part for _, parts in self.html for part in sorted(parts)),
                *(part for parts in self.not_found_html for part in sorted(parts)),
                *(word.encode() for word in self.paywall_markup),
                DECLARES_FREE,
                DECLARES_TIER,
            ]
        )

        words = [words for part in not_found for words in part.languages.values()]
        page = _words(word for group in words for word in group.page)
        gone = _words(word for group in words for word in group.gone)
        error = _words(word for part in not_found for word in part.error_words)
        self.page_words = PhraseIndex(page)
        self.thing_words = PhraseIndex(_words(word for group in words for word in group.thing))
        self.gone_words = PhraseIndex(gone)
        self.alone_words = _words(word for group in words for word in group.alone)
        #: Without one of these, or a 404, nothing says that a page is missing.
        self.missing_words = PhraseIndex((*gone, *self.alone_words))
        self.not_about_pages = PhraseIndex(
            _words(word for part in not_found for word in part.not_about_pages)
        )
        self.not_in_titles = PhraseIndex(
            _words(word for part in not_found for word in part.not_in_titles)
        )
        #: Headings that name nothing.
        self.notices = frozenset(_words(word for part in not_found for word in part.notices))
        #: What may stand in a label like "Oops! Error 404: page not found", longest first.
        self.label_words = PhraseIndex(
            sorted({*page, *gone, *error, *self.alone_words}, key=len, reverse=True)
        )
        self.paywall_tiers = frozenset(word for part in paywalls for word in part.tier_meta)
        self.paywall_withheld = PhraseIndex(
            _words(word for part in paywalls for word in part.withheld)
        )
        self.paywall_offer = PhraseIndex(_words(word for part in paywalls for word in part.offer))

    def begins_about(self, title: str) -> bool:
        """Whether a normalized title begins like that of a text on challenges or errors."""
        return any(
            title.startswith(f"{word} ") or word[0] >= "\u1100"
            for word in self._about.found_in(title)
        )


def _words(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(normalized(word) for word in words))


def _needles(mark: Mark) -> Iterator[Needle]:
    for strength in STRENGTHS:
        places: Places = getattr(mark, strength)
        for place in ("header", "cookie"):
            for entry in getattr(places, place):
                name, _, value = entry.partition(":")
                yield Needle(
                    mark.verdict,
                    mark.how,
                    mark.vendor,
                    strength,
                    place,
                    (name.strip().lower(), value.strip().lower()),
                )
        for place in ("html", "title", "heading", "text"):
            for phrase in getattr(places, place):
                parts = tuple(phrase if place == "html" else map(normalized, phrase))
                yield Needle(mark.verdict, mark.how, mark.vendor, strength, place, parts)


def _pairs(mark: Mark) -> Iterator[SentenceMark]:
    for strength in STRENGTHS:
        for pair in getattr(mark, strength).sentence:
            yield SentenceMark(
                Needle(mark.verdict, mark.how, mark.vendor, strength, "text", ()),
                PhraseIndex(_words(pair.one)),
                PhraseIndex(_words(pair.other)),
                PhraseIndex(_words(pair.unless)) if pair.unless else None,
            )


#: libyaml's safe loader where it is there: ten times faster.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load_markers(*paths: str | Path) -> Markers:
    """Marks of all files together. Raises `MarkersError` with file and key where one is wrong."""
    return Markers([_read(Path(path)) for path in paths])


def _read(path: Path) -> MarkersFile:
    try:
        data = yaml.load(path.read_text(encoding="utf-8"), Loader=_LOADER)
    except OSError as error:
        raise MarkersError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        first = str(error).replace("\n", " ")
        raise MarkersError(f"{path}: is no valid YAML: {first}") from error
    try:
        return MarkersFile.model_validate(data if data is not None else {})
    except ValidationError as error:
        first_error = error.errors()[0]
        key = ".".join(str(part) for part in first_error["loc"]) or "top level"
        raise MarkersError(f"{path}: {key}: {first_error['msg']}") from error


SHIPPED = SHIPPED_CONFIG / "markers.yaml"


def active_markers(directory: Path) -> Markers:
    """The shipped marks, with those that the user's configuration directory adds."""
    files = marker_files(directory)
    return shipped_markers() if files == [SHIPPED] else load_markers(*files)


@functools.cache
def shipped_markers() -> Markers:
    """The marks that come with the project."""
    return load_markers(SHIPPED)
