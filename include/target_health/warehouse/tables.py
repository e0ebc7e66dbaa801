"""Which tables a database has: one that no run has written yet lacks those that runs make."""

from __future__ import annotations

import duckdb

from target_health.warehouse.rows import rows_of


def table_exists(connection: duckdb.DuckDBPyConnection, name: str) -> bool:
    query = "SELECT 1 FROM information_schema.tables WHERE table_name = ?"
    return bool(rows_of(connection, query, [name]))
