from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from target_health.landing import read_log
from target_health.paths import PROJECT_ROOT
from target_health.readers.heritrix import ERRORS, NO_FETCH, Heritrix
from target_health.readers.raw import Bad, Reading, Row, Skip
from target_health.times import utc_now
from tests.landing.conftest import Landing, outcome, reasons

REAL = PROJECT_ROOT.parent / "shared" / "real" / "logs"
READER = Heritrix(Reading("heritrix"))


def line(status: int, started: str = "20160331143534970+139", size: str = "93") -> str:
    return (
        f"2016-03-31T14:35:35.634Z {status:>5} {size:>10} http://a.example/x P "
        f'http://a.example/ text/html #473 {started} sha1:AAAA - ip:192.0.2.1 {{"a":1}}'
    )


def test_the_fetch_ends_after_its_duration() -> None:
    row = READER.row(line(200))
    assert isinstance(row, Row)
    assert row.fields["ts"] == "2016-03-31T14:35:35.109000Z"
    assert row.fields["latency_ms"] == "139"
    assert row.fields["content_hash"] == "sha1:AAAA"


def test_without_a_start_the_log_s_own_time_counts() -> None:
    row = READER.row(line(200, started="-"))
    assert isinstance(row, Row)
    assert row.fields["ts"] == "2016-03-31T14:35:35.634Z"
    assert "latency_ms" not in row.fields


@pytest.mark.parametrize(("status", "reason"), NO_FETCH.items())
def test_lines_that_are_no_fetch(status: int, reason: str) -> None:
    assert READER.row(line(status)) == Skip(reason)


@pytest.mark.parametrize(("status", "error"), ERRORS.items())
def test_fetches_without_a_response(status: int, error: str) -> None:
    row = READER.row(line(status))
    assert isinstance(row, Row)
    assert row.fields["error"] == error
    assert "status" not in row.fields


@pytest.mark.parametrize("text", ["half a line", "2016-03-31T14:35:35.634Z 200", "{}", "\x00x"])
def test_other_lines(text: str) -> None:
    assert isinstance(READER.row(text), Bad)


def test_sql_and_python_agree(landing: Landing) -> None:
    lines = [
        line(200), line(404, size="-"), line(1), line(-9998), line(-4), line(-2), line(-1),
        line(200, started="-"), line(200, started="20160331143534+5"), line(200, "2016"),
        line(200, started="20161331143534970+139"), line(-404), line(999), line(99), "bad", "",
    ]  # fmt: skip
    landing.put("x/crawl.log", "\n".join(lines) + "\n")
    report = landing.land(datetime(2016, 4, 1))
    outcomes = [READER.row(text) for text in lines]
    assert report.skipped == sum(isinstance(found, Skip) for found in outcomes)
    assert report.quarantined == 1 + sum(isinstance(found, Bad) for found in outcomes)
    assert reasons(report)["status is outside 100-999"] == 1
    exact = []
    for found in outcomes:
        if isinstance(found, Row) and found.fields.get("status") != "99":
            ts, status, error, latency, size = (
                found.fields.get(name) for name in ("ts", "status", "error", "latency_ms", "bytes")
            )
            exact.append(
                (
                    datetime.fromisoformat(ts or "").replace(tzinfo=None),
                    int(status) if status else None,
                    error,
                    float(latency) if latency else None,
                    int(size) if size else None,
                )
            )
    landed = landing.rows("ts, status, error, latency_ms, bytes")
    assert sorted(landed, key=str) == sorted(exact, key=str)


@pytest.mark.parametrize(
    ("name", "rows", "skipped", "hard_blocks"),
    [
        ("heritrix_bbc_2016", 9550,
         {"dns look-up": 125, "robots": 226, "illegal uri": 28, "never tried": 6}, 33),
        ("heritrix_uk_domain_2012", 947, {"robots": 52}, 3),
    ],
)  # fmt: skip
def test_real_logs(name: str, rows: int, skipped: dict[str, int], hard_blocks: int) -> None:
    path: Path = REAL / f"{name}.crawl.log"
    if not path.exists():
        pytest.skip(f"{path} is not here: the real logs lie beside the project")
    with read_log([path], now=utc_now()) as (connection, report):
        assert outcome(report) == (rows, sum(skipped.values()), 0)
        assert reasons(report) == skipped
        [(blocked, ids)] = connection.execute(
            "SELECT count(*) FILTER (verdict = 'hard_block'), count(DISTINCT event_id) "
            "FROM crawl_log"
        ).fetchall()
        assert (blocked, ids) == (hard_blocks, rows)


def test_real_json_lines() -> None:
    path = REAL / "advertools_crawl.jl"
    if not path.exists():
        pytest.skip(f"{path} is not here: the real logs lie beside the project")
    with read_log([path], now=utc_now()) as (connection, report):
        assert outcome(report) == (28, 0, 0)
        [(low, high)] = connection.execute(
            "SELECT min(latency_ms), max(latency_ms) FROM crawl_log"
        ).fetchall()
        assert 10 < low < high < 10_000
