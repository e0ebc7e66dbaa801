"""Quarantined lines are read again once their source's entry is corrected; nothing doubles."""

from __future__ import annotations

import gzip
from datetime import datetime

import duckdb
import pytest

from tests.landing.conftest import Landing, fetch, outcome

HEADER = "when,url,status,took\n"
AMBIGUOUS = [f"05/01/2026 14:00:{second:02},https://a.example/{second},200,1\n"
             for second in range(9)]  # fmt: skip
CLEAR = [f"2026-01-31 14:00:{second:02},https://a.example/{second},200,1\n" for second in range(6)]
RIGHT = "sources: {x: {ts_format: '%d/%m/%Y %H:%M:%S'}}\n"


def counted(landing: Landing) -> dict[str, int]:
    return dict(
        landing.ledger("SELECT outcome, sum(line_count)::INT FROM landing_counts GROUP BY ALL")
    )


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("end", ["", "\n"])
def test_a_corrected_entry(landing: Landing, packed: bool, end: str) -> None:
    text = HEADER + "".join(CLEAR + AMBIGUOUS).rstrip("\n") + end
    data = gzip.compress(text.encode()) if packed else text.encode()
    landing.put("x/log.csv", data)
    landing.put("y/log.csv", data.replace(b"a.example", b"b.example"))
    landing.land()
    before = landing.rows("event_id, url", "ALL")
    assert counted(landing)["quarantined"] >= 9
    landing.configure(RIGHT)
    report = landing.land()
    assert outcome(report) == (9, 0, 0)
    assert [q for q in landing.quarantine() if q["source"] == "x"] == []
    assert set(before) < set(landing.rows("event_id, url", "ALL"))
    assert landing.rows("count(DISTINCT event_id) = count(*)", "ALL") == [(True,)]
    assert ("https://a.example/3", datetime(2026, 1, 5, 14, 0, 3)) in landing.rows("url, ts")
    assert landing.land().files == 0
    landing.state()
    landing.configure("sources: {}\n")  # and back: what was landed stays
    assert outcome(landing.land()) == (0, 0, 0)
    if not packed:
        landing.put(
            "x/log.csv", text.rstrip("\n") + "\n" + CLEAR[0].replace("example/0", "example/new")
        )
        assert outcome(landing.land()) == (1, 0, 0)


def test_lines_that_stay_wrong_are_counted_once(landing: Landing) -> None:
    bad = "never,https://a.example/,200,1\n"
    text = HEADER + "".join(AMBIGUOUS) + bad
    landing.put("x/log.csv", text)
    assert outcome(landing.land()) == (0, 0, 10)
    landing.configure(RIGHT)
    assert outcome(landing.land()) == (9, 0, 1)
    assert counted(landing) == {"row": 9, "quarantined": 1}
    [kept] = landing.quarantine()
    assert (kept["line"], kept["raw"]) == (11, bad[:-1])
    landing.put("x/log.csv", text + AMBIGUOUS[0].replace("example/0", "example/more"))
    assert outcome(landing.land()) == (1, 0, 0)
    landing.state()


def test_a_file_that_grew_and_was_renamed_meanwhile(landing: Landing) -> None:
    landing.put("x/log.csv", HEADER + "".join(AMBIGUOUS[:4]))
    landing.land()
    landing.put("x/log.csv", HEADER + "".join(AMBIGUOUS[:6]))
    landing.land()
    (landing.home.inbox / "x" / "log.csv").rename(landing.home.inbox / "x" / "log.1.csv")
    landing.put("x/log.1.csv", HEADER + "".join(AMBIGUOUS))
    landing.put("x/copy.csv", HEADER + "".join(AMBIGUOUS[:6]))
    landing.configure(RIGHT)
    report = landing.land()
    assert outcome(report) == (9, 0, 0)
    assert landing.quarantine() == []
    assert landing.land().files == 0
    landing.state()


def test_another_mapping_and_another_format(landing: Landing) -> None:
    landing.configure("sources: {x: {format: native}, y: {latency_ms: status_note}}\n")
    landing.put("x/log.csv", HEADER + "".join(CLEAR))
    landing.put(
        "y/log.jsonl", "".join(fetch(s, status_note="quick", took=5) + "\n" for s in range(5))
    )
    assert outcome(landing.land()) == (0, 0, 12)
    landing.configure("sources: {y: {latency_ms: took}}\n")
    report = landing.land()
    assert outcome(report) == (11, 0, 0)
    assert landing.quarantine() == []
    assert landing.rows("count(latency_ms)", "ALL") == [(11,)]


def test_parquet(landing: Landing) -> None:
    path = landing.put("x/log.parquet", b"")
    with duckdb.connect() as connection:
        connection.execute(
            "COPY (SELECT printf('05/01/2026 14:00:%02d', n) AS ts, 'https://a.example/' || n "
            "AS url, 'own' AS colour, '\\xFF'::BLOB AS bin "
            f"FROM range(7) t(n)) TO '{path}' (FORMAT parquet)"
        )
    assert outcome(landing.land()) == (0, 0, 7)
    assert landing.quarantine()[0]["raw"] == (
        '{"ts":"05/01/2026 14:00:00","url":"https://a.example/0","colour":"own","bin":"\\\\xFF"}'
    )
    landing.configure(RIGHT)
    assert outcome(landing.land()) == (7, 0, 0)
    assert landing.quarantine() == []
    assert landing.land().files == 0
