"""Archives made for tests: WARC records by warcio, ARC records by hand."""

from __future__ import annotations

import io
from datetime import datetime, timedelta

from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

HTML = b"<html><head><title>Hi</title></head><body><p>Some words.</p></body></html>"
START = datetime(2026, 1, 31, 14)


def warc(
    count: int,
    *,
    zipped: bool = False,
    first: int = 0,
    info: bool = True,
    body: bytes = HTML,
    status: str = "200 OK",
) -> bytes:
    """A WARC of ``count`` pages from number ``first`` on, each with its request.

    A longer one begins with the bytes of a shorter one.
    """
    stream = io.BytesIO()
    writer = WARCWriter(stream, gzip=zipped)
    if info:
        record = writer.create_warcinfo_record("a.warc", {"software": "test"})
        record.rec_headers.replace_header("WARC-Date", "2026-01-31T14:00:00Z")
        record.rec_headers.replace_header("WARC-Record-ID", "<urn:uuid:0>")
        writer.write_record(record)
    for number in range(first, first + count):
        moment = START + timedelta(seconds=number)
        about = {
            "WARC-Date": f"{moment.isoformat()}Z",
            "WARC-Record-ID": f"<urn:uuid:{number}>",
        }
        url = f"http://a.example/{number}"
        writer.write_record(
            writer.create_warc_record(
                url,
                "request",
                payload=io.BytesIO(b""),
                http_headers=StatusAndHeaders(
                    f"GET /{number} HTTP/1.1", [("Host", "a.example")], is_http_request=True
                ),
                warc_headers_dict=dict(about),
            )
        )
        writer.write_record(
            writer.create_warc_record(
                url,
                "response",
                payload=io.BytesIO(body + f"<!-- {number} -->".encode()),
                http_headers=StatusAndHeaders(
                    status, [("Content-Type", "text/html")], protocol="HTTP/1.1"
                ),
                warc_headers_dict=dict(about),
            )
        )
    return stream.getvalue()


def arc(count: int, *, version: int = 1) -> bytes:
    """An ARC of ``count`` pages behind its own description."""
    about = f"{version} 0 test\nURL IP-address Archive-date Content-type Archive-length\n".encode()
    data = b"filedesc://a.arc 0.0.0.0 20260131140000 text/plain %d\n" % len(about) + about + b"\n"
    for number in range(count):
        answer = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + HTML + b"%d" % number
        more = b" 200 - - %d a.arc" % len(data) if version == 2 else b""
        data += b"http://a.example/%d 10.0.0.1 202601311400%02d text/html%s %d\n" % (
            number, number, more, len(answer),
        )  # fmt: skip
        data += answer + b"\n"
    dns = b"20260131140000\na.example. 60 IN A 10.0.0.1\n"
    return data + b"dns:a.example 10.0.0.2 20260131140001 text/dns %d\n" % len(dns) + dns + b"\n"
