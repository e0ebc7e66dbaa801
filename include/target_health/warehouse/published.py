"""Reading the published database; nobody who reads it blocks or is blocked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

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
