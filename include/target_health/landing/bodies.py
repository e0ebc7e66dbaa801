"""Bodies on their way through a landing: found, looked at once by several processes, let go."""

from __future__ import annotations

import gzip
import os
import posixpath
import stat
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from target_health.landing.inbox import open_file_system
from target_health.landing.watchers import NobodyWatches, Watcher
from target_health.readers.raw import Outcome, Page, Row

if TYPE_CHECKING:
    from target_health.landing.staging import FilePart

#: Pages that are looked at here before other processes are started for the rest: as many as are
#: done in the time that the start takes.
FEW = 300
BATCH_PAGES = 32
BATCH_BYTES = 1 << 20
#: Bytes of one body that are read, decompressed; the rest says nothing more of the page.
BODY_LIMIT = 16_000_000

#: Bytes of a record that quarantine shows: its headers, and how its content begins.
SHOWN = 1024

OUTSIDE = "body_path outside the inbox: not read"
NOT_THERE = "body_path not there: not read"
NOT_SEEN = "page could not be looked at"

Entry = tuple[int, int, str | bytes, Outcome]


class Bodies:
    """Looks at the pages of one landing's lines. Close it when the landing ends.

    ``marker_files`` are those of the marks; ``inbox`` is where a ``body_path`` may lie: a
    directory, an fsspec URL, or None for the directory of each log. ``watcher`` sees each row
    while its body is there.
    """

    def __init__(
        self,
        marker_files: Sequence[Path],
        inbox: str | Path | None,
        watcher: Watcher | None = None,
    ) -> None:
        self.watcher = watcher or NobodyWatches()
        self._marker_files = list(marker_files)
        self._places = _places(inbox)
        self._setup: tuple[Any, ...] | None = None
        self._workers: Any = None
        self._few = FEW
        self.named: set[str] = set()

    def close(self) -> None:
        if self._workers is not None:
            self._workers.close()
            self._workers = None

    def has_read(self, path: str, *, local: bool) -> bool:
        """Whether a file of the inbox was read as a body."""
        return (str(Path(path).resolve()) if local else path) in self.named

    def looked_at(self, part: FilePart, entries: Iterable[Entry]) -> Iterator[Entry]:
        """The entries, those with a page after the others, with what the page says in its place."""
        pages: list[tuple[int, int, str | bytes, Row]] = []
        for line, chain, content, outcome in entries:
            if isinstance(outcome, Row) and outcome.page is not None:
                pages.append((line, chain, content, outcome))
            else:
                yield line, chain, content, outcome
        if not pages:
            return
        results = self._looked(pages, part)
        for (line, chain, content, row), result in zip(pages, results, strict=True):
            if result is None:
                part.remarks[NOT_SEEN] += 1
            yield line, chain, content, result or replace(row, page=None)

    def _looked(
        self, pages: list[tuple[int, int, str | bytes, Row]], part: FilePart
    ) -> Iterator[Outcome | None]:
        # Only logs with bodies need these.
        from target_health.pages.workers import Workers, tried
        from target_health.readers import bodies

        batches = _batches(self._watched(pages, part))
        setup = self._setup = self._setup or bodies.load(self._marker_files)
        if self._workers is None and len(pages) <= self._few:
            self._few -= len(pages)
            for batch in batches:
                for row in batch:
                    yield tried(bodies.look, row, *setup)
            return
        if self._workers is None:
            self._workers = Workers(bodies.look, bodies.load, (self._marker_files,))
        for results in self._workers.map(batches):
            yield from results

    def _watched(
        self, pages: list[tuple[int, int, str | bytes, Row]], part: FilePart
    ) -> Iterator[Row]:
        """The rows with their bodies, each shown to whoever watches canaries."""
        rows = self._with_files([row for _, _, _, row in pages], part)
        for (_, chain, _, _), row in zip(pages, rows, strict=True):
            remark = self.watcher.see(f"{chain:X}", row)
            if remark:
                part.remarks[remark] += 1
            yield row

    def _with_files(self, rows: list[Row], part: FilePart) -> Iterator[Row]:
        """The rows with the bodies that lie in files of their own."""
        for row in rows:
            page = row.page
            if page is None or page.path is None or page.body is not None:
                yield row
                continue
            found = self._places.read(part.path, page.path, self.named)
            if isinstance(found, bytes):
                yield replace(row, page=Page(body=found, headers=page.headers))
            else:
                part.remarks[found] += 1
                yield replace(row, page=None)


def shown(content: str | bytes) -> str:
    """A line as quarantine has it; of an archive's record its beginning."""
    if isinstance(content, str):
        return content
    return content.lstrip(b"\r\n")[:SHOWN].decode("utf-8", "backslashreplace")


def _batches(rows: Iterator[Row]) -> Iterator[list[Row]]:
    batch: list[Row] = []
    size = 0
    for row in rows:
        batch.append(row)
        page = row.page
        if page is not None:
            size += len(page.record or page.body or page.text or "")
        if len(batch) >= BATCH_PAGES or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


# Files


def _places(inbox: str | Path | None) -> _Local | _Remote:
    text = str(inbox) if inbox is not None else ""
    if "://" in text and not text.startswith("file://"):
        return _Remote(text)
    return _Local(Path(text.removeprefix("file://")).expanduser() if text else None)


class _Local:
    def __init__(self, inbox: Path | None) -> None:
        self._inbox = inbox.resolve() if inbox is not None else None

    def read(self, log: str, named: str, names: set[str]) -> bytes | str:
        """A body by its name, relative to its log or to the inbox; else why it is not read."""
        beside = Path(log.removeprefix("file://")).parent
        inbox = self._inbox or beside.resolve()
        problem = OUTSIDE
        for base in (beside, inbox):
            try:
                path = (base / named).resolve()
                if not path.is_relative_to(inbox):
                    continue
                problem = NOT_THERE
                body = _regular_file(path)
            except (OSError, ValueError, RuntimeError):
                continue
            if body is not None:
                names.add(str(path))
                return body
        return problem


class _Remote:
    def __init__(self, url: str) -> None:
        self._url = url
        self._opened: tuple[Any, str] | None = None

    def read(self, log: str, named: str, names: set[str]) -> bytes | str:
        system, root = self._opened = self._opened or open_file_system(self._url)
        root = root.rstrip("/")
        name = named.removeprefix(self._url.rstrip("/")).lstrip("/") if "://" in named else named
        problem = OUTSIDE
        for base in (posixpath.dirname(log), root):
            path = posixpath.normpath(posixpath.join(base, name))
            if not path.startswith(f"{root}/"):
                continue
            problem = NOT_THERE
            try:
                with system.open(path, "rb") as file:
                    body = _decompressed(file)
            except (OSError, ValueError):
                continue
            names.add(path)
            return body
        return problem


def _regular_file(path: Path) -> bytes | None:
    """A file's body; None for what is no regular file. A link that appeared since is not read."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        return _decompressed(file)


def _decompressed(file: BinaryIO) -> bytes:
    start = file.read(2)
    file.seek(0)
    if start != b"\x1f\x8b":
        return file.read(BODY_LIMIT)
    try:
        return gzip.GzipFile(fileobj=file).read(BODY_LIMIT)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        file.seek(0)
        return file.read(BODY_LIMIT)
