"""Whether words say that a page is missing: a title, a heading, a label or a sentence."""

from __future__ import annotations

import re

from target_health.pages.markers import Markers, normalized
from target_health.pages.marks import QUOTED, SEPARATOR, sentences
from target_health.pages.phrases import PhraseIndex

#: Characters of a title, heading or label; longer ones tell a story.
LONGEST_LABEL = 90

#: 404 as a word of its own, no price, time or number of a longer kind.
_CODE = re.compile(r"(?<![\w$€£#])(?<!\d[.,:/-])4[0o]4(?![\w%]|[.,:/-]\d)")
_NO_LETTERS = re.compile(r"[\W\d_]+")
#: The year of a film or a book behind its name.
_YEAR = re.compile(r"\((?:19|20)\d\d\)")
_OUTER = re.compile(r"^[\W_]+|[\W_]+$")


def title_parts(title: str | None) -> list[str]:
    """A title whole and by its parts: sites put their own name beside the page's."""
    if not title:
        return []
    parts = [part.strip() for part in SEPARATOR.split(title)]
    return [title, *(part for part in parts if part and part != title)]


def may_say_missing(text: str, markers: Markers) -> bool:
    """A cheap look: without any of these words nothing says so."""
    said = normalized(text)
    return has_code(said) or markers.missing_words.any_in(said)


def says_missing(text: str, markers: Markers) -> bool:
    """Whether a title, a part of one or a heading says by itself that the page is missing."""
    if not text or len(text) > LONGEST_LABEL:
        return False
    text = QUOTED.sub(" ", text)
    said = normalized(text)
    if _names(said, markers.not_in_titles) or _YEAR.search(said) or markers.begins_about(said):
        return False
    return is_label(text, markers) or any(
        _sentence_says(sentence, markers, things=True) for sentence in sentences(said)
    )


def is_label(text: str, markers: Markers) -> bool:
    """`404`, `Oops! Error 404`, `Page not found`: nothing is left when those words are gone."""
    said = normalized(text)
    if said in markers.alone_words or _OUTER.sub("", said) in markers.alone_words:
        return True
    if not has_code(said) and not says_gone(said, markers):
        return False
    rest = _CODE.sub(" ", said)
    for word in markers.label_words.found_in(rest):
        rest = _without(rest, word)
    return not _NO_LETTERS.sub("", rest) and (has_code(said) or markers.page_words.any_in(said))


def is_message(text: str, markers: Markers, *, things: bool = False) -> bool:
    """Whether a short paragraph tells the visitor that the page is missing; with `things` also
    that an article, a product or the like is."""
    return bool(message(text, markers, things=things))


def message(text: str, markers: Markers, *, things: bool = False) -> str:
    """The sentences of a short paragraph that tell the visitor so; empty where none does."""
    said = normalized(QUOTED.sub(" ", text))
    if not says_gone(said, markers):
        return ""
    return " ".join(
        sentence for sentence in sentences(said) if _sentence_says(sentence, markers, things=things)
    )


def is_about_else(text: str, markers: Markers) -> bool:
    """Whether a page's title and headings speak of a search, a list or the like."""
    return _names(normalized(text), markers.not_about_pages)


def has_code(said: str) -> bool:
    return _CODE.search(said) is not None


def says_gone(said: str, markers: Markers) -> bool:
    return markers.gone_words.any_in(said)


def _sentence_says(sentence: str, markers: Markers, *, things: bool) -> bool:
    """A noun for a page and a word for its absence in one sentence, about nothing else."""
    for gone in markers.gone_words.found_in(sentence):
        rest = _without(sentence, gone)
        if (
            _names(rest, markers.page_words)
            or (things and _names(rest, markers.thing_words))
            or has_code(rest)
        ):
            return not _names(_without_search(sentence, markers), markers.not_about_pages)
    return False


def _without_search(sentence: str, markers: Markers) -> str:
    """The sentence without “the page that you are looking for”, which is no search."""
    for words in markers.page_words.found_in(sentence):
        if " " in words or _unspaced(words):
            sentence = sentence.replace(words, " ")
    return sentence


def _names(sentence: str, words: PhraseIndex) -> bool:
    """Whether one of `words` begins a word of the sentence; short ones must be all of it."""
    for word in words.found_in(sentence):
        if _unspaced(word):
            return True
        end = r"(?!\w)" if len(word) <= 4 else ""
        if re.search(rf"(?<!\w){re.escape(word)}{end}", sentence):
            return True
    return False


def _without(text: str, word: str) -> str:
    """`text` without `word`: whole words only, where the script has spaces between them."""
    if _unspaced(word):
        return text.replace(word, " ")
    return re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", " ", text)


def _unspaced(word: str) -> bool:
    """Thai, Lao, and the scripts of East Asia."""
    return any("\u0e00" <= char <= "\u0eff" or char >= "\u1100" for char in word)
