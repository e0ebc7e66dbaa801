"""The models against an independent computation of the design's formulas."""

from __future__ import annotations

import math
from dataclasses import fields
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from target_health.config import Configuration
from target_health.modelling import make_scores, make_windows
from target_health.modelling.ranges import Range
from target_health.paths import Home
from target_health.warehouse.rows import rows_of
from tests.modelling.warehouses import (
    configuration_with,
    make_warehouse,
    put_fetches,
    put_rows,
    put_windows,
)
from tests.oracle import (
    ROUTE_COLUMNS,
    SCORE_COLUMNS,
    WINDOW_COLUMNS,
    Numbers,
    has_value,
    landing_verdict,
)
from tests.oracle import route_windows as oracle_routes
from tests.oracle import site_scores as oracle_scores
from tests.oracle import site_windows as oracle_windows
from tests.oracle.cases import Case, all_cases
from tests.oracle.route_cases import ROUTE_CASES

CASES = {case.name: case for case in (*all_cases(), *(make() for make in ROUTE_CASES))}
WINDOW_CASES = [name for name, case in CASES.items() if case.windows]
FETCH_CASES = [name for name, case in CASES.items() if case.fetches]
ROUTE_FIELDS = ("route_gateway", "route_country", "route_pool", "route_session", "route_exit")
# Weeks of windows, made day by day, or tens of thousands of fetches.
LONG_CASES = {"auto_lengths", "refusal_lasting_40_days", "baseline_used_up", "whole_days"}
NUMBER_NAMES = {"full_rate": "full_rate_rise"}


def scoring_of(numbers: Numbers) -> dict[str, Any]:
    return {
        NUMBER_NAMES.get(field.name, field.name): getattr(numbers, field.name)
        for field in fields(numbers)
        if field.name != "sites"
    }


def configuration_of(case: Case, directory: Path) -> Configuration:
    sites = {
        site: {NUMBER_NAMES.get(name, name): value for name, value in own.items()}
        for site, own in case.numbers.sites.items()
    }
    return configuration_with(directory, scoring_of(case.numbers), sites)


def differences(
    ours: list[dict[str, Any]], theirs: list[dict[str, Any]], columns: Any
) -> list[str]:
    """Rows and columns in which two tables differ, times and words exactly, numbers to 1e-7."""
    left = {key_of(row): row for row in ours}
    right = {key_of(row): row for row in theirs}
    found = [f"only in the models: {key}" for key in sorted(left.keys() - right.keys())]
    found += [f"only in the oracle: {key}" for key in sorted(right.keys() - left.keys())]
    for key in sorted(left.keys() & right.keys()):
        for column in columns:
            one, other = left[key][column], right[key][column]
            if not same(one, other):
                found.append(f"{key} {column}: models {one!r}, oracle {other!r}")
    return found


def key_of(row: dict[str, Any]) -> tuple[Any, ...]:
    grain = ("site", "window_start", "dimension", "value")
    return tuple(row[column] for column in grain if column in row)


def same(one: Any, other: Any) -> bool:
    if isinstance(one, int | float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-7)
    if isinstance(one, list) and isinstance(other, list | tuple):
        return list(one) == list(other)
    return one == other


def with_marks(names: list[str]) -> list[Any]:
    return [
        pytest.param(name, marks=pytest.mark.slow) if name in LONG_CASES else name for name in names
    ]


@pytest.mark.parametrize("name", with_marks(WINDOW_CASES))
def test_scores_equal_the_oracle(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    home = Home(tmp_path / "home")
    connection = make_warehouse(home)
    put_windows(connection, case.windows, case.until)
    put_rows(connection, "route_windows", case.routes)
    put_rows(connection, "extraction_windows", case.extractions)
    configuration = configuration_of(case, tmp_path / "config")
    make_scores(connection, configuration, Range(datetime(2000, 1, 1), datetime(2000, 1, 2)))
    ours = rows_of(connection, "SELECT * FROM site_scores")
    theirs = oracle_scores(case.windows, case.numbers, case.routes, case.extractions)
    found = differences(ours, theirs, SCORE_COLUMNS)
    assert not found, "\n".join(found[:20])


@pytest.mark.parametrize("name", with_marks(FETCH_CASES))
def test_windows_and_scores_equal_the_oracle(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    home = Home(tmp_path / "home")
    connection = make_warehouse(home)
    put_fetches(
        connection,
        home,
        [
            {
                **fetch,
                "verdict": landing_verdict(fetch),
                "has_item_value": has_value(fetch.get("item")),
            }
            for fetch in case.fetches
        ],
    )
    configuration = configuration_of(case, tmp_path / "config")
    asked = Range(datetime(2000, 1, 1), case.until)
    make_windows(connection, home, configuration, asked)
    windows = rows_of(connection, "SELECT * FROM site_windows")
    found = differences(
        windows, oracle_windows(case.fetches, case.numbers, case.until), WINDOW_COLUMNS
    )
    is_routed = any(fetch.get(name) for fetch in case.fetches for name in ROUTE_FIELDS)
    routes = oracle_routes(case.fetches, case.numbers, case.until) if is_routed else []
    counted = rows_of(connection, "SELECT * FROM route_windows")
    found += differences(counted, routes, ROUTE_COLUMNS[:-1])
    measured = [row for row in counted if row["rest_p95_latency_ms"] is not None]
    keys = {key_of(row) for row in measured}
    found += differences(measured, [r for r in routes if key_of(r) in keys], ROUTE_COLUMNS[-1:])
    make_scores(connection, configuration, asked)
    ours = rows_of(connection, "SELECT * FROM site_scores")
    windows.sort(key=lambda row: (row["site"], row["window_start"]))
    found += differences(ours, oracle_scores(windows, case.numbers, routes), SCORE_COLUMNS)
    assert not found, "\n".join(found[:20])
