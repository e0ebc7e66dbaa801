"""Rows by column name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb


def rows_of(
    connection: duckdb.DuckDBPyConnection,
    query: str,
    given: Sequence[object] | Mapping[str, object] = (),
) -> list[dict[str, Any]]:
    """The rows of a query, each by column name; ``given`` in order for ``?``, by name for ``$``."""
    cursor = connection.execute(query, dict(given) if isinstance(given, Mapping) else list(given))
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
