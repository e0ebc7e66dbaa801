"""CSV of every make, through the whole landing."""

from __future__ import annotations

from datetime import datetime

import pytest

from tests.landing.conftest import Landing, outcome, reasons

HEADER = "timestamp,URL,http_status,elapsed_ms,bytes\n"


def line(second: int, url: str = "https://a.example/x") -> str:
    return f"2026-01-31T14:00:{second:02}Z,{url},200,120,5000\n"


def test_common_names_and_what_was_taken_for_what(landing: Landing) -> None:
    landing.put("x/log.csv", HEADER + line(1) + line(2))
    report = landing.land()
    assert outcome(report) == (2, 0, 0)
    assert report.sources["x"].columns == {
        "ts": "timestamp",
        "url": "URL",
        "status": "http_status",
        "latency_ms": "elapsed_ms",
        "bytes": "bytes",
    }
    assert landing.rows("ts, url, status, latency_ms, bytes", "ts")[0] == (
        datetime(2026, 1, 31, 14, 0, 1), "https://a.example/x", 200, 120.0, 5000
    )  # fmt: skip


@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_other_delimiters(landing: Landing, mark: str) -> None:
    landing.put("x/log.csv", (HEADER + line(1)).replace(",", mark))
    assert outcome(landing.land()) == (1, 0, 0)


def test_site_audit_export(landing: Landing) -> None:
    """Seconds for Response Time; a text status that says there was no fetch."""
    landing.put(
        "audit/internal.csv",
        "\ufeff"
        '"Address","Content Type","Status Code","Status","Title 1","Size (Bytes)",'
        '"Response Time","Crawl Timestamp"\r\n'
        '"https://a.example/","text/html","200","OK","Home, sweet","5120","0.25",'
        '"2026-01-31 14:00:00"\r\n'
        '"https://a.example/x","","0","Blocked by Robots.txt","","0","0","2026-01-31 14:00:01"\r\n'
        '"https://a.example/y","","0","Connection Timeout","","","","2026-01-31 14:00:02"\r\n',
    )
    report = landing.land()
    assert (outcome(report), reasons(report)) == ((2, 1, 0), {"no fetch: robots or excluded": 1})
    assert landing.rows("title, status, latency_ms, bytes, error, verdict", "ts") == [
        ("Home, sweet", 200, 250.0, 5120, None, "ok"),
        (None, None, None, None, "timeout", "unknown"),
    ]


def test_mapping_units_time_zone_and_constants(landing: Landing) -> None:
    landing.configure(
        "sources:\n  x:\n    format: csv\n    timezone: Europe/Berlin\n"
        "    columns: {ts: began, latency_ms: {column: took, unit: s}}\n"
        "    constants: {page_type: product, route: {gateway: dc-1}}\n"
    )
    landing.put("x/log.csv", "began;address;code;took\n2026-01-31 15:00:00;a.example;404;1,5\n"
                "2026-01-31 15:00:01;a.example;404;1.5\n")  # fmt: skip
    report = landing.land()
    assert (outcome(report), reasons(report)) == ((1, 0, 1), {"latency_ms is not a number": 1})
    assert landing.rows("ts, latency_ms, page_type, route_gateway, verdict", "ts") == [
        (datetime(2026, 1, 31, 14, 0, 1), 1500.0, "product", "dc-1", "not_found")
    ]


def test_day_and_month_are_told_from_the_values(landing: Landing) -> None:
    landing.put(
        "x/log.csv",
        "date,url,status\n31/01/2026 14:00:00,https://a.example/,200\n"
        "05/01/2026 14:00:00,https://a.example/,200\n",
    )
    report = landing.land()
    assert outcome(report) == (2, 0, 0)
    assert "took 'date' for %d/%m/%Y %H:%M:%S" in report.sources["x"].notes
    assert landing.rows("ts", "ts")[0] == (datetime(2026, 1, 5, 14),)


def test_wrong_numbers_of_fields(landing: Landing) -> None:
    landing.put(
        "x/log.csv", HEADER + line(1) + "half,a line\n" + line(2)[:-1] + ",more\n" + line(3)
    )
    report = landing.land()
    assert outcome(report) == (2, 0, 2)
    assert [kept["line"] for kept in landing.quarantine()] == [3, 4]


def test_quoted_line_ends_and_stray_quotes(landing: Landing) -> None:
    text = (
        HEADER
        + line(1)
        + '2026-01-31T14:00:02Z,"https://a.example/""q""\nsecond line",200,1,1\n'
        + line(3)
        + '2026-01-31T14:00:04Z,https://a.example/"stray,200,1,1\n'
        + "".join(line(second) for second in range(5, 50))
    )
    landing.put("x/log.csv", text)
    report = landing.land()
    assert (outcome(report), reasons(report)) == ((48, 0, 1), {"a quote is not closed": 1})
    [kept] = landing.quarantine()
    assert kept["line"] == 6


def test_blank_comment_and_header_lines_are_skipped(landing: Landing) -> None:
    landing.put("x/log.csv", HEADER + "\n# a comment\n" + line(1) + HEADER + "  \n" + line(2))
    report = landing.land()
    assert outcome(report) == (2, 4, 0)
    assert reasons(report) == {"blank line": 2, "comment": 1, "header again": 1}


def test_growing_csv(landing: Landing) -> None:
    landing.put("x/log.csv", HEADER)
    assert outcome(landing.land()) == (0, 0, 0)
    landing.put("x/log.csv", HEADER + line(1) + line(2))
    assert outcome(landing.land()) == (2, 0, 0)
    landing.put("x/log.csv", HEADER + line(1) + line(2) + line(3))
    landing.put("x/other.csv", HEADER + line(4))
    assert outcome(landing.land()) == (2, 0, 0)
    assert len(set(landing.rows("event_id"))) == 4


def test_null_words_and_empty_fields(landing: Landing) -> None:
    landing.put(
        "x/log.csv",
        "ts,url,status,latency_ms,bytes,error,item\n"
        "2026-01-31T14:00:00Z,https://a.example/,,N/A,-,None,\n"
        "2026-01-31T14:00:01Z,https://a.example/,000,null,NaN,timeout,{}\n",
    )
    assert outcome(landing.land()) == (2, 0, 0)
    assert landing.rows("status, latency_ms, bytes, error, item", "ts") == [
        (None, None, None, None, None),
        (None, None, None, "timeout", "{}"),
    ]


def test_latency_without_a_unit_is_told_from_its_size(landing: Landing) -> None:
    for name, value, expected in (("s", "0.8", 800.0), ("ms", "800", 800.0)):
        landing.put(
            f"{name}/log.csv",
            f"ts,url,latency\n2026-01-31T14:00:00Z,https://{name}.example/,{value}\n",
        )
        report = landing.land()
        assert landing.rows("latency_ms", "latency_ms")[-1] == (expected,)
        assert report.sources[name].notes
