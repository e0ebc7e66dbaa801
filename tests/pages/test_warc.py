"""Archives as crawlers write them, and what is no response in them."""

from __future__ import annotations

import gzip
import io
from datetime import datetime
from pathlib import Path

import pytest
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from target_health.pages.warc import ArchiveError, iter_responses

HTML = b"<html><head><title>Hi</title></head><body>words</body></html>"


def _headers(status: str, *more: tuple[str, str]) -> StatusAndHeaders:
    return StatusAndHeaders(status, [("Content-Type", "text/html"), *more], protocol="HTTP/1.1")


def archive(*, zipped: bool) -> bytes:
    stream = io.BytesIO()
    writer = WARCWriter(stream, gzip=zipped)
    writer.write_record(writer.create_warcinfo_record("a.warc", {"software": "test"}))
    request = writer.create_warc_record(
        "http://a.example/",
        "request",
        payload=io.BytesIO(b""),
        http_headers=StatusAndHeaders(
            "GET / HTTP/1.1", [("Host", "a.example")], is_http_request=True
        ),
    )
    date = {"WARC-Date": "2026-03-04T05:06:07Z"}
    records = [
        request,
        writer.create_warc_record(
            "http://a.example/",
            "response",
            payload=io.BytesIO(HTML),
            http_headers=_headers("200 OK", ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")),
            warc_headers_dict=dict(date),
        ),
        writer.create_warc_record(
            "http://a.example/zipped",
            "response",
            payload=io.BytesIO(gzip.compress(HTML)),
            http_headers=_headers("403 Forbidden", ("Content-Encoding", "gzip")),
            warc_headers_dict=dict(date),
        ),
        writer.create_warc_record(
            "http://a.example/chunked",
            "response",
            payload=io.BytesIO(b"5\r\n<p>ab\r\n4\r\nc</p\r\n1\r\n>\r\n0\r\n\r\n"),
            http_headers=_headers("200 OK", ("Transfer-Encoding", "chunked")),
            warc_headers_dict=dict(date),
        ),
        writer.create_warc_record(
            "http://a.example/lies",
            "response",
            payload=io.BytesIO(HTML),
            http_headers=_headers(
                "200 OK", ("Content-Encoding", "gzip"), ("Transfer-Encoding", "chunked")
            ),
            warc_headers_dict=dict(date),
        ),
        writer.create_revisit_record(
            "http://a.example/again",
            digest="sha1:X",
            refers_to_uri="http://a.example/",
            refers_to_date="2026-03-04T05:06:07Z",
            http_headers=_headers("200 OK"),
        ),
        writer.create_warc_record(
            "dns:a.example",
            "response",
            payload=io.BytesIO(b"1.2.3.4"),
            warc_content_type="text/dns",
        ),
        writer.create_warc_record(
            "http://a.example/",
            "metadata",
            payload=io.BytesIO(b"via: x"),
            warc_content_type="application/warc-fields",
        ),
    ]
    for record in records:
        writer.write_record(record)
    return stream.getvalue()


@pytest.mark.parametrize("zipped", [True, False])
def test_responses_and_revisits_in_order(tmp_path: Path, zipped: bool) -> None:
    path = tmp_path / "a.warc"
    path.write_bytes(archive(zipped=zipped))
    found = list(iter_responses(path))
    assert [(stored.url.rpartition("/")[2], stored.kind, stored.status) for stored in found] == [
        ("", "response", 200),
        ("zipped", "response", 403),
        ("chunked", "response", 200),
        ("lies", "response", 200),
        ("again", "revisit", 200),
    ]
    assert [stored.body for stored in found] == [HTML, HTML, b"<p>abc</p>", HTML, b""]
    assert found[0].ts == datetime(2026, 3, 4, 5, 6, 7)
    assert found[0].headers["set-cookie"] == "a=1\nb=2"
    assert (found[0].payload_digest or "").startswith("sha1:")
    assert found[4].payload_digest == "sha1:X"
    assert found[4].refers_to == "http://a.example/"
    offsets = [stored.offset for stored in found]
    assert offsets == sorted(set(offsets))


def test_a_stream_is_read_as_well_as_a_file() -> None:
    assert len(list(iter_responses(io.BytesIO(archive(zipped=True))))) == 5


def test_a_long_body_is_cut_and_marked() -> None:
    first = next(iter_responses(io.BytesIO(archive(zipped=True)), body_limit=10))
    assert first.body == HTML[:10]
    assert first.truncated


def test_what_came_before_a_damage_counts() -> None:
    whole = archive(zipped=True)
    damaged = iter_responses(io.BytesIO(whole[: len(whole) // 2] + b"\x00garbage" * 50))
    assert next(damaged).body == HTML
    with pytest.raises(ArchiveError, match="cannot be read on"):
        list(damaged)


def test_an_arc_file() -> None:
    page = b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n" + HTML
    head = b"1 0 test\nURL IP-address Archive-date Content-type Archive-length\n"
    arc = (
        b"filedesc://a.arc 0.0.0.0 20080430204825 text/plain %d\n" % len(head)
        + head
        + b"\n"
        + b"http://b.example/ 1.2.3.4 20080430204826 text/html %d\n" % len(page)
        + page
        + b"\n"
    )
    (stored,) = iter_responses(io.BytesIO(arc))
    assert (stored.url, stored.status, stored.body) == ("http://b.example/", 200, HTML)
    assert stored.ts == datetime(2008, 4, 30, 20, 48, 26)
