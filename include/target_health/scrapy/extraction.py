"""What a callback brought, as the log says it: its items, none though tried, or not tried.

A page that only yields links was not meant to bring an item. One that yields nothing at all was
tried in vain where its page type brings items at other times; which page types do is remembered
from run to run.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from target_health.crawl_log import ABSENT

#: Spiders have a handful; a callback that makes up page types is not remembered without end.
MOST = 1_000


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a callback yielded, and whether it ended in an exception."""

    items: list[Any]
    requests: int
    failed: bool


class Undecided:
    """The type of ``UNDECIDED``: known once the page type has brought an item, or has not."""


UNDECIDED = Undecided()


class Extraction:
    """A set of page types, kept in a file where one is named."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._types: set[str] = set()
        self._changed = False
        if path is not None:
            with suppress(OSError, ValueError, TypeError):
                self._types = set(map(str, json.loads(path.read_text(encoding="utf-8"))))

    def __contains__(self, page_type: str | None) -> bool:
        return (page_type or "") in self._types

    def item_of(self, page_type: str | None, outcome: Outcome, expected: object) -> object:
        """The log's ``item``. ``expected``: what the spider itself says, None where nothing."""
        if outcome.items:
            self._add(page_type or "")
            return outcome.items[0] if len(outcome.items) == 1 else outcome.items
        if expected is not None:
            return None if expected else ABSENT
        if outcome.requests:
            return ABSENT
        return None if outcome.failed or page_type in self else UNDECIDED

    def _add(self, name: str) -> None:
        if name not in self._types and len(self._types) < MOST:
            self._types.add(name)
            self._changed = True

    def save(self) -> None:
        if self._path is None or not self._changed:
            return
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            partial = self._path.with_suffix(".tmp")
            partial.write_text(json.dumps(sorted(self._types)), encoding="utf-8")
            partial.replace(self._path)
