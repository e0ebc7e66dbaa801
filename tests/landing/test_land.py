"""The landing's frame: two at once, the report, redelivery, reading without keeping."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from target_health.errors import UsageError
from target_health.landing import crawl_log_view_sql, read_log
from target_health.landing.schema import CRAWL_LOG
from target_health.paths import PROJECT_ROOT
from target_health.warehouse import open_writer
from tests.landing.conftest import NOW, Landing, fetch, outcome

TEXT = "".join(fetch(second) + "\n" for second in range(300))


def test_two_landings_at_once(landing: Landing) -> None:
    for number in range(4):
        landing.put(f"x/{number}.jsonl", TEXT.replace("a.example", f"a{number}.example"))
    program = (
        "import sys; from datetime import datetime; from pathlib import Path;"
        "from target_health.landing import land; from target_health.paths import Home;"
        f"print(land(Home(Path(sys.argv[1])), now=datetime.fromisoformat('{NOW}')).rows)"
    )
    running = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(landing.home.root)],
            env={"PYTHONPATH": str(PROJECT_ROOT / "include")},
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    landed = [int(process.communicate()[0]) for process in running]
    assert sorted(landed) == [0, 0, 1200]
    assert landing.rows("count(*), count(DISTINCT event_id)", "ALL") == [(1200, 1200)]


def test_report(landing: Landing) -> None:
    landing.put("x/log.jsonl", TEXT + "{bad\n\n")
    report = landing.land()
    assert report.as_json() == {
        "files": 1,
        "rows": 300,
        "skipped": 1,
        "quarantined": 1,
        "sources": {
            "x": {
                "format": "native",
                "files": 1,
                "rows": 300,
                "skipped": {"blank line": 1},
                "quarantined": {"not JSON": 1},
                "columns": {},
                "notes": [],
            }
        },
    }
    assert report.lines()[0] == ("Landed 300 fetches from 1 files; 1 lines skipped, 1 quarantined.")


def test_view_is_typed_and_empty_without_files(landing: Landing) -> None:
    with open_writer(landing.home) as connection:
        view = crawl_log_view_sql(connection, landing.home)
    with duckdb.connect() as reader:
        found = reader.execute(f"DESCRIBE {view}").fetchall()
        assert {name: kind for name, kind, *_ in found} == CRAWL_LOG
        assert reader.execute(view).fetchall() == []
    landing.put("x/log.jsonl", TEXT)
    landing.land()
    with open_writer(landing.home) as connection:
        view = crawl_log_view_sql(connection, landing.home)
    with duckdb.connect() as reader:
        assert {
            name: kind for name, kind, *_ in reader.execute(f"DESCRIBE {view}").fetchall()
        } == CRAWL_LOG


def test_an_orphan_of_a_killed_landing_is_invisible_and_removed(landing: Landing) -> None:
    landing.put("x/log.jsonl", TEXT)
    landing.land()
    orphan = landing.home.lake / "date=2026-01-31" / "hour=14" / "orphan.parquet"
    orphan.write_bytes(b"anything")
    journal = landing.home.work / "landing.journal"
    journal.write_text(f"{orphan.relative_to(landing.home.root)}\n", encoding="utf-8")
    assert len(landing.rows("1")) == 300
    landing.land()
    assert not orphan.exists()
    assert not journal.exists()


def test_redelivered_events_land_once(landing: Landing) -> None:
    landing.put("x/1.jsonl", "".join(fetch(s, event_id=f"e{s}") + "\n" for s in range(50)))
    assert outcome(landing.land()) == (50, 0, 0)
    again = [fetch(s, event_id=f"e{s}", title="late") + "\n" for s in range(40, 60)]
    landing.put("x/2.jsonl", "".join(again))
    assert outcome(landing.land()) == (10, 10, 0)
    landing.ledger("DELETE FROM given_event_ids")
    landing.put("x/3.jsonl", "".join(reversed(again)))
    assert outcome(landing.land()) == (0, 20, 0)


def test_reading_keeps_nothing(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(TEXT + fetch(999), encoding="utf-8")
    with read_log([path], now=NOW) as (connection, report):
        assert outcome(report) == (301, 0, 0)
        assert connection.execute("SELECT count(*) FROM crawl_log").fetchall() == [(301,)]
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(UsageError, match="no such file"), read_log([tmp_path / "x"], now=NOW):
        pass


def test_sites_are_mapped(landing: Landing) -> None:
    config = landing.home.root / "config"
    config.mkdir(parents=True)
    (config / "sites.yaml").write_text(
        "sites: {shop.example: {hosts: ['*.shop.example', 'cdn.example']}}\n", encoding="utf-8"
    )
    landing.config = config
    urls = ["https://www.shop.example/", "https://m.shop.example/", "https://cdn.example:8443/x"]
    landing.put("x/log.jsonl", "".join(fetch(n, url=url) + "\n" for n, url in enumerate(urls)))
    landing.land()
    assert landing.rows("DISTINCT site", "ALL") == [("shop.example",)]
