"""Requests kept while their site is paused, on disk, until they have been sent after all.

A directory a running process, in it a file a site: JSON lines, ``{"key", "at", "url", "request"}``
for a request that is kept, ``{"done": key}`` for one that has been sent. What a process leaves,
however it ended, is taken over by the next one.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from target_health.crawl_log.ownership import Claim, abandoned, claim, new_run

logger = logging.getLogger(__name__)

SUFFIX = ".jsonl"


class DeferredRequests:
    """Requests of halted sites under ``directory``. Not for several threads at once.

    ``request`` is what JSON can say of a request; a full disk keeps them in memory, and they are
    written once there is room. No method raises for the disk's troubles.
    """

    def __init__(self, directory: Path, *, warn: Callable[[str], None] = logger.warning) -> None:
        self._directory, self._warn = directory, warn
        self._sites: dict[str, SiteFile] = {}
        self._claim: Claim | None = None
        self._run = new_run()
        self._warned = False

    def recover(self) -> None:
        """Take over what ended processes have left."""
        for left in abandoned(self._directory):
            if self._claim is not None and left.directory == self._claim.directory:
                continue
            for path in sorted(left.directory.glob(f"*{SUFFIX}")):
                site = unquote(path.name.removesuffix(SUFFIX))
                try:
                    for key, entry in kept(path):
                        self.add(site, key, entry["request"], entry.get("url"))
                    # Only what is written here anew may be removed there.
                    file = self._sites.get(site)
                    if file is None or file.written():
                        path.unlink()
                except OSError as problem:
                    self._warn(f"{path}: requests of an earlier run are left there: {problem}")
            left.release()

    def add(self, site: str, key: str, request: Any, url: str | None = None) -> bool:
        """Keep a request; false when one of this key is kept already."""
        file = self._site(site)
        if key in file.keys:
            return False
        line = {"key": key, "at": int(time.time()), "url": url, "request": request}
        file.keep(key, json.dumps(line, separators=(",", ":")).encode() + b"\n")
        self._write(file)
        return True

    def due(self, site: str, limit: int) -> list[tuple[str, Any]]:
        """The next requests of a site, oldest first, each given out once: key and request."""
        file = self._sites.get(site)
        return [] if file is None else file.next(limit)

    def again(self, site: str, key: str) -> bool:
        """Give a request out once more later, as its site was halted again; false if unknown."""
        file = self._sites.get(site)
        return file is not None and file.give_back(key)

    def done(self, site: str, key: str) -> bool:
        """A request has been sent: it is kept no more. False where it was not kept."""
        file = self._sites.get(site)
        if file is None or key not in file.keys:
            return False
        file.forget(key)
        self._write(file)
        if not file.keys:
            file.remove()
            del self._sites[site]
        return True

    def sites(self) -> list[str]:
        """Sites with requests that are not given out."""
        return [site for site, file in self._sites.items() if file.waiting]

    def count(self) -> int:
        """Requests kept, given out and not yet sent included."""
        return sum(len(file.keys) for file in self._sites.values())

    def flush(self) -> None:
        """Write what a full disk kept in memory. Call it now and then."""
        for file in self._sites.values():
            if not file.written():
                self._write(file)

    def close(self) -> None:
        self.flush()
        lost = sum(file.unwritten for file in self._sites.values())
        if lost:
            self._warn(f"{lost} deferred requests could not be written and are lost")
        for file in self._sites.values():
            file.close()
        if self._claim is not None:
            self._claim.release()

    def _site(self, site: str) -> SiteFile:
        file = self._sites.get(site)
        if file is None:
            file = self._sites[site] = SiteFile(f"{quote(site, safe='.-_[]')}{SUFFIX}")
        return file

    def _write(self, file: SiteFile) -> None:
        try:
            if self._claim is None:
                self._claim = claim(self._directory, self._run)
            file.write(self._claim.directory)
            self._warned = False
        except OSError as problem:
            if not self._warned:
                self._warned = True
                self._warn(f"deferred requests are kept in memory: {problem}")


class SiteFile:
    """One site's requests: keys in memory, requests on disk where they could be written."""

    def __init__(self, name: str) -> None:
        self.name = name
        #: Every key kept; whether it is still to be given out.
        self.keys: dict[str, bool] = {}
        self.waiting = 0
        self._pending: deque[bytes] = deque()
        self._path: Path | None = None
        self._descriptor = -1
        self._end = 0
        self._read_to = 0

    @property
    def unwritten(self) -> int:
        return sum(b'"request"' in line for line in self._pending)

    def written(self) -> bool:
        return not self._pending

    def keep(self, key: str, line: bytes) -> None:
        self.keys[key] = True
        self.waiting += 1
        self._pending.append(line)

    def forget(self, key: str) -> None:
        self.waiting -= self.keys.pop(key)
        self._pending.append(json.dumps({"done": key}, separators=(",", ":")).encode() + b"\n")

    def give_back(self, key: str) -> bool:
        if key not in self.keys:
            return False
        if not self.keys[key]:
            self.keys[key] = True
            self.waiting += 1
            self._read_to = 0
        return True

    def next(self, limit: int) -> list[tuple[str, Any]]:
        found: list[tuple[str, Any]] = []
        if not self.waiting:
            return found
        if self._path is not None:
            with suppress(OSError), self._path.open("rb") as file:
                file.seek(self._read_to)
                while len(found) < limit and (line := file.readline()):
                    self._read_to += len(line)
                    self._take(line, found)
        for line in self._pending:
            if len(found) >= limit:
                break
            self._take(line, found)
        return found

    def _take(self, line: bytes, found: list[tuple[str, Any]]) -> None:
        entry = json.loads(line)
        if self.keys.get(entry.get("key", ""), False):
            self.keys[entry["key"]] = False
            self.waiting -= 1
            found.append((entry["key"], entry["request"]))

    def write(self, directory: Path) -> None:
        """Append what is pending: each line whole or not at all. Raises ``OSError``."""
        if self._path is None:
            self._path = directory / self.name
            # Requests hold cookies and authorisations.
            self._descriptor = os.open(
                self._path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600
            )
        while self._pending:
            line = self._pending[0]
            if os.write(self._descriptor, line) != len(line):
                os.ftruncate(self._descriptor, self._end)
                raise OSError("no room for a line")
            self._end += len(line)
            self._pending.popleft()

    def remove(self) -> None:
        self.close()
        if self._path is not None:
            with suppress(OSError):
                self._path.unlink()

    def close(self) -> None:
        if self._descriptor >= 0:
            with suppress(OSError):
                os.close(self._descriptor)
            self._descriptor = -1


def kept(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """What a file still keeps; a half line at its end is left out. Raises ``OSError``."""
    # A request that was sent may have been kept anew since: the last word on a key holds.
    last: dict[Any, int] = {}
    for number, entry in enumerate(_entries(path)):
        if "done" in entry:
            last.pop(entry["done"], None)
        elif "request" in entry:
            last[entry.get("key")] = number
    for number, entry in enumerate(_entries(path)):
        if "request" in entry and last.get(entry.get("key")) == number:
            yield entry["key"], entry


def _entries(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as file:
        for line in file:
            with suppress(ValueError):
                entry = json.loads(line)
                if isinstance(entry, dict):
                    yield entry
