"""One empty, migrated warehouse with the temporary tables that a run makes before its models."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import duckdb
import pytest

from target_health.modelling.lake import LAKE_ROWS
from target_health.modelling.models import model_sql
from target_health.modelling.settings import COLUMN_TYPES
from target_health.warehouse.migrations import migrate

TEMPORARY = {
    "lake_fetches": LAKE_ROWS,
    "site_settings": {"site": "VARCHAR", **COLUMN_TYPES},
    "pace_changes": {
        "site": "VARCHAR",
        "sequence": "BIGINT",
        "changed_at": "TIMESTAMP",
        "concurrency_factor": "DOUBLE",
    },
    "evidence_from": {"site": "VARCHAR", "since_at": "TIMESTAMP"},
}


@pytest.fixture(scope="session")
def empty_warehouse() -> Iterator[duckdb.DuckDBPyConnection]:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    migrate(connection)
    for table, columns in TEMPORARY.items():
        declared = ", ".join(f"{name} {kind}" for name, kind in columns.items())
        connection.execute(f"CREATE TEMP TABLE {table} ({declared})")
    connection.execute(
        f"CREATE TEMP TABLE window_fetches AS {model_sql('window_fetches')}",
        {"start": datetime(2026, 1, 1), "end": datetime(2026, 1, 2)},
    )
    connection.execute(
        f"CREATE TEMP TABLE site_health AS {model_sql('site_health')}",
        {"as_of": datetime(2026, 1, 1), "config_version": "", "longest_stretched_days": 60},
    )
    connection.execute("CREATE TEMP TABLE fresh_scores AS SELECT * FROM site_scores WHERE FALSE")
    yield connection
    connection.close()


@pytest.fixture
def warehouse(empty_warehouse: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
    """The empty warehouse; what a test puts in goes out again."""
    empty_warehouse.execute("BEGIN")
    try:
        yield empty_warehouse
    finally:
        empty_warehouse.execute("ROLLBACK")
