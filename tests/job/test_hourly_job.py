"""The hourly job from crawl log to control file, on logs with known counts."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import pytest

from target_health import job
from target_health.config import Configuration
from target_health.errors import UsageError
from target_health.paths import Home
from target_health.warehouse.rows import rows_of
from tests.job.logs import steady, write_log
from tests.modelling.warehouses import configuration_with

EVERY = timedelta(seconds=12)  # 75 fetches in a quarter of an hour
HOUR = timedelta(hours=1)
START = datetime(2026, 3, 1)
# When the tests land their logs: long after the logs' last line.
CLOCK = datetime(2026, 4, 1)
TURN = START + timedelta(days=4, hours=9)


def denied_from(turn: datetime, until: datetime | None = None) -> Any:
    return lambda at: 403 if at >= turn and (until is None or at < until) else 200


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


@pytest.fixture
def configuration(tmp_path: Path) -> Configuration:
    return configuration_with(tmp_path / "config", {"window_minutes": 15})


def log_sites(home: Home, sites: dict[str, Any], end: datetime, start: datetime = START) -> None:
    for site, status in sites.items():
        write_log(
            home.inbox / "crawler" / f"{site}-{start:%Y%m%dT%H%M}.jsonl",
            steady(site, start, end, EVERY, status),
        )


def run_hour(
    home: Home, configuration: Configuration, end: datetime, act: bool | None = True
) -> job.RunReport:
    return job.run(home, configuration, end - HOUR, end, now=CLOCK, act=act)


def control_of(home: Home) -> dict[str, Any]:
    return json.loads(home.control.read_text())["sites"]


def published(home: Home, query: str) -> list[dict[str, Any]]:
    with duckdb.connect(str(home.published), read_only=True) as connection:
        return rows_of(connection, query)


def test_a_site_that_answers_403_to_everything_is_paused_within_the_hour(
    home: Home, configuration: Configuration
) -> None:
    sites = {"good.example": 200, "bad.example": denied_from(TURN)}
    log_sites(home, sites, TURN + HOUR)
    run_hour(home, configuration, TURN)
    assert {site["state"] for site in control_of(home).values()} == {"active"}
    report = run_hour(home, configuration, TURN + HOUR)
    assert [(action.site, action.kind) for action in report.actions] == [("bad.example", "pause")]
    control = control_of(home)
    assert control["bad.example"]["state"] == "paused"
    assert control["bad.example"]["concurrency_factor"] == 0
    assert control["bad.example"]["reasons"][0] == "refusal"
    assert control["good.example"]["state"] == "active"
    (row,) = published(home, "SELECT * FROM site_health WHERE site = 'bad.example'")
    assert (row["band"], row["state"], row["score"]) == ("resisting", "paused", 65)
    assert row["as_of"] == TURN + HOUR


def test_one_terrible_window_changes_no_band_and_no_pace(
    home: Home, configuration: Configuration
) -> None:
    sites = {"shop.example": denied_from(TURN, TURN + timedelta(minutes=15))}
    log_sites(home, sites, TURN + 3 * HOUR)
    for hour in range(1, 4):
        report = run_hour(home, configuration, TURN + hour * HOUR)
        assert not report.actions
    bands = published(home, "SELECT DISTINCT band FROM site_scores WHERE score IS NOT NULL")
    assert bands == [{"band": "healthy"}]
    (low,) = published(home, "SELECT window_start FROM site_scores WHERE score < 80")
    assert low["window_start"] == TURN


def test_many_sites_at_once_blow_the_fuse(home: Home, configuration: Configuration) -> None:
    sites = {
        f"site-{number}.example": denied_from(TURN) if number < 6 else 200 for number in range(10)
    }
    log_sites(home, sites, TURN + HOUR)
    report = run_hour(home, configuration, TURN + HOUR)
    states = {site: entry["state"] for site, entry in control_of(home).items()}
    assert {states[f"site-{number}.example"] for number in range(6)} == {"slowed"}
    assert {states[f"site-{number}.example"] for number in range(6, 10)} == {"active"}
    assert [action.kind for action in report.actions].count("fuse") == 1


def test_a_run_over_the_past_scores_but_never_acts(
    home: Home, configuration: Configuration
) -> None:
    log_sites(home, {"bad.example": denied_from(TURN)}, TURN + HOUR)
    end = TURN + HOUR
    report = job.run(home, configuration, end - HOUR, end, now=CLOCK, act=None)
    assert not report.acted
    assert not report.actions
    assert not home.control.exists()
    (row,) = published(home, "SELECT band, state FROM site_health")
    assert row == {"band": "resisting", "state": "active"}


def test_act_is_refused_when_a_later_range_has_acted(
    home: Home, configuration: Configuration
) -> None:
    log_sites(home, {"good.example": 200}, TURN + HOUR)
    run_hour(home, configuration, TURN + HOUR)
    with pytest.raises(UsageError, match="has acted already"):
        run_hour(home, configuration, TURN)
    assert not job.run(home, configuration, TURN - HOUR, TURN, now=CLOCK, act=None).acted


def test_running_again_changes_nothing(home: Home, configuration: Configuration) -> None:
    log_sites(home, {"bad.example": denied_from(TURN), "good.example": 200}, TURN + HOUR)
    run_hour(home, configuration, TURN + HOUR)
    before = snapshot(home)
    report = run_hour(home, configuration, TURN + HOUR)
    assert report.landing is not None
    assert report.landing.rows == 0
    assert snapshot(home) == before
    assert len(published(home, "SELECT * FROM actions")) == 1


def snapshot(home: Home) -> dict[str, list[dict[str, Any]]]:
    """Every public table, in an order of its own."""
    return {
        table: published(home, f"SELECT * FROM {table} ORDER BY ALL")
        for table in ("site_windows", "site_scores", "site_baselines", "site_health", "actions")
    }


@pytest.mark.slow
def test_hours_missed_are_made_up_for(tmp_path: Path, configuration: Configuration) -> None:
    sites = {"bad.example": denied_from(TURN), "good.example": 200}
    steady_home, gap_home = Home(tmp_path / "steady"), Home(tmp_path / "gap")
    for home in (steady_home, gap_home):
        log_sites(home, sites, TURN + 6 * HOUR)
    for hour in range(7):
        run_hour(steady_home, configuration, TURN + hour * HOUR, act=False)
    run_hour(gap_home, configuration, TURN, act=False)
    run_hour(gap_home, configuration, TURN + 6 * HOUR, act=False)
    assert snapshot(steady_home) == snapshot(gap_home)


@pytest.mark.slow
def test_late_rows_end_in_the_same_tables(tmp_path: Path, configuration: Configuration) -> None:
    """Rows that come hours and days late, against the same rows in time."""
    on_time, late = Home(tmp_path / "on-time"), Home(tmp_path / "late")
    status = denied_from(TURN - timedelta(days=2), TURN - timedelta(days=2) + 3 * HOUR)
    sites = {"bad.example": status, "good.example": 200}
    log_sites(on_time, sites, TURN + HOUR)
    log_sites(late, {"good.example": 200}, TURN - 5 * HOUR)
    missing = (START + timedelta(days=2), START + timedelta(days=3, hours=5))
    log_sites(late, {"bad.example": status}, missing[0])
    log_sites(late, {"bad.example": status}, TURN + HOUR, start=missing[1])
    for home in (on_time, late):
        run_hour(home, configuration, TURN, act=False)
    for home in (on_time, late):
        run_hour(home, configuration, TURN + HOUR, act=False)
    log_sites(late, {"bad.example": status}, missing[1], start=missing[0])
    log_sites(late, {"good.example": 200}, TURN + HOUR, start=TURN - 5 * HOUR)
    run_hour(late, configuration, TURN + HOUR, act=False)
    ours, theirs = snapshot(late), snapshot(on_time)
    for table in theirs:
        assert without_urls(ours[table]) == without_urls(theirs[table]), table


def without_urls(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """p95 and bytes follow the place of a fetch in its file, which the pieces change."""
    varying = {"p95_latency_ms", "base_p95_latency_ms", "bytes", "latency_penalty"}
    return [{key: value for key, value in row.items() if key not in varying} for row in rows]


def test_an_open_reader_neither_blocks_nor_is_blocked(
    home: Home, configuration: Configuration
) -> None:
    log_sites(home, {"good.example": 200}, TURN + HOUR)
    run_hour(home, configuration, TURN)
    query = "SELECT max(window_end) AS newest FROM site_windows"
    with duckdb.connect(str(home.published), read_only=True) as reader:
        assert rows_of(reader, query) == [{"newest": TURN}]
        run_hour(home, configuration, TURN + HOUR)
        assert rows_of(reader, query) == [{"newest": TURN}]
    assert published(home, query) == [{"newest": TURN + HOUR}]


def test_a_slowed_site_is_restored_step_by_step_after_two_healthy_runs(
    home: Home, configuration: Configuration
) -> None:
    bad_until = TURN + 2 * HOUR
    sites = {
        "shop.example": lambda at: 403 if TURN <= at < bad_until and at.second < 30 else 200,
        "good.example": 200,
    }
    log_sites(home, sites, TURN + 12 * HOUR)
    steps = []
    for hour in range(1, 13):
        run_hour(home, configuration, TURN + hour * HOUR)
        steps.append(control_of(home)["shop.example"]["step"])
    assert max(steps) >= 1
    assert steps[-1] == 0
    falls = [later - earlier for earlier, later in pairwise(steps)]
    assert min(falls) == -1


def test_an_old_plan_is_left_to_the_newest_run(home: Home, configuration: Configuration) -> None:
    """As when someone clears an acting task hours later."""
    end = TURN + HOUR
    with pytest.raises(UsageError, match="leave it to the newest run"):
        job.act_step(home, configuration, "pause_sites", end, now=end + 3 * HOUR)
    assert not home.warehouse.exists()


def test_the_inbox_may_lie_elsewhere(
    home: Home, configuration: Configuration, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_log(tmp_path / "shared" / "crawler" / "a.jsonl", steady("a.example", START, TURN, HOUR))
    monkeypatch.setenv("TARGET_HEALTH_INBOX", (tmp_path / "shared").as_uri())
    report = job.land_step(home, configuration, now=CLOCK)
    assert report.rows == (TURN - START) // HOUR


def test_a_resumed_site_is_paused_again_for_new_evidence_only(
    home: Home, configuration: Configuration
) -> None:
    """Also when a past is replayed, and the clock of the human's decision is far ahead of it."""
    log_sites(home, {"bad.example": denied_from(TURN), "good.example": 200}, TURN + 2 * HOUR)
    run_hour(home, configuration, TURN + HOUR)
    job.resume(home, configuration, ["bad.example"], now=CLOCK, by="Kim", why="they fixed it")
    assert control_of(home)["bad.example"]["step"] == 3
    run_hour(home, configuration, TURN + HOUR)
    assert control_of(home)["bad.example"]["state"] == "slowed"
    run_hour(home, configuration, TURN + 2 * HOUR)
    assert control_of(home)["bad.example"]["state"] == "paused"
