"""A route that breaks, from crawl log to control file: told, and never the site's trouble."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from target_health import job
from target_health.cli import exit_status
from target_health.config import Configuration
from target_health.paths import Home
from target_health.warehouse.rows import rows_of
from tests.job.logs import Fetch, write_log
from tests.modelling.warehouses import configuration_with

EVERY = timedelta(seconds=20)
HOUR = timedelta(hours=1)
START = datetime(2026, 3, 1, 12)
CLOCK = datetime(2026, 4, 1)
TURN = START + timedelta(days=4)
TABLES = (
    "site_windows",
    "route_windows",
    "site_baselines",
    "route_diagnoses",
    "site_scores",
    "site_health",
    "route_health",
)


def crawl(
    site: str,
    start: datetime,
    end: datetime,
    *,
    gateways: str = "abc",
    dead: tuple[str, datetime, datetime] | None = None,
    refuses_from: datetime | None = None,
) -> Iterator[Fetch]:
    """A fetch every so often, over gateways in turn; ``dead`` is one of them, from and until."""
    at = start
    while at < end:
        number = (at - START) // EVERY
        gateway = gateways[number % len(gateways)]
        fetch: Fetch = {
            "ts": at.isoformat() + "Z",
            "url": f"https://{site}/page/{number % 97}",
            "status": 200,
            "latency_ms": 100 + number % 7,
            "bytes": 20_000,
            "credits": 2,
            "route": {"gateway": f"gw-{gateway}", "country": "de", "exit": f"x{number % 30}"},
        }
        if dead and gateway == dead[0] and dead[1] <= at < dead[2]:
            fetch.update(status=None, error="proxy", latency_ms=None, bytes=None)
        elif refuses_from is not None and at >= refuses_from:
            fetch.update(status=403)
        yield fetch
        at += EVERY


@pytest.fixture
def configuration(tmp_path: Path) -> Configuration:
    return configuration_with(tmp_path / "config", {"window_minutes": 30})


def log(home: Home, name: str, fetches: Iterator[Fetch]) -> None:
    write_log(home.inbox / "crawler" / f"{name}.jsonl", fetches)


def run_hour(home: Home, configuration: Configuration, end: datetime) -> job.RunReport:
    return job.run(home, configuration, end - HOUR, end, now=CLOCK, act=True)


def published(home: Home, query: str) -> list[dict[str, Any]]:
    with duckdb.connect(str(home.published), read_only=True) as connection:
        return rows_of(connection, query)


def snapshot(home: Home) -> dict[str, list[dict[str, Any]]]:
    return {table: published(home, f"FROM {table} ORDER BY ALL") for table in TABLES}


def test_a_dead_gateway_is_told_and_no_site_is_slowed_for_it(
    tmp_path: Path,
    configuration: Configuration,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    home, end = Home(tmp_path / "home"), TURN + 2 * HOUR
    dead = ("b", TURN, end)
    for site in ("one.example", "two.example", "three.example"):
        log(home, site, crawl(site, START, end, dead=dead))
    log(home, "other", crawl("other.example", START, end, gateways="ac"))
    log(home, "refusing", crawl("refusing.example", START, end, refuses_from=TURN))
    for hour in (1, 2):
        report = run_hour(home, configuration, TURN + hour * HOUR)
        assert {action.site for action in report.actions} <= {"refusing.example"}
    rows = {row["site"]: row for row in published(home, "FROM site_health")}
    for site in ("one.example", "two.example", "three.example"):
        row = rows[site]
        assert (row["diagnosis"], row["owner"]) == ("route:gateway=gw-b", "route")
        assert (row["score"], row["band"], row["delivery_share"]) == (100, "healthy", 1)
        assert (row["reasons"], row["state"]) == ([], "active")
    assert (rows["other.example"]["diagnosis"], rows["other.example"]["owner"]) == (None, None)
    refusing = rows["refusing.example"]
    assert (refusing["diagnosis"], refusing["owner"]) == ("site", "crawl")
    health = {row["value"]: row for row in published(home, "FROM route_health WHERE sites > 2")}
    assert [value for value, row in health.items() if row["down"]] == ["gw-b"]
    assert (health["gw-b"]["sites"], health["gw-b"]["diagnosed_sites"]) == (4, 3)

    monkeypatch.setenv("TARGET_HEALTH_HOME", str(home.root))
    monkeypatch.setenv("TARGET_HEALTH_CONFIG", str(tmp_path / "config"))
    assert exit_status(["status", "one.example", "--why"]) == 0
    shown = capsys.readouterr().out
    assert "gateway=gw-b holds 100% of those: 60 of its 60 failed" in shown
    assert "gateway=gw-b is down: named on 3 of the 4 sites" in shown


def test_cost_stands_in_the_control_file(tmp_path: Path) -> None:
    configuration = configuration_with(
        tmp_path / "config",
        {"window_minutes": 30},
        sites={"paid.example": {"price_per_credit": 0.01}},
    )
    home = Home(tmp_path / "home")
    log(home, "paid", crawl("paid.example", START, TURN + HOUR))
    log(home, "free", crawl("free.example", START, TURN + HOUR, refuses_from=TURN))
    run_hour(home, configuration, TURN)
    run_hour(home, configuration, TURN + HOUR)
    with duckdb.connect(str(home.published), read_only=True) as connection:
        costs = dict(connection.execute("SELECT site, effective_cost FROM site_state").fetchall())
        (score,) = connection.execute(
            "SELECT smoothed_score FROM site_health WHERE site = 'free.example'"
        ).fetchone() or (None,)
    assert costs["paid.example"] == pytest.approx(0.02)
    assert costs["free.example"] == pytest.approx(2 * 100 / score)


@pytest.mark.slow
def test_any_order_of_landings_runs_and_backfills_ends_in_the_same_tables(
    tmp_path: Path, configuration: Configuration
) -> None:
    end, early = TURN + 2 * HOUR, START + timedelta(days=3, hours=20)
    dead = ("b", early, TURN + timedelta(minutes=40))
    sites = ("one.example",)
    in_time, late, filled = (Home(tmp_path / name) for name in ("in-time", "late", "filled"))
    for site in sites:
        for home in (in_time, filled):
            log(home, site, crawl(site, START, end, dead=dead))
        log(late, f"{site}-1", crawl(site, START, early, dead=dead))
        log(late, f"{site}-3", crawl(site, TURN, end, dead=dead))
    for hour in (1, 3):
        job.run(in_time, configuration, TURN, TURN + hour * HOUR, now=CLOCK, act=False)
    job.run(late, configuration, TURN, TURN + 2 * HOUR, now=CLOCK, act=False)
    for site in sites:
        log(late, f"{site}-2", crawl(site, early, TURN, dead=dead))
    job.run(late, configuration, end - HOUR, TURN + 3 * HOUR, now=CLOCK, act=False)
    job.backfill(filled, configuration, TURN, TURN + 3 * HOUR, now=CLOCK)
    job.backfill(filled, configuration, START, early, now=CLOCK)
    expected = snapshot(in_time)
    assert len(expected["route_diagnoses"]) > 5
    for home in (late, filled):
        made = snapshot(home)
        for table in TABLES:
            assert made[table] == expected[table], table
