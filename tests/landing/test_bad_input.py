"""Every kind of bad input is read rightly or quarantined: never a crash, never silence."""

from __future__ import annotations

import codecs
import gzip
import json
from datetime import datetime, timedelta

import duckdb
import pytest
import zstandard

from target_health.landing import line_intake, streaming
from tests.landing.conftest import NOW, Landing, fetch, outcome, reasons

GOOD = fetch(1)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{bad", "not JSON"),
        ('{"ts": "2026-01-31T14:00:00Z", "url": "https://a.exam', "not JSON"),
        (GOOD + GOOD, "not JSON"),
        ("[1, 2]", "not a JSON object"),
        ("null", "not a JSON object"),
        ("7", "not a JSON object"),
        ("\0\0\0\0", "only NUL bytes"),
        (fetch(ts=None), "ts is missing"),
        (fetch(ts=""), "ts is missing"),
        (fetch(ts="yesterday"), "ts is not a time"),
        (fetch(ts="2026-01-31"), "ts has no time of day"),
        (fetch(ts={"at": 5}), "ts is not a time"),
        (fetch(ts=0), "ts is impossibly early"),
        (fetch(ts="1970-01-01T00:00:01Z"), "ts is impossibly early"),
        (fetch(ts="2026-02-02T00:00:00Z"), "ts is beyond tomorrow"),
        (fetch(ts="05/01/2026 14:00:00"), "ts could be day/month or month/day: set ts_format "
         "in sources.yaml"),
        (fetch(url=None), "url is missing"),
        (fetch(url="  "), "url is missing"),
        (fetch(url="/relative/path"), "no site can be told from url"),
        (fetch(url="index.html"), "no site can be told from url"),
        (fetch(url="mailto:a@b.example"), "no site can be told from url"),
        (fetch(url="https://"), "no site can be told from url"),
        (fetch(url="https://a b.example/"), "no site can be told from url"),
        (fetch(url="https://[::1/"), "no site can be told from url"),
        (fetch(url=["https://a.example/"]), "no site can be told from url"),
        (fetch(status="abc"), "status is not a number"),
        (fetch(status={}), "status is not a number"),
        (fetch(status=99), "status is outside 100-999"),
        (fetch(status=1000), "status is outside 100-999"),
        (fetch(status=200.5), "status is outside 100-999"),
        (fetch(status=-1), "status is outside 100-999"),
        (fetch(latency_ms=-0.5), "latency_ms is negative"),
        (fetch(latency_ms="fast"), "latency_ms is not a number"),
        (fetch(latency_ms=float("nan")), "latency_ms is impossible"),
        (fetch(latency_ms=float("inf")), "latency_ms is impossible"),
        (fetch(bytes=-1), "bytes is negative"),
        (fetch(bytes=1e300), "bytes is impossible"),
        (fetch(bytes=[1]), "bytes is not a number"),
        (fetch(attempts="many"), "attempts is not a number"),
        (fetch(credits="free"), "credits is not a number"),
        (fetch(route="gw-1"), "route is not an object"),
        (fetch(route=[1]), "route is not an object"),
        (fetch(evidence={"a": 1}), "evidence is not a list of strings"),
    ],
)  # fmt: skip
def test_line_is_quarantined_with_its_reason(
    landing: Landing, way: str, line: str, reason: str
) -> None:
    landing.put("x/log.jsonl", f"{GOOD}\n{line}\n{fetch(2)}\n")
    report = landing.land()
    assert reasons(report) == {reason: 1}
    assert outcome(report) == (2, 0, 1)
    [kept] = landing.quarantine()
    assert (kept["source"], kept["line"], kept["reason"]) == ("x", 2, reason)
    assert kept["file"].endswith("x/log.jsonl")
    assert kept["raw"] == line


