"""One record of a WARC or ARC file, as the fetch that it tells of."""

from __future__ import annotations

import io
import re

from target_health.pages.warc import ArchiveError, StoredResponse, iter_responses
from target_health.readers.raw import Bad, Outcome, Page, Row, Skip

#: Decoded bytes of one body that are looked at; a longer one is cut.
BODY_LIMIT = 16_000_000
#: URL, IP, date, type and length of an ARC record; version 2 has more fields before the length.
ARC = (
    rb"([A-Za-z][A-Za-z0-9+.-]{0,20}:[^\r\n]{0,8192}?) ([0-9a-fA-F.:]{3,45}) (\d{12,17}) "
    rb"([^\s]{1,200})(?: [^\r\n]{0,2048})? (\d{1,15})\r?\n"
)
ARC_LINE = re.compile(ARC)
_TYPE = re.compile(rb"(?im)^warc-type:[ \t]*([a-z_-]{1,40})[ \t]*\r?$")
_URL = re.compile(rb"(?im)^warc-target-uri:[ \t]*<?([a-z][a-z0-9+.-]*):")
_HEAD = 16_384


def kind_of_record(record: bytes) -> Outcome:
    """What a record is, by its header alone; a response is read later, by ``read_record``."""
    record = record.lstrip(b"\r\n")
    kind, scheme = "response", b""
    if record.startswith(b"WARC/"):
        head = record[:_HEAD]
        found, url = _TYPE.search(head), _URL.search(head)
        kind = found[1].decode().lower() if found else "untyped"
        scheme = url[1].lower() if url else b""
    elif line := ARC_LINE.match(record[:_HEAD]):
        scheme = line[1].partition(b":")[0].lower()
        kind = "filedesc" if scheme == b"filedesc" else "response"
    if kind not in ("response", "revisit"):
        return Skip(f"{kind} record")
    if scheme not in (b"http", b"https"):
        return Skip(f"{scheme.decode() or 'nameless'} record")
    return Row({}, Page(record=record))


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
    line = ARC_LINE.match(record)
    if line is None:
        return record
    url, address, date, kind, length = line.groups()
    header = b" ".join((url.replace(b" ", b"%20"), address, date, kind, length))
    return header + b"\n" + record[line.end() :]
