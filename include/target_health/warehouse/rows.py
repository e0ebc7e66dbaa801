"""Rows by column name, and whether there can be any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb


def rows_of(
    connection: duckdb.DuckDBPyConnection,
    query: str,
    given: Sequence[object] | Mapping[str, object] = (),
) -> list[dict[str, Any]]:
    """The rows of a query, each by column name; ``given`` are its parameters."""
    cursor = connection.execute(query, given if isinstance(given, Mapping) else list(given))
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def has_table(connection: duckdb.DuckDBPyConnection, name: str) -> bool:
    """Whether there is such a table: a database published by an older version may lack some."""
    query = "SELECT 1 FROM duckdb_tables() WHERE table_name = ? LIMIT 1"
    return bool(rows_of(connection, query, [name]))
