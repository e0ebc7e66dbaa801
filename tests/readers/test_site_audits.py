"""Exports of site audits and feeds, by the column names that their makers use."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest

from tests.landing.conftest import Landing, outcome, reasons

FROG: dict[str, Any] = {
    "Address": "https://a.example/x",
    "Content Type": "text/html; charset=utf-8",
    "Status Code": "200",
    "Status": "OK",
    "Indexability": "Indexable",
    "Indexability Status": "",
    "Title 1": "A title",
    "Size (Bytes)": "12,345",
    "Response Time": "0.125",
    "Redirect URL": "",
    "Crawl Timestamp": "2026-01-31 14:00:00",
}
LUMAR: dict[str, Any] = {
    "url": "https://a.example/x",
    "http_status_code": "200",
    "page_title": "A title",
    "content_size": "12345",
    "crawl_datetime": "2026-01-31T14:00:00.000Z",
    "load_time": "0.125",
}
AHREFS: dict[str, Any] = {
    "URL": "https://a.example/x",
    "HTTP status code": "200",
    "Title": "A title",
    "Size, bytes": "12345",
    "Loading time, ms": "125",
    "Crawl datetime": "2026-01-31 14:00:00",
}


def exported(rows: list[dict[str, Any]]) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), quoting=csv.QUOTE_ALL)
    writer.writeheader()
    writer.writerows(rows)
    return b"\xef\xbb\xbf" + text.getvalue().encode()


@pytest.mark.parametrize("row", [FROG, LUMAR, AHREFS], ids=["frog", "lumar", "ahrefs"])
def test_one_fetch(landing: Landing, row: dict[str, Any]) -> None:
    landing.put("audit/export.csv", exported([row]))
    assert outcome(landing.land()) == (1, 0, 0)
    assert landing.rows("site, status, latency_ms, bytes, title, verdict") == [
        ("a.example", 200, 125.0, 12345, "A title", "ok")
    ]


def test_what_was_not_fetched(landing: Landing) -> None:
    rows = [
        FROG,
        FROG | {"Status Code": "0", "Status": "Blocked by robots.txt"},
        FROG | {"Status Code": "0", "Status": "Connection Timeout"},
        FROG | {"Status Code": "301", "Status": "Moved", "Redirect URL": "https://a.example/y"},
        FROG | {"Status Code": "403", "Status": "Forbidden"},
    ]
    landing.put("audit/export.csv", exported(rows))
    report = landing.land()
    assert outcome(report) == (4, 1, 0)
    assert reasons(report) == {"no fetch: robots or excluded": 1}
    assert sorted(verdict for (verdict,) in landing.rows("verdict")) == [
        "hard_block", "ok", "redirect", "unknown"
    ]  # fmt: skip
    assert landing.rows("error", "status NULLS FIRST")[0] == ("timeout",)


def test_an_export_without_times_is_refused(landing: Landing) -> None:
    row = {name: value for name, value in FROG.items() if name != "Crawl Timestamp"}
    landing.put("audit/export.csv", exported([row]))
    report = landing.land()
    assert report.rows == 0
    assert "time of day" in " ".join(report.sources["audit"].all_notes)
    landing.configure("sources: {audit: {ts: file_mtime}}\n")
    assert outcome(landing.land()) == (1, 0, 0)


def test_a_feed_of_text(landing: Landing) -> None:
    gone = {
        "url": "https://a.example/x",
        "title": "Page not found",
        "body_text": "Page not found\nThe page you are looking for does not exist.\nHome",
        "status": 200,
        "size": 5000,
        "crawl_time": 1769868000000,
        "download_latency": 0.125,
        "resp_headers_Content-Type": "text/html",
    }
    refused = gone | {
        "status": 403,
        "body_text": "Forbidden",
        "resp_headers_Cf-Mitigated": "challenge",
    }
    landing.put("feed/a.jl", json.dumps(gone) + "\n" + json.dumps(refused) + "\n")
    report = landing.land()
    assert any("text alone" in note for note in report.sources["feed"].all_notes)
    rows = landing.rows("verdict, latency_ms, bytes, content_hash, text_hash IS NULL", "status")
    assert [row[0] for row in rows] == ["soft_404", "challenge"]
    assert rows[0][1:] == (125.0, 5000, None, False)
