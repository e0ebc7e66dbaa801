"""What the sidecars call a model's grain is one: on a real run no two rows share it."""

from __future__ import annotations

import duckdb
import pytest

from target_health.config import load_configuration
from target_health.decisions.evidence import site_evidence
from target_health.modelling.lake import show_lake_fetches
from target_health.modelling.models import run_select
from target_health.modelling.settings import make_site_settings
from target_health.modelling.windows import known_sites
from target_health.paths import MODELS, Home
from tests.reports.small_fleet import END, HOUR
from tests.sql.sidecars import sidecar

TEMPORARY = {"window_fetches", "site_evidence"}
TABLES = sorted({path.stem for path in MODELS.glob("*.sql")} - TEMPORARY)


def rows_and_keys(connection: duckdb.DuckDBPyConnection, model: str) -> tuple[int, int]:
    grain = ", ".join(sidecar(model)["grain"])
    row = connection.execute(f"SELECT count(*), count(DISTINCT ({grain})) FROM {model}").fetchone()
    assert row is not None
    return row[0], row[1]


@pytest.mark.parametrize("model", TABLES)
def test_grain_of_a_table(model: str, published: duckdb.DuckDBPyConnection) -> None:
    rows, keys = rows_and_keys(published, model)
    assert rows == keys > 0


def test_grain_of_window_fetches(published: duckdb.DuckDBPyConnection, small_fleet: Home) -> None:
    make_site_settings(published, load_configuration(), known_sites(published))
    show_lake_fetches(published, small_fleet, END - HOUR, END)
    run_select(
        published,
        "CREATE TEMP TABLE window_fetches AS ",
        "window_fetches",
        {"start": END - HOUR, "end": END},
    )
    rows, keys = rows_and_keys(published, "window_fetches")
    (landed,) = published.execute("SELECT count(*) FROM lake_fetches").fetchone() or (None,)
    assert rows == keys == landed


def test_grain_of_site_evidence(published: duckdb.DuckDBPyConnection) -> None:
    sites = [row.site for row in site_evidence(published, load_configuration(), END)]
    assert sorted(sites) == sorted(known_sites(published))
