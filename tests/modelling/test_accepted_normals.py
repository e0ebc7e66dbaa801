"""A normal that a person accepted is respected by scores, whenever it was said."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import duckdb

from target_health.config import Configuration
from target_health.decisions.answers import decide_site
from target_health.modelling import make_scores
from target_health.modelling.ranges import Range
from target_health.paths import Home
from tests.modelling.warehouses import configuration_with, make_warehouse, put_windows
from tests.tuning.test_tuning import window

HOUR = timedelta(hours=1)
START = datetime(2026, 3, 1)
TURN = START + timedelta(days=4)
END = START + timedelta(days=9)
SITE = "shop.example"


def warehouse(home: Home) -> duckdb.DuckDBPyConnection:
    """From TURN on a third of all fetches is blocked, for good."""
    hours = [START + count * HOUR for count in range((END - START) // HOUR)]
    con = make_warehouse(home)
    put_windows(con, [window(SITE, at, 33 if at >= TURN else 0) for at in hours], END)
    return con


def scored(
    con: duckdb.DuckDBPyConnection, configuration: Configuration
) -> list[tuple[object, ...]]:
    make_scores(con, configuration, Range(END - HOUR, END))
    return con.execute(
        "SELECT window_start, score, unscored_reason, band FROM site_scores ORDER BY window_start"
    ).fetchall()


def test_the_old_normal_is_forgotten_from_then_on_and_the_new_one_learned(tmp_path: Path) -> None:
    configuration = configuration_with(tmp_path / "config", {"window_minutes": 60})
    con = warehouse(Home(tmp_path / "home"))
    before = scored(con, configuration)
    assert before[-1][1] == 65
    words = {"by": "Kim", "why": "they ration everybody", "now": END}
    decide_site(con, configuration, SITE, "accept", baseline_from=TURN, **words)
    after = scored(con, configuration)
    earlier = [row for row in after if row[0] < TURN]
    assert earlier == [row for row in before if row[0] < TURN]
    since = {row[0]: row[1:] for row in after if row[0] >= TURN}
    assert since[TURN + HOUR][1] == "no baseline yet"
    # Three days of it, and the day that every baseline leaves out.
    assert since[TURN + timedelta(days=4, hours=1)] == (100, None, "healthy")

    other = warehouse(Home(tmp_path / "other"))
    other.execute("INSERT INTO accepted_normals VALUES (?, ?, 'Kim', 'x', ?)", [SITE, TURN, END])
    assert scored(other, configuration) == after
    con.close()
    other.close()
