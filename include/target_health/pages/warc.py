"""Responses stored in WARC and ARC files, as they came over the wire.

A damaged record ends the reading of its file with one clear error; what came before it counts.
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from warcio.archiveiterator import ArchiveIterator
from warcio.exceptions import ArchiveLoadFailed
from warcio.recordloader import ArcWarcRecord

from target_health.errors import TargetHealthError

#: Bytes of one body that are read; what is longer is cut and marked.
BODY_LIMIT = 64_000_000
_CHUNK = 65_536
# warcio warns of URLs that it has mended; without a handler that goes to standard error
logging.getLogger("warcio").addHandler(logging.NullHandler())
#: What a damaged record raises; inside of a header that breaks off warcio also stumbles over
#: values that it takes to be there.
_DAMAGE = (ArchiveLoadFailed, EOFError, zlib.error, ValueError, OSError)


class ArchiveError(TargetHealthError):
    """An archive cannot be read on; the message names file and place."""


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """One HTTP response of an archive.

    `kind` is `response` or `revisit`; a revisit repeats an earlier body by `payload_digest` and
    holds none. `ts` is when it was captured (UTC, without time zone), None where the archive
    does not say. `body` is decoded of transfer and content encodings. `offset` is the record's
    place in the file.
    """

    kind: str
    url: str
    ts: datetime | None
    status: int | None
    headers: dict[str, str]
    body: bytes
    payload_digest: str | None
    refers_to: str | None
    truncated: bool
    offset: int = 0


def iter_responses(
    source: str | Path | BinaryIO, *, body_limit: int = BODY_LIMIT
) -> Iterator[StoredResponse]:
    """Each HTTP response and revisit record, in the order of the file.

    Requests, metadata, DNS answers and other records that are no HTTP response are passed over.
    Raises `ArchiveError` where the file is no archive or breaks off.
    """
    if isinstance(source, str | Path):
        with open(source, "rb") as stream:
            yield from _responses(stream, str(source), body_limit)
    else:
        yield from _responses(source, getattr(source, "name", "the archive"), body_limit)


def _responses(stream: BinaryIO, name: str, body_limit: int) -> Iterator[StoredResponse]:
    archive = ArchiveIterator(stream, arc2warc=True)
    offset = 0
    try:
        for record in archive:
            stored = _stored(record, body_limit)
            # Asking for the place reads the record to its end, so it comes after the body.
            offset = archive.get_record_offset()
            if stored is not None:
                yield replace(stored, offset=offset)
    except (*_DAMAGE, AttributeError, IndexError, KeyError, TypeError) as error:
        detail = str(error).strip().split("\n")[0] or type(error).__name__
        raise ArchiveError(f"{name}: cannot be read on after byte {offset}: {detail}") from error


def _stored(record: ArcWarcRecord, body_limit: int) -> StoredResponse | None:
    if record.rec_type not in ("response", "revisit"):
        return None
    url = record.rec_headers.get_header("WARC-Target-URI") or ""
    if not url.startswith(("http://", "https://")):
        return None
    if record.rec_type == "response" and record.http_headers is None:
        return None
    body, cut = (b"", False) if record.rec_type == "revisit" else _body(record, body_limit)
    return StoredResponse(
        kind=record.rec_type,
        url=url,
        ts=_time(record.rec_headers.get_header("WARC-Date")),
        status=_status(record),
        headers=_headers(record),
        body=body,
        payload_digest=record.rec_headers.get_header("WARC-Payload-Digest"),
        refers_to=record.rec_headers.get_header("WARC-Refers-To-Target-URI"),
        truncated=cut or record.rec_headers.get_header("WARC-Truncated") is not None,
    )


def _body(record: ArcWarcRecord, limit: int) -> tuple[bytes, bool]:
    """The decoded body; as it is stored where its declared encoding turns out wrong."""
    stream = record.content_stream()
    parts: list[bytes] = []
    size = 0
    try:
        while size < limit:
            part = stream.read(min(_CHUNK, limit - size))
            if not part:
                return b"".join(parts), False
            parts.append(part)
            size += len(part)
    except _DAMAGE:
        # What could be decoded up to here is what a browser would show.
        return b"".join(parts), True
    return b"".join(parts), True


def _headers(record: ArcWarcRecord) -> dict[str, str]:
    headers: dict[str, str] = {}
    for name, value in record.http_headers.headers if record.http_headers else ():
        key = name.lower()
        headers[key] = f"{headers[key]}\n{value}" if key in headers else value
    return headers


def _status(record: ArcWarcRecord) -> int | None:
    if record.http_headers is None:
        return None
    code = record.http_headers.get_statuscode()
    return int(code) if code and code.isdigit() else None


def _time(value: str | None) -> datetime | None:
    if not value:
        return None
    try:
        moment = datetime.fromisoformat(value.replace("Z", "+00:00"))
    except ValueError:
        return None
    return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment
