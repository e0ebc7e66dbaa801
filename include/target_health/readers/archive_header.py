"""What the header of a WARC or ARC record says, without its content."""

from __future__ import annotations

import re

from target_health.readers.raw import Outcome, Page, Row, Skip

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
