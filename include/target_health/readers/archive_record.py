"""One record of a WARC or ARC file, as the fetch that it tells of."""

from __future__ import annotations

import io

from target_health.pages.warc import ArchiveError, StoredResponse, iter_responses
from target_health.readers.archive_header import ARC_LINE
from target_health.readers.raw import Bad, Outcome, Page, Row, Skip

#: Decoded bytes of one body that are looked at; a longer one is cut.
BODY_LIMIT = 16_000_000


def read_record(record: bytes) -> Outcome:
    """The fetch that a response or revisit record tells of, with its page. Never raises."""
    try:
        stored = next(iter_responses(io.BytesIO(_for_warcio(record)), body_limit=BODY_LIMIT), None)
    except ArchiveError:
        return Bad("record cannot be read")
    if stored is None:
        return Skip("response record without HTTP")
    return Row(_fields(stored), _page(stored))


def _fields(stored: StoredResponse) -> dict[str, str | None]:
    fields: dict[str, str | None] = {
        "ts": None if stored.ts is None else f"{stored.ts.isoformat()}Z",
        "url": stored.url,
        "status": None if stored.status is None else str(stored.status),
        "content_hash": stored.payload_digest,
    }
    if stored.kind == "response":
        declared = stored.headers.get("content-length", "").strip()
        whole = declared if stored.truncated and declared.isdecimal() else len(stored.body)
        fields["bytes"] = str(whole)
    return fields


def _page(stored: StoredResponse) -> Page | None:
    if stored.kind != "response":
        return None
    return Page(body=stored.body, headers=stored.headers)


def _for_warcio(record: bytes) -> bytes:
    """An ARC record of version 2 with the header of version 1, which is all that warcio reads."""
    record = record.lstrip(b"\r\n")
    line = ARC_LINE.match(record)
    if line is None:
        return record
    url, address, date, kind, length = line.groups()
    header = b" ".join((url.replace(b" ", b"%20"), address, date, kind, length))
    return header + b"\n" + record[line.end() :]
