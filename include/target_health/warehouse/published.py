"""Reading the published database; nobody who reads it blocks or is blocked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import duckdb

from target_health.errors import TargetHealthError
from target_health.paths import Home


@contextmanager
def open_published(home: Home) -> Iterator[duckdb.DuckDBPyConnection]:
    """``health.duckdb`` for reading, ``TimeZone`` UTC.

    Raises ``TargetHealthError``, with what to do, before the first run.
    """
    if not home.published.exists():
        raise TargetHealthError(
            f"{home.published}: nothing is published yet; run `target-health run` or `make run`"
        )
    connection = duckdb.connect(str(home.published), read_only=True)
    try:
        connection.execute("SET TimeZone = 'UTC'")
        yield connection
    finally:
        connection.close()


def rows_of(
    connection: duckdb.DuckDBPyConnection, query: str, given: Sequence[object] = ()
) -> list[dict[str, Any]]:
    """The rows of a query, each by column name."""
    cursor = connection.execute(query, list(given))
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
