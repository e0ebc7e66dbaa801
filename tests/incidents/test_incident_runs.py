"""Incidents from crawl log to published table, control file and command line."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

import duckdb
import pytest

from target_health import job
from target_health.cli import exit_status
from target_health.errors import UsageError
from target_health.incidents import record_deceptions
from target_health.paths import Home
from target_health.warehouse import open_writer
from tests.incidents.conftest import BAD, CLOCK, GOOD, HOUR, TURN, Fleet
from tests.modelling.warehouses import configuration_with


def test_an_incident_from_first_movement_to_close(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fleet.run(2)
    (row,) = fleet.rows("SELECT * FROM incidents")
    assert (row["site"], row["kind"], row["closed_at"]) == (BAD, "hostility", None)
    assert row["first_movement_at"] == TURN
    assert (row["worst_band"], row["reasons"][0]) == ("resisting", "refusal")
    evidence = json.loads(row["evidence"])
    assert len(evidence["samples"]) == 10
    assert {one["verdict"] for one in evidence["samples"]} == {"hard_block"}
    assert len({one["url"] for one in evidence["samples"]}) == 10
    (action,) = row["actions"]
    assert (action["kind"], action["decided_by"]) == ("pause", "target-health")
    name = row["incident_id"]
    sites = json.loads(fleet.home.control.read_text())["sites"]
    assert (sites[BAD]["incident_id"], sites[GOOD]["incident_id"]) == (name, None)
    assert [a["incident_id"] for a in fleet.rows("SELECT * FROM actions")] == [name]

    job.resume(
        fleet.home,
        fleet.configuration,
        [BAD],
        now=CLOCK,
        by="Kim",
        why="they raised our limit",
    )
    for count in range(3, 9):
        fleet.run(count)
    (row,) = fleet.rows("SELECT * FROM incidents")
    assert (row["incident_id"], row["closed_by"]) == (name, "target-health")
    kinds = [action["kind"] for action in row["actions"]]
    assert kinds == ["pause", "human_resume", "restore", "restore", "restore"]
    assert row["reasons_over_time"][-1]["band"] == "healthy"
    site = json.loads(fleet.home.control.read_text())["sites"][BAD]
    assert (site["state"], site["incident_id"]) == ("active", None)

    monkeypatch.setenv("TARGET_HEALTH_HOME", str(fleet.home.root))
    assert exit_status(["incidents"]) == 0
    assert "No open incident" in capsys.readouterr().out
    assert exit_status(["incidents", "--closed", "--json"]) == 0
    (shown,) = json.loads(capsys.readouterr().out)
    assert (shown["incident_id"], len(shown["evidence"]["samples"])) == (name, 10)
    assert exit_status(["incidents", "show", name]) == 0
    assert "human_resume by Kim: they raised our limit" in capsys.readouterr().out


def test_a_run_over_the_past_opens_none_and_a_person_closes_one(fleet: Fleet) -> None:
    end = TURN + 2 * HOUR
    job.run(fleet.home, fleet.configuration, end - HOUR, end, now=CLOCK, act=False)
    assert fleet.rows("SELECT band FROM site_health WHERE site = ?", BAD) == [{"band": "resisting"}]
    assert fleet.rows("SELECT * FROM incidents") == []
    fleet.run(2)
    (row,) = fleet.rows("SELECT incident_id FROM incidents")
    name, now = row["incident_id"], CLOCK
    given = {"by": "Kim", "why": "known maintenance"}
    job.close(fleet.home, fleet.configuration, name, now=now, **given)
    (row,) = fleet.rows("SELECT * FROM incidents")
    assert (row["closed_at"], row["closed_by"]) == (now, "Kim")
    site = json.loads(fleet.home.control.read_text())["sites"][BAD]
    assert (site["state"], site["incident_id"]) == ("paused", None)
    with pytest.raises(UsageError, match="closed already, by Kim"):
        job.close(fleet.home, fleet.configuration, name, now=now, **given)
    with pytest.raises(UsageError, match="no such incident"):
        job.close(fleet.home, fleet.configuration, "hostility-none", now=now, **given)
    with pytest.raises(UsageError, match="--by NAME"):
        job.close(fleet.home, fleet.configuration, name, now=now, by=" ", why="x")


def test_canaries_open_and_close_deceptions_of_their_own(tmp_path) -> None:
    home, at = Home(tmp_path / "home"), datetime(2026, 3, 1, 12, 15)
    configuration = configuration_with(tmp_path / "config")
    with open_writer(home) as con:
        con.execute(
            "INSERT INTO canary_results BY NAME SELECT '1' AS result_id, 'r' AS run_id, "
            "'shop.example' AS site, 'kettle' AS page, 'price' AS check_name, '' AS url, "
            "?::TIMESTAMP AS observed_at, 'direct' AS route, true AS is_production, 'fetch' AS via,"
            "'wrong_value' AS outcome, 'wrong_value' AS page_outcome, '1' AS expected, '2' AS got, "
            "'' AS detail, 'ok' AS verdict, [] AS evidence, observed_at AS recorded_at",
            [at - timedelta(minutes=15)],
        )
        for minutes, found in ((0, True), (15, True), (30, False), (90, False)):
            when = at + timedelta(minutes=minutes)
            record_deceptions(con, home, configuration, {}, {"shop.example": found}, when)
        ((kind, opened, closed, evidence),) = con.execute(
            "SELECT kind, opened_at, closed_at, evidence FROM incidents"
        ).fetchall()
    assert (kind, opened, closed) == ("deception", at, at + timedelta(minutes=90))
    assert json.loads(evidence)["canaries"] == [
        {
            "observed_at": "2026-03-01T12:00:00Z",
            "page": "kettle",
            "check_name": "price",
            "route": "direct",
            "outcome": "wrong_value",
            "expected": "1",
            "got": "2",
            "detail": None,
        }
    ]


def test_parser_and_cost_must_have_lasted(con: duckdb.DuckDBPyConnection, tmp_path) -> None:
    from target_health.decisions import SiteEvidence
    from target_health.incidents.standings import site_standings

    configuration = configuration_with(tmp_path / "config")
    end = datetime(2026, 3, 1, 12)
    for site, lows in (("lasting.example", 4), ("short.example", 3), ("well.example", 0)):
        for back in range(1, 13):
            low = back <= lows
            con.execute(
                "INSERT INTO site_scores BY NAME SELECT ? AS site, ? AS window_start, "
                "? AS window_end, 15 AS window_minutes, ? AS config_version, 100 AS score, "
                "'healthy' AS band, [] AS reasons, ? AS parser_health, ? AS cost_ratio",
                [
                    site,
                    end - back * timedelta(minutes=15),
                    end - (back - 1) * timedelta(minutes=15),
                    configuration.version,
                    60.0 if low else 100.0,
                    3.0 if low else 1.0,
                ],
            )
    rows = [SiteEvidence(site, "healthy") for site in ("lasting.example", "short.example", "new")]
    found = {one.site: one for one in site_standings(con, configuration, rows, end)}
    assert (found["lasting.example"].parser_low, found["lasting.example"].cost_high) == (True, True)
    assert (found["short.example"].parser_low, found["short.example"].cost_high) == (False, False)
    assert (found["new"].parser_low, found["new"].moved_at) == (None, None)