@pytest.mark.parametrize(
    ("fields", "column", "expected"),
    [
        ({"status": "200"}, "status", 200),
        ({"status": "200 OK"}, "status", 200),
        ({"status": 200.0}, "status", 200),
        ({"status": ""}, "status", None),
        ({"status": None, "error": "timeout"}, "verdict", "unknown"),
        ({"latency_ms": "12.5"}, "latency_ms", 12.5),
        ({"latency_ms": "1.5 s"}, "latency_ms", 1500.0),
        ({"bytes": "1,234,567"}, "bytes", 1234567),
        ({"bytes": "9007199254740992"}, "bytes", 9007199254740992),
        ({"ts": 1769868000}, "ts", datetime(2026, 1, 31, 14)),
        ({"ts": 1769868000.25}, "ts", datetime(2026, 1, 31, 14, 0, 0, 250000)),
        ({"ts": 1769868000250}, "ts", datetime(2026, 1, 31, 14, 0, 0, 250000)),
        ({"ts": "1769868000250"}, "ts", datetime(2026, 1, 31, 14, 0, 0, 250000)),
        ({"ts": 1769868000250000}, "ts", datetime(2026, 1, 31, 14, 0, 0, 250000)),
        ({"ts": "2026-01-31T15:00:00+01:00"}, "ts", datetime(2026, 1, 31, 14)),
        ({"ts": "2026-01-31T15:00:00+0100"}, "ts", datetime(2026, 1, 31, 14)),
        ({"ts": "2026-01-31 14:00:00.5"}, "ts", datetime(2026, 1, 31, 14, 0, 0, 500000)),
        ({"ts": "2026/01/31 14:00:00"}, "ts", datetime(2026, 1, 31, 14)),
        ({"ts": "20260131140000"}, "ts", datetime(2026, 1, 31, 14)),
        ({"ts": "20260131T140000Z"}, "ts", datetime(2026, 1, 31, 14)),
        ({"ts": "Sat, 31 Jan 2026 14:00:00 GMT"}, "ts", datetime(2026, 1, 31, 14)),
        ({"ts": "Sat, 31 Jan 2026 15:00:00 +0100"}, "ts", datetime(2026, 1, 31, 14)),
        ({"ts": "31/Jan/2026:15:00:00 +0100"}, "ts", datetime(2026, 1, 31, 14)),
        ({"ts": "2026-01-31T14:00:00,250Z"}, "ts", datetime(2026, 1, 31, 14, 0, 0, 250000)),
        ({"url": "HTTPS://WWW.Example.COM:8443/x"}, "site", "example.com"),
        ({"url": "http://[2001:DB8::1]:80/"}, "site", "[2001:db8::1]"),
        ({"url": "https://bücher.example/"}, "site", "xn--bcher-kva.example"),
        ({"url": "example.com/path"}, "site", "example.com"),
        ({"url": "https://intranet/x"}, "site", "intranet"),
        ({"url": "https://www.example/x"}, "site", "www.example"),
        ({"url": "https://www.example.com/x"}, "site", "example.com"),
        ({"url": "https://site.php/x"}, "site", "site.php"),
        ({"url": "//cdn.example.com/x"}, "site", "cdn.example.com"),
        ({"url": "https://example.com?x=1"}, "site", "example.com"),
        ({"url": "https://example.com#top"}, "site", "example.com"),
        ({"url": " https://example.com/ "}, "url", "https://example.com/"),
        ({"url": "https://u:p@example.com/x"}, "url", "https://example.com/x"),
        ({"url": "https://u:p@example.com/x"}, "site", "example.com"),
        ({"url": "https://a.example/?q=1&API_key=geheim&z=2"}, "url",
         "https://a.example/?q=1&API_key=REDACTED&z=2"),
        ({"final_url": "https://u:p@a.example/?token=x"}, "final_url",
         "https://a.example/?token=REDACTED"),
        ({"site": "Shop.Example"}, "site", "shop.example"),
        ({"evidence": ["challenge:cloudflare"]}, "verdict", "challenge"),
        ({"evidence": "challenge:cloudflare"}, "verdict", "challenge"),
        ({"evidence": ["challenge:cloudflare"], "item": {"a": 1}}, "verdict", "ok"),
        ({"evidence": ["challenge:x"], "item": {"a": "", "b": [" "]}}, "verdict", "challenge"),
        ({"evidence": []}, "evidence", []),
        ({"item": None}, "item", "null"),
        ({}, "item", None),
        ({"item": {"a": {"b": [0]}}}, "item", '{"a":{"b":[0]}}'),
        ({"item": [{"a": None}, {"a": 0}]}, "has_item_value", True),
        ({"item": {"a:": "", "b": ":1"}}, "has_item_value", True),
        ({"item": {'a":1,"x': ""}}, "has_item_value", False),
        ({"item": "text"}, "has_item_value", True),
        ({"title": "nul \0 inside"}, "title", "nul \0 inside"),
        ({"title": "\ud83d lone"}, "title", "? lone"),
        ({"title": 5}, "title", "5"),
        ({"title": "żółć 漢字"}, "title", "żółć 漢字"),
        ({"error": "twisted.internet.error.TimeoutError", "status": None}, "error", "timeout"),
        ({"error": "ConnectionResetError(104)", "status": None}, "verdict", "hard_block"),
        ({"error": "weird", "status": None}, "error", "other"),
        ({"unknown": {"deep": [1, {"x": None}]}}, "status", 200),
        ({"route": {"gateway": "g", "country": 5}}, "route_country", "5"),
        ({"route": None}, "route_gateway", None),
        ({"route": {}}, "route_gateway", None),
        ({"canary": "home"}, "canary", "home"),
        ({"event_id": "e-1"}, "event_id", "e-1"),
        ({"event_id": 17}, "event_id", "17"),
    ],
)  # fmt: skip
def test_value_is_read_rightly(
    landing: Landing, way: str, fields: dict[str, object], column: str, expected: object
) -> None:
    landing.put("x/log.jsonl", fetch(1, **fields) + "\n")
    report = landing.land()
    assert (outcome(report), reasons(report)) == ((1, 0, 0), {})
    [(value,)] = landing.rows(column)
    assert value == expected
    if "item" in fields and column == "item" and value is not None:
        assert json.loads(value) == fields["item"]


def test_blank_lines_are_skipped_and_counted(landing: Landing, way: str) -> None:
    landing.put("x/log.jsonl", f"\n{GOOD}\r\n   \n\r\n{fetch(2)}\r\n")
    report = landing.land()
    assert outcome(report) == (2, 3, 0)
    assert reasons(report) == {"blank line": 3}


def test_byte_order_marks(landing: Landing, way: str) -> None:
    text = f"{GOOD}\n{fetch(2, title='żółć')}\n"
    landing.put("a/log.jsonl", codecs.BOM_UTF8 + text.encode())
    landing.put("b/log.jsonl", text.replace("/2", "/3").encode("utf-16"))
    landing.put("c/log.jsonl", codecs.BOM_UTF16_BE + text.replace("/2", "/4").encode("utf-16-be"))
    assert outcome(landing.land()) == (6, 0, 0)
    assert {title for (title,) in landing.rows("title")} == {None, "żółć"}


def test_nul_bytes_before_a_line_are_passed_over(landing: Landing, way: str) -> None:
    landing.put("x/log.jsonl", b"\0" * 50 + GOOD.encode() + b"\n")
    assert outcome(landing.land()) == (1, 0, 0)


def test_mixed_encodings(landing: Landing, way: str) -> None:
    latin = fetch(2, title="caf\xe9").replace("\\u00e9", "\xe9").encode("latin-1")
    landing.put("x/log.jsonl", GOOD.encode() + b"\n" + latin + b"\n\xff\xfe\x81\n")
    report = landing.land()
    assert outcome(report) == (2, 0, 1)
    assert reasons(report) == {"not UTF-8 text": 1}
    assert ("café",) in landing.rows("title")


def test_ten_megabyte_line(landing: Landing, way: str) -> None:
    landing.put("x/log.jsonl", f"{GOOD}\n{fetch(2, title='x' * 10_000_000)}\n{fetch(3)}\n")
    assert outcome(landing.land()) == (3, 0, 0)
    assert max(length for (length,) in landing.rows("length(title)", "1 NULLS FIRST")[1:] if length)


def test_longer_line_than_allowed(landing: Landing, way: str) -> None:
    landing.configure("max_line_mib: 1\n")
    landing.put("x/log.jsonl", f"{GOOD}\n{fetch(2, title='x' * 40_000_000)}\n{fetch(3)}\n")
    report = landing.land()
    assert (outcome(report), reasons(report)) == ((2, 0, 1), {"line is too long": 1})
    assert landing.land().files == 0


def test_deep_nesting(landing: Landing, way: str) -> None:
    deep = fetch(2)[:-1] + ', "x": ' + "[" * 100_000 + "]" * 100_000 + "}"
    landing.put("x/log.jsonl", f"{GOOD}\n{deep}\n{fetch(3)}\n")
    report = landing.land()
    assert report.rows + report.quarantined == 3
    assert report.rows >= 2


def test_empty_files_and_directories_named_like_files(landing: Landing) -> None:
    landing.put("x/empty.jsonl", b"")
    landing.put("x/empty.jsonl.gz", gzip.compress(b""))
    landing.put("x/dir.jsonl/inner.jsonl", GOOD + "\n")
    (landing.home.inbox / "x" / "nothing.jsonl").mkdir()
    (landing.home.inbox / "x" / "link.jsonl").symlink_to("nowhere")
    assert outcome(landing.land()) == (1, 0, 0)
    assert landing.land().files == 0


def test_ignored_files(landing: Landing) -> None:
    for name in ("x/.hidden.jsonl", "x/a.jsonl.tmp", "x/a.part", "truth.json", ".git/a.jsonl"):
        landing.put(name, GOOD + "\n")
    assert landing.land().as_json()["files"] == 0


def test_file_in_the_inbox_itself(landing: Landing) -> None:
    landing.put("log.jsonl", GOOD + "\n")
    assert list(landing.land().sources) == ["inbox"]


@pytest.mark.parametrize("compress", [gzip.compress, zstandard.compress], ids=["gzip", "zstd"])
def test_truncated_compression(landing: Landing, compress: object) -> None:
    text = "".join(fetch(second, title=f"{second:x}" * 9) + "\n" for second in range(500)).encode()
    packed = compress(text)  # type: ignore[operator]
    landing.put("x/log.jsonl", packed[: len(packed) // 2])
    report = landing.land()
    assert report.quarantined == 1
    assert reasons(report) == {"compressed data ends early": 1}
    first = report.rows
    landing.put("x/log.jsonl", packed)
    report = landing.land()
    assert first + report.rows == 500
    assert landing.quarantine() == []


def test_damaged_compression(landing: Landing, way: str) -> None:
    packed = bytearray(gzip.compress("".join(fetch(s) + "\n" for s in range(5000)).encode()))
    packed[len(packed) // 2] ^= 0xFF
    landing.put("x/log.jsonl.gz", bytes(packed))
    report = landing.land()
    assert report.rows + report.quarantined > 0
    assert any("compressed data" in note for note in report.sources["x"].notes)
    landing.put("y/log.jsonl.gz", b"\x1f\x8b\x08\x00garbage")
    report = landing.land()
    assert report.quarantined == 1


def test_unknown_format_is_refused_as_a_whole_and_tried_again_when_configured(
    landing: Landing,
) -> None:
    landing.put("x/notes.txt", "2026-01-31T14:00:00Z|https://a.example/|200\nb\n")
    report = landing.land()
    assert outcome(report) == (0, 0, 2)
    assert "in no format that is known" in report.sources["x"].notes[0]
    assert landing.land().quarantined == 0
    landing.put("y/image.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)))
    assert landing.land().rows == 0
    landing.configure("sources: {x: {format: jsonl}}\n")
    report = landing.land()
    assert (report.rows, report.quarantined) == (0, 2)


def test_log_without_time_of_day(landing: Landing) -> None:
    landing.put("x/audit.csv", "Address,Status Code\nhttps://a.example/,200\n" * 1)
    report = landing.land()
    assert outcome(report)[0] == 0
    assert "no column with a time of day" in report.sources["x"].notes[0]
    landing.configure("sources: {x: {ts: file_mtime}}\n")
    report = landing.land()
    assert outcome(report) == (1, 0, 0)
    assert landing.rows("ts") == [(NOW - timedelta(hours=1),)]
    assert landing.quarantine() == []


def test_dates_only_are_no_times(landing: Landing) -> None:
    landing.put("x/log.csv", "date,url,status\n2026-01-31,https://a.example/,200\n")
    report = landing.land()
    assert report.rows == 0
    assert "dates only" in report.sources["x"].notes[0]


def test_parquet_with_other_types(landing: Landing) -> None:
    with duckdb.connect() as connection:
        path = landing.put("x/log.parquet", b"")
        connection.execute(
            "COPY (SELECT TIMESTAMPTZ '2026-01-31 14:00:00+00' + to_seconds(n) AS ts, "
            "'https://a.example/' || n AS url, '200' AS status, 12::SMALLINT AS latency_ms, "
            "{'gateway': 'g', 'country': 'de'} AS route, ['soft_404:title'] AS evidence, "
            "{'name': 'x', 'price': NULL} AS item, 5.0::DOUBLE AS bytes "
            f"FROM range(7) t(n)) TO '{path}' (FORMAT parquet)"
        )
        other = landing.put("y/log.parquet", b"")
        connection.execute(
            "COPY (SELECT * FROM (VALUES ('2026-01-31T14:00:00Z', 'https://b.example/', 200), "
            "('never', 'https://b.example/', 200), (NULL, NULL, NULL)) v(ts, url, status)) "
            f"TO '{other}' (FORMAT parquet)"
        )
    report = landing.land()
    assert outcome(report) == (8, 0, 2)
    assert landing.rows("DISTINCT route_gateway, verdict, item", "ALL")[0] == (
        "g", "soft_404", '{"name":"x","price":null}'
    )  # fmt: skip
    assert len(set(landing.rows("event_id"))) == 8
    assert outcome(landing.land()) == (0, 0, 0)
    landing.put("z/log.parquet", b"PAR1 and nothing more")
    report = landing.land()
    assert outcome(report) == (0, 0, 1)


def test_wrong_clock_holds_the_source_back(landing: Landing, way: str) -> None:
    ahead = "".join(fetch(second + 7200) + "\n" for second in range(50))
    landing.put("x/log.jsonl", ahead)
    landing.put("y/log.jsonl", GOOD + "\n")
    report = landing.land()
    assert outcome(report) == (1, 0, 0)
    assert "held back: 50 of 50 lines are in the future" in report.sources["x"].notes[0]
    assert landing.quarantine() == []
    assert outcome(landing.land(NOW + timedelta(hours=3))) == (50, 0, 0)


def test_duplicate_event_ids(landing: Landing, way: str) -> None:
    landing.put("x/a.jsonl", "".join(fetch(s, event_id=f"e{s % 3}") + "\n" for s in range(9)))
    report = landing.land()
    assert (outcome(report), reasons(report)) == ((3, 6, 0), {"duplicate event_id": 6})
    landing.put("x/b.jsonl", "".join(fetch(s, event_id=f"e{s}") + "\n" for s in range(5)))
    landing.put("y/c.jsonl", fetch(9, event_id="e1") + "\n")
    report = landing.land()
    assert (outcome(report), reasons(report)) == ((3, 3, 0), {"duplicate event_id": 3})


def test_single_event_ids_among_lines_without(
    landing: Landing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "STREAM_FROM", 0)
    monkeypatch.setattr(line_intake, "HEAD_BYTES", 10)
    landing.put("x/a.jsonl", fetch(1, event_id="e1") + "\n")
    landing.land()
    lines = [fetch(second) for second in range(10)]
    lines[4], lines[7] = fetch(4, event_id="e1"), fetch(7, event_id="e2", title="seven")
    landing.put("x/b.jsonl", "\n".join(lines) + "\n")
    report = landing.land()
    assert (outcome(report), reasons(report)) == ((9, 1, 0), {"duplicate event_id": 1})
    assert [title for id_, title in landing.rows("event_id, title") if id_ == "e2"] == ["seven"]


def test_repeated_lines_are_fetches_of_their_own(landing: Landing) -> None:
    landing.put("x/log.jsonl", (GOOD + "\n") * 20)
    assert outcome(landing.land()) == (20, 0, 0)
    assert len(set(landing.rows("event_id"))) == 20


def test_secrets_are_not_kept_in_quarantine(landing: Landing) -> None:
    landing.put(
        "x/log.jsonl", fetch(1, url="https://me:pw@a.example/?token=t0p&x=1", status=5) + "\n"
    )
    landing.land()
    [kept] = landing.quarantine()
    assert "pw" not in kept["raw"]
    assert "t0p" not in kept["raw"]
    assert "token=REDACTED&x=1" in kept["raw"]
