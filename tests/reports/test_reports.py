"""Every ready query runs as it stands on a real published database, and answers its question."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from target_health.paths import REPORTS
from target_health.warehouse.rows import rows_of
from tests.reports.small_fleet import END, FINE, NEW, REFUSED, SLOWED, WATCHED

NAMES = sorted(path.stem for path in REPORTS.glob("*.sql"))
DAY = timedelta(days=1)


def report(name: str) -> str:
    return (REPORTS / f"{name}.sql").read_text(encoding="utf-8")


def rows(published: duckdb.DuckDBPyConnection, name: str) -> list[dict[str, Any]]:
    return rows_of(published, report(name))


@pytest.mark.parametrize("name", NAMES)
def test_report_runs_as_it_stands(
    name: str, published: duckdb.DuckDBPyConnection, tmp_path: Path, monkeypatch: Any
) -> None:
    """From any directory, and with something to show."""
    monkeypatch.chdir(tmp_path)
    assert rows(published, name)


@pytest.mark.parametrize("name", NAMES)
def test_report_is_one_select_that_says_what_it_answers(name: str) -> None:
    statements = duckdb.extract_statements(report(name))
    assert len(statements) == 1
    assert statements[0].type == duckdb.StatementType.SELECT
    assert not statements[0].named_parameters
    assert re.fullmatch(r"-- .+\?", report(name).splitlines()[0])


@pytest.mark.parametrize("name", NAMES)
def test_report_gives_the_same_order_every_time(name: str) -> None:
    assert "ORDER BY" in report(name).rsplit(")\n", maxsplit=1)[-1]


@pytest.mark.parametrize("name", NAMES)
def test_report_runs_before_the_first_fetch(
    name: str, published: duckdb.DuckDBPyConnection
) -> None:
    """On the same tables without a row, as a first run without any log publishes them."""
    with duckdb.connect() as empty:
        tables = published.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'main'"
        ).fetchall()
        for (table,) in tables:
            columns = published.execute(f"DESCRIBE {table}").fetchall()
            declared = ", ".join(f"{column[0]} {column[1]}" for column in columns)
            empty.execute(f"CREATE TABLE {table} ({declared})")
        assert rows(empty, name) == []


def test_canaries_now(published: duckdb.DuckDBPyConnection) -> None:
    [row] = rows(published, "canaries_now")
    assert (row["site"], row["verdict"], row["wrong_pages"]) == (FINE, "deceived", "kettle")
    assert row["suspect_since"] == END - timedelta(hours=2)
    assert row["records_since"] > 0


def test_canary_values(published: duckdb.DuckDBPyConnection) -> None:
    [row] = rows(published, "canary_values")
    assert (row["expected"], row["got"], row["observations"]) == ("9.5", "7.00", 2)
    assert (row["first_seen_at"], row["last_seen_at"]) == (END - timedelta(hours=1), END)


def test_worst_sites(published: duckdb.DuckDBPyConnection) -> None:
    found = rows(published, "worst_sites")
    assert {row["site"] for row in found[:2]} == {REFUSED, WATCHED}
    assert [row["site"] for row in found[2:]] == [SLOWED, FINE, NEW]
    assert [row["band"] for row in found] == [
        "resisting", "resisting", "degraded", "healthy", "unscored",
    ]  # fmt: skip
    by_site = {row["site"]: row for row in found}
    assert by_site[REFUSED]["reasons"].startswith("refusal, hard_block")
    assert by_site[REFUSED]["day_change"] < -20
    assert by_site[NEW]["reasons"] == "no baseline yet"


def test_site_last_48_hours_shows_the_worst_site(published: duckdb.DuckDBPyConnection) -> None:
    found = rows(published, "site_last_48_hours")
    (worst,) = {row["site"] for row in found}
    assert worst == rows(published, "worst_sites")[0]["site"]
    # One row a window, though history is scored under two versions of the numbers.
    starts = [row["window_start"] for row in found]
    assert starts == [END - timedelta(hours=hours) for hours in range(48, 0, -1)]
    assert found[-1]["band"] == "resisting"


def test_site_last_48_hours_shows_the_site_that_is_asked_for(
    published: duckdb.DuckDBPyConnection,
) -> None:
    published.execute(f"SET VARIABLE site = '{SLOWED}'")
    assert {row["site"] for row in rows(published, "site_last_48_hours")} == {SLOWED}


def test_paused_sites(published: duckdb.DuckDBPyConnection) -> None:
    found = {row["site"]: row for row in rows(published, "paused_sites")}
    assert found.keys() == {REFUSED, WATCHED, SLOWED, FINE}
    states = {site: (row["state"], row["state_if_acting"]) for site, row in found.items()}
    assert states == {
        REFUSED: ("paused", None),
        WATCHED: ("active", "paused"),
        SLOWED: ("slowed", None),
        FINE: ("paused", None),
    }
    assert found[FINE]["decided_by"] == "Ada"
    assert found[FINE]["why"] == "moving to their API"
    assert found[REFUSED]["decided_by"] == "target-health"
    assert {row["since_at"] for row in found.values()} == {END}


def test_history_by_day(published: duckdb.DuckDBPyConnection) -> None:
    found = rows(published, "history_by_day")
    keys = [(row["day"], row["site"]) for row in found]
    assert len(keys) == len(set(keys)), "only the version in force counts"
    today = {row["site"]: row for row in found if row["day"] == END.date()}
    assert today[REFUSED]["worst_band"] == "resisting"
    assert today[SLOWED]["worst_band"] == "degraded"
    assert today[REFUSED]["windows"] == 11
    for row in found:
        shares = [row[f"{band}_share"] for band in ("healthy", "degraded", "resisting", "unscored")]
        assert sum(shares) == pytest.approx(1, abs=0.02)
    assert found[0]["day"] == END.date()
    assert found[-1]["day"] == date(2026, 3, 16)


def test_actions_lately(published: duckdb.DuckDBPyConnection) -> None:
    found = rows(published, "actions_lately")
    kinds = {(row["site"], row["kind"], row["applied"]) for row in found}
    assert kinds == {
        (REFUSED, "pause", True),
        (WATCHED, "pause", False),
        (SLOWED, "slow_down", True),
        (FINE, "human_pause", True),
    }
    assert found[0]["decided_by"] == "Ada"


def test_incidents_lately(published: duckdb.DuckDBPyConnection) -> None:
    found = {row["site"]: row for row in rows(published, "incidents_lately")}
    assert {site: row["kind"] for site, row in found.items()} == {
        REFUSED: "hostility",
        WATCHED: "hostility",
        SLOWED: "hostility",
        FINE: "route",  # one pool fails there
    }
    assert (found[REFUSED]["worst_band"], found[REFUSED]["actions"]) == ("resisting", 1)
    assert found[SLOWED]["closed_at"] is None


def test_landing_by_source(published: duckdb.DuckDBPyConnection) -> None:
    own = [row for row in rows(published, "landing_by_source") if row["source"] == "own"]
    assert [(row["outcome"], row["line_count"], row["share_of_source"]) for row in own] == [
        ("row", 2, 0.5),
        ("quarantined", 1, 0.25),
        ("quarantined", 1, 0.25),
    ]
    assert {row["latest_line_count"] for row in own} == {1, 2}


def test_denied_fetches(published: duckdb.DuckDBPyConnection) -> None:
    found = rows(published, "denied_fetches")
    assert {row["verdict"] for row in found} <= {"hard_block", "challenge", "soft_block"}
    assert all(END - DAY < row["ts"] <= END for row in found)
    refused = [row for row in found if row["site"] == REFUSED and row["verdict"] == "hard_block"]
    assert len(refused) == 20
    assert refused[0]["denied_alike"] > 100
    assert all(row["url"].startswith("https://") for row in refused)


def test_denied_by_route(published: duckdb.DuckDBPyConnection) -> None:
    found = rows(published, "denied_by_route")
    fetches = {
        dimension: sum(
            row["fetches"]
            for row in found
            if (row["site"], row["dimension"]) == (REFUSED, dimension)
        )
        for dimension in ("gateway", "pool", "exit")
    }
    (counted,) = rows_of(
        published,
        f"SELECT count(*) AS fetches FROM crawl_log WHERE site = '{REFUSED}'"
        f" AND verdict <> 'redirect' AND ts > TIMESTAMP '{END - DAY}' AND ts <= TIMESTAMP '{END}'",
    )
    assert set(fetches.values()) == {counted["fetches"]}
    excess = [row["excess_failed"] for row in found if row["excess_failed"] is not None]
    assert excess == sorted(excess, reverse=True)


def test_verdict_mix_by_hour(published: duckdb.DuckDBPyConnection) -> None:
    found = {
        (row["site"], row["hour_start"]): row for row in rows(published, "verdict_mix_by_hour")
    }
    last_hour = found[REFUSED, END - timedelta(hours=1)]
    assert last_hour["hard_blocks"] > last_hour["requests"] / 2
    verdicts = set(last_hour) - {"site", "hour_start", "requests", "ok_share"}
    assert sum(last_hour[verdict] for verdict in verdicts) == last_hour["requests"]
    assert min(start for _, start in found) == END - timedelta(hours=48)


def test_unscored_sites(published: duckdb.DuckDBPyConnection) -> None:
    (row,) = rows(published, "unscored_sites")
    assert (row["site"], row["unscored_reason"]) == (NEW, "no baseline yet")
    assert row["judged"] > 0


def test_cost_by_day(published: duckdb.DuckDBPyConnection) -> None:
    found = rows(published, "cost_by_day")
    (counted,) = rows_of(
        published, "SELECT sum(attempts) AS attempts, sum(items) AS items FROM site_windows"
    )
    assert sum(row["attempts"] for row in found) == counted["attempts"]
    assert sum(row["items"] for row in found) == counted["items"]
    dear = {row["site"]: row["attempts_per_ok"] for row in found if row["day"] == END.date()}
    assert dear[REFUSED] > dear[SLOWED]


def test_times_are_those_of_the_data(published: duckdb.DuckDBPyConnection) -> None:
    """No report asks the clock: whoever opens an old copy gets its own last day."""
    for name in NAMES:
        assert not re.search(r"now\(|current_|today\(", report(name), re.IGNORECASE), name
    assert isinstance(rows(published, "worst_sites")[0]["as_of"], datetime)


def test_routes_shows_a_failing_one_and_whether_it_is_down(
    published: duckdb.DuckDBPyConnection,
) -> None:
    found = {(row["dimension"], row["value"]): row for row in rows(published, "routes")}
    pool = found["pool", "residential"]
    assert (pool["diagnosed_sites"], pool["down"]) == (1, False)
    assert sum(row["diagnosed_sites"] for row in found.values()) == 1


def test_troubles_by_owner_puts_hostility_first(published: duckdb.DuckDBPyConnection) -> None:
    found = rows(published, "troubles_by_owner")
    owners = {row["site"]: (row["owner"], row["diagnosis"]) for row in found}
    assert owners[REFUSED] == ("crawl", "site")
    assert owners[FINE] == ("route", "route:pool=residential")
    assert [row["owner"] for row in found][-1] == "route"
