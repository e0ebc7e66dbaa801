"""What tests of many parts share."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from target_health.warehouse.migrations import migrate


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    """An empty warehouse in memory."""
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        migrate(connection)
        yield connection
