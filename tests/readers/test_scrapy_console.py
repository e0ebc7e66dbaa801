"""What Scrapy says on the console, line by line."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from target_health.paths import PROJECT_ROOT
from target_health.readers.raw import Reading, Row, Skip
from target_health.readers.scrapy_console import ScrapyConsole, reading
from tests.landing.conftest import Landing, outcome, reasons

REAL = PROJECT_ROOT.parent / "shared" / "real" / "logs" / "scrapy_console.log"
URL = "https://a.example/x"


def said(message: str, module: str = "scrapy.core.engine", **how: bool) -> Row | Skip:
    line = f"2026-01-31 14:00:01 [{module}] DEBUG: {message}"
    found = ScrapyConsole(Reading("scrapy_console", **how)).row(line)
    assert isinstance(found, Row | Skip)
    return found


@pytest.mark.parametrize(
    ("message", "fields"),
    [
        (f"Crawled (200) <GET {URL}> (referer: None)", {"status": "200"}),
        (f"Crawled (403) <POST {URL}> (referer: {URL}/a)", {"status": "403"}),
        (f"Crawled (200) <GET {URL}> (referer: None) ['partial']", {"status": "200"}),
        (
            f"Redirecting (301) to <GET {URL}/new> from <GET {URL}>",
            {"status": "301", "final_url": f"{URL}/new"},
        ),
        (f"Retrying <GET {URL}> (failed 1 times): 503 Service Unavailable", {"status": "503"}),
        (
            f"Retrying <GET {URL}> (failed 2 times): TCP connection timed out: 110: x.",
            {"error": "TCP connection timed out: 110: x."},
        ),
        (
            f"Gave up retrying <GET {URL}> (failed 3 times): DNS lookup failed: no results",
            {"error": "DNS lookup failed: no results"},
        ),
    ],
)
def test_fetches(message: str, fields: dict[str, str]) -> None:
    assert said(message) == Row({"ts": "2026-01-31 14:00:01", "url": URL, **fields})


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (f"Crawled (200) <GET {URL}> (referer: None) ['cached']", "from Scrapy's cache"),
        ("Crawled 10 pages (at 10 pages/min), scraped 9 items (at 9 items/min)", "log message"),
        (f"Redirecting (meta refresh) to <GET {URL}> from <GET {URL}>", "meta refresh redirect"),
        (f"Gave up retrying <GET {URL}> (failed 3 times): 503 Service Unavailable",
         "told by its Crawled line"),
        (f"Ignoring response <403 {URL}>: HTTP status code is not handled or not allowed",
         "told by its Crawled line"),
        (f"Forbidden by robots.txt: <GET {URL}>", "robots"),
        (f"Filtered offsite request to 'b.example': <GET {URL}>", "filtered request"),
        (f"Scraped from <200 {URL}>", "item"),
        (f"Error downloading <GET {URL}>", "told by its last attempt"),
    ],
)  # fmt: skip
def test_what_is_no_fetch(message: str, reason: str) -> None:
    assert said(message) == Skip(reason)


def test_lost_downloads_without_retries() -> None:
    head = ["[scrapy.middleware] INFO: Enabled downloader middlewares:", "['scrapy.x.Proxy']"]
    assert not reading(head).retries_told
    assert reading([*head, " 'scrapy.downloadermiddlewares.retry.RetryMiddleware',"]).retries_told
    assert reading([]).retries_told
    assert said(f"Error downloading <GET {URL}>: timeout", retries_told=False) == Row(
        {"ts": "2026-01-31 14:00:01", "url": URL, "error": "timeout"}
    )


def test_a_message_over_several_lines() -> None:
    console = ScrapyConsole(Reading("scrapy_console"))
    assert console.row("{'url': 'x',") == Skip("part of a message")
    assert console.row("") == Skip("blank line")


def test_local_time(landing: Landing) -> None:
    landing.configure("sources: {c: {timezone: Europe/Berlin}}\n")
    landing.put(
        "c/a.log",
        "2026-01-30 00:00:00 [scrapy.utils.log] INFO: Scrapy 2.13.0 started (bot: b)\n"
        "2026-01-30 01:30:00 [scrapy.core.engine] DEBUG: "
        f"Crawled (200) <GET {URL}> (referer: None)\n",
    )
    assert outcome(landing.land()) == (1, 1, 0)
    assert landing.rows("ts, site, verdict") == [(datetime(2026, 1, 30, 0, 30), "a.example", "ok")]


@pytest.mark.skipif(not REAL.exists(), reason="../shared/real is not there")
def test_a_real_log(landing: Landing) -> None:
    data = Path(REAL).read_bytes()
    landing.put("s/console.log", data)
    report = landing.land()
    assert report.sources["s"].format == "scrapy_console"
    assert sum(outcome(report)) == data.count(b"\n")
    assert report.quarantined == 0
    counted = dict(landing.rows("verdict || status, 1", "ALL"))
    assert set(counted) == {"ok200", "redirect301", "redirect302", "not_found404"}
    assert report.rows == 156
    assert reasons(report)["robots"] == 6
