"""Which page types of a spider bring items, remembered from run to run."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

#: Spiders have a handful; a callback that makes up page types is not remembered without end.
MOST = 1_000


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

    def add(self, page_type: str | None) -> None:
        name = page_type or ""
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
