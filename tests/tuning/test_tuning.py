"""Other numbers on the reviewed past: what is tried, how it is judged, what is proposed."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from target_health.cli import exit_status
from target_health.config import load_configuration
from target_health.incidents.records import Standing
from target_health.incidents.rules import opened
from target_health.incidents.storage import save_incidents
from target_health.paths import Home
from target_health.tuning import Judged, Spell, candidates, judge, weight_choices
from target_health.warehouse.publishing import publish_copy
from tests.decisions.evidence import SHOP, hour
from tests.modelling.warehouses import configuration_with, make_warehouse, put_windows

HOUR = timedelta(hours=1)
START = datetime(2026, 3, 1)
TURN = START + timedelta(days=4, hours=12)


def test_weights_sum_to_100_and_blocks_weigh_most_unless_told_otherwise() -> None:
    today = load_configuration().scoring
    choices = weight_choices(today)
    assert len(choices) > 5
    for weights in (one.weights for one in choices):
        numbers = list(weights.model_dump().values())
        assert sum(numbers) == 100
        assert min(numbers) >= 0
        heaviest = min(weights.hard_block, weights.soft_block)
        assert heaviest >= max(weights.challenge, weights.latency)
    assert len(weight_choices(today, any_weights=True)) > len(choices)
    assert today not in choices


def test_candidates_are_allowed_and_none_is_todays() -> None:
    today = load_configuration().scoring
    tried = candidates(today, 12)
    assert len(tried) == 12
    assert today not in tried
    assert len({one.model_dump_json() for one in tried}) == 12


def spell(begin: float, end: float, site: str = SHOP, pause: bool = False) -> Spell:
    return Spell(site, hour(begin), hour(begin + 1), hour(end), pause)


def incident(real: bool | None, onset: float = 100, site: str = SHOP) -> Judged:
    return Judged(f"i-{onset}", site, real, hour(onset), hour(onset + 10))


def test_a_real_trouble_is_seen_or_missed() -> None:
    seen = judge([spell(98, 105, pause=True)], [incident(True)])
    assert (seen.missed, seen.false_alarms, seen.delay_minutes) == ((), 0, -60)
    assert seen.would_pause == (SHOP,)
    assert judge([], [incident(True)]).missed == ("i-100",)
    assert judge([spell(98, 105, "other.example")], [incident(True)]).missed == ("i-100",)


def test_false_alarms_are_spells_about_nothing_known() -> None:
    assert judge([spell(100, 105)], [incident(False)]).false_alarms == 1
    assert judge([], [incident(False)]).false_alarms == 0
    assert judge([spell(100, 105)], [incident(None)]).false_alarms == 0
    assert judge([spell(10, 11), spell(20, 21), spell(60, 61)], []).false_alarms == 2


def test_less_is_better_and_missing_is_worse_than_a_false_alarm() -> None:
    real = [incident(True)]
    early, late = judge([spell(99, 105)], real), judge([spell(103, 105)], real)
    missed, noisy = judge([], real), judge([spell(99, 105), spell(10, 11)], real)
    assert early.cost < late.cost < noisy.cost < missed.cost


def window(site: str, at: datetime, hard_blocks: int) -> dict[str, Any]:
    counts = dict.fromkeys(
        ("challenges", "soft_blocks", "soft_404s", "paywalled", "unknown", "server_errors"), 0
    )
    return {
        **{"site": site, "window_start": at, "window_end": at + HOUR, "window_minutes": 60},
        **{"requests": 100, "judged": 100, "ok": 100 - hard_blocks, "hard_blocks": hard_blocks},
        **counts,
        **dict.fromkeys(("client_errors", "not_found", "redirects", "items"), 0),
        **{"p95_latency_ms": 100.0, "attempts": 100, "bytes": 1, "credits": None},
    }


@pytest.fixture
def reviewed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A site that blocks a tenth of all fetches, 82 points today, which a person called real."""
    home = Home(tmp_path / "home")
    configuration_with(tmp_path / "config", {"window_minutes": 60})
    hours = [START + count * HOUR for count in range(5 * 24)]
    windows = [window(SHOP, at, 10 if at >= TURN else 0) for at in hours]
    con = make_warehouse(home)
    put_windows(con, windows, hours[-1] + HOUR)
    made = opened("hostility", Standing(SHOP, "degraded", moved_at=TURN), "act", TURN + HOUR)
    save_incidents(con, [made])
    con.execute("UPDATE incidents SET closed_at = ?, closed_by = 'Kim'", [TURN + 9 * HOUR])
    con.execute(
        "INSERT INTO incident_reviews BY NAME SELECT incident_id, site, kind, 'Kim' AS reviewed_by,"
        " opened_at AS reviewed_at, false AS is_false_alarm, ?::TIMESTAMP AS onset_at"
        " FROM incidents",
        [TURN],
    )
    publish_copy(con, home)
    con.close()
    monkeypatch.setenv("TARGET_HEALTH_HOME", str(home.root))
    monkeypatch.setenv("TARGET_HEALTH_CONFIG", str(tmp_path / "config"))
    return home


def test_a_better_set_of_numbers_is_proposed_and_nothing_applied(
    reviewed: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = reviewed.warehouse.read_bytes(), (tmp_path / "config/scoring.yaml").read_text()
    out = tmp_path / "proposed" / "scoring.yaml"
    assert exit_status(["tune", "--candidates", "2", "--out", str(out), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["today"]["missed"]) == 1
    assert found["proposed"]["missed"] == []
    assert found["changes"] == {"healthy_from": 85.0}
    assert (
        reviewed.warehouse.read_bytes(),
        (tmp_path / "config/scoring.yaml").read_text(),
    ) == before
    assert not list(reviewed.root.glob("tune-*"))
    text = out.read_text()
    assert "healthy_from: 80.0 -> 85.0" in text
    proposed = load_configuration(tmp_path / "config", scoring_file=out)
    assert (proposed.scoring.healthy_from, proposed.scoring.window_minutes) == (85, 60)


def test_numbers_of_ones_own_are_compared(
    reviewed: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = tmp_path / "own.yaml"
    own.write_text("healthy_from: 79\n")
    assert exit_status(["tune", "--config", str(own)]) == 0
    assert "None was better than today's." in capsys.readouterr().out


def test_without_a_review_there_is_nothing_to_go_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = Home(tmp_path / "home")
    con = make_warehouse(home)
    publish_copy(con, home)
    con.close()
    monkeypatch.setenv("TARGET_HEALTH_HOME", str(home.root))
    assert exit_status(["tune"]) == 2
    assert "is reviewed yet" in capsys.readouterr().err
