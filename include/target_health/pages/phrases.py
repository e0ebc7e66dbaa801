"""Which of many phrases stand in a text: one pass over it, however many there are."""

from __future__ import annotations

from collections.abc import Iterable

from ahocorasick_rs import AhoCorasick, BytesAhoCorasick, Implementation


class PhraseIndex:
    """Phrases to look for in text."""

    def __init__(self, phrases: Iterable[str]) -> None:
        self._phrases = list(dict.fromkeys(phrases))
        self._search = AhoCorasick(
            self._phrases, implementation=Implementation.DFA, store_patterns=False
        )

    def found_in(self, text: str) -> list[str]:
        """The phrases that stand in `text`, each once, in the order in which they were given."""
        if not text:
            return []
        matches = self._search.find_matches_as_indexes(text, overlapping=True)
        return [self._phrases[at] for at in sorted({match[0] for match in matches})]

    def any_in(self, text: str) -> bool:
        return bool(text) and bool(self._search.find_matches_as_indexes(text, overlapping=True))


class BytesIndex:
    """The same for the source of a page."""

    def __init__(self, phrases: Iterable[bytes]) -> None:
        self._phrases = list(dict.fromkeys(phrases))
        self._search = BytesAhoCorasick(self._phrases, implementation=Implementation.DFA)

    def found_in(self, source: bytes) -> frozenset[bytes]:
        if not source:
            return frozenset()
        matches = self._search.find_matches_as_indexes(source, overlapping=True)
        return frozenset(self._phrases[match[0]] for match in matches)
