"""`target-health classify`: the verdict on saved pages."""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from target_health.errors import TargetHealthError, UsageError
from target_health.pages.classify import classify
from target_health.pages.markers import Markers, shipped_markers
from target_health.pages.response import PageVerdict, Response
from target_health.pages.warc import ArchiveError, iter_responses

_ARCHIVES = (".warc", ".arc", ".warc.gz", ".arc.gz", ".warc.zst")
_ARCHIVE_STARTS = (b"WARC/", b"filedesc://")
#: Bytes of a saved page that are read.
_PAGE_LIMIT = 64_000_000


class UnreadablePage(TargetHealthError):
    """A saved page cannot be read; the message names it."""


def classify_paths(
    paths: Iterable[str | Path],
    status: int | None = 200,
    url: str = "",
    markers: Markers | None = None,
) -> Iterator[dict[str, Any]]:
    """One row a page: `file url status verdict evidence confidence paywall why title`.

    A path is a saved page (also `.gz`), a WARC or ARC file (one row a response, with the status
    and URL of the record), a directory (its files, in order), or `-` for one of these files on
    standard input. `status` and `url` are those of saved pages. A file that cannot be read gives
    a row with `error` in place of a verdict and costs nothing but itself. Raises `UsageError` for
    a path that is not there.
    """
    marks = markers if markers is not None else shipped_markers()
    for path in paths:
        if str(path) == "-":
            yield from _stream(sys.stdin.buffer, status, url, marks)
            continue
        place = Path(path)
        if not place.exists():
            raise UsageError(f"{path}: there is no such file or directory.")
        files = sorted(_files(place)) if place.is_dir() else [place]
        if not files:
            raise UsageError(f"{path}: there is no page in this directory.")
        for file in files:
            yield from _file(file, status, url, marks)


def _files(directory: Path) -> Iterator[Path]:
    for file in directory.rglob("*"):
        hidden = any(part.startswith(".") for part in file.relative_to(directory).parts)
        if file.is_file() and not hidden:
            yield file


def _file(file: Path, status: int | None, url: str, markers: Markers) -> Iterator[dict[str, Any]]:
    try:
        if file.name.lower().endswith(_ARCHIVES) or _is_archive(file):
            yield from _archive(str(file), file, markers)
            return
        response = Response(status, _read(file), {}, url)
        yield _row(str(file), response, classify(response, markers))
    except (OSError, EOFError, zlib.error, ArchiveError) as error:
        yield _unread(str(file), url, status, error)


def _unread(file: str, url: str, status: int | None, error: Exception) -> dict[str, Any]:
    return {
        "file": file,
        "url": url,
        "status": status,
        "verdict": None,
        "evidence": [],
        "confidence": 0.0,
        "paywall": "UNKNOWN",
        "why": [],
        "title": None,
        "error": str(error).split("\n")[0] or type(error).__name__,
    }


def _stream(
    stream: BinaryIO, status: int | None, url: str, markers: Markers
) -> Iterator[dict[str, Any]]:
    data = stream.read(_PAGE_LIMIT)
    body = _unzipped(data)
    if not body.startswith(_ARCHIVE_STARTS):
        response = Response(status, body, {}, url)
        yield _row("-", response, classify(response, markers))
        return
    try:
        yield from _archive("-", io.BytesIO(data + stream.read()), markers)
    except ArchiveError as error:
        yield _unread("-", url, status, error)


def _archive(file: str, source: Path | BinaryIO, markers: Markers) -> Iterator[dict[str, Any]]:
    for stored in iter_responses(source):
        if stored.kind == "revisit":
            continue
        response = Response(stored.status, stored.body, stored.headers, stored.url)
        yield _row(file, response, classify(response, markers))


def _is_archive(file: Path) -> bool:
    with open(file, "rb") as stream:
        start = stream.read(10)
        if start[:2] == b"\x1f\x8b":
            stream.seek(0)
            try:
                start = gzip.GzipFile(fileobj=stream).read(10)
            except (OSError, EOFError, zlib.error):
                return False
    return start.startswith(_ARCHIVE_STARTS)


def _read(file: Path) -> bytes:
    with open(file, "rb") as stream:
        if stream.read(2) == b"\x1f\x8b":
            stream.seek(0)
            return gzip.GzipFile(fileobj=stream).read(_PAGE_LIMIT)
        stream.seek(0)
        return stream.read(_PAGE_LIMIT)


def _unzipped(body: bytes) -> bytes:
    if body[:2] != b"\x1f\x8b":
        return body
    try:
        return zlib.decompressobj(wbits=31).decompress(body, _PAGE_LIMIT)
    except zlib.error:
        return body


def _row(file: str, response: Response, result: PageVerdict) -> dict[str, Any]:
    return {
        "file": file,
        "url": response.url,
        "status": response.status,
        "verdict": result.verdict,
        "evidence": list(result.evidence),
        "confidence": result.confidence,
        "paywall": result.paywall,
        "why": list(result.why),
        "title": result.title,
    }
