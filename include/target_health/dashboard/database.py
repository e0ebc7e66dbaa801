"""The published database, opened once and again whenever it was replaced."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import duckdb

from target_health.errors import TargetHealthError
from target_health.paths import Home
from target_health.readers.sql_text import literal
from target_health.warehouse.rows import rows_of

# Airflow's API server shares its memory with us.
MEMORY_LIMIT = "128MB"
THREADS = 2
OPENING_TRIES = 3

Row = dict[str, Any]
Identity = tuple[int, int, int, int]


class NothingPublished(TargetHealthError):
    """There is no published database yet."""


class OtherSchema(TargetHealthError):
    """The published database lacks what a page needs: another version wrote it."""


class Snapshot:
    """One state of the published database, for the time of one page."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, home: Home) -> None:
        self._connection = connection
        self.home = home

    def rows(self, query: str, given: Sequence[object] = ()) -> list[Row]:
        """The rows of a query. Raises ``OtherSchema`` where it names what is not there."""
        try:
            return rows_of(self._connection, query, given)
        except (duckdb.CatalogException, duckdb.BinderException) as problem:
            first = str(problem).splitlines()[0]
            raise OtherSchema(
                f"{self.home.published.name} was written by another version of Target Health "
                f"({first})"
            ) from None

    def row(self, query: str, given: Sequence[object] = ()) -> Row | None:
        found = self.rows(query, given)
        return found[0] if found else None

    @cached_property
    def columns(self) -> dict[str, frozenset[str]]:
        """Column names by table, views too."""
        found = rows_of(
            self._connection,
            "SELECT table_name, list(column_name) AS names FROM duckdb_columns() "
            "WHERE database_name = 'published' AND NOT internal GROUP BY table_name",
        )
        return {row["table_name"]: frozenset(row["names"]) for row in found}

    def has(self, table: str, *names: str) -> bool:
        """Whether a table is there, with these columns."""
        return table in self.columns and self.columns[table].issuperset(names)


class Published:
    """``health.duckdb`` for many threads; a page keeps the copy that it began with."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self._lock = threading.Lock()
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._identity: Identity | None = None

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """The newest copy. Raises ``NothingPublished`` before the first run."""
        cursor = self._cursor()
        try:
            yield Snapshot(cursor, self.home)
        finally:
            cursor.close()

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        with self._lock:
            identity = identity_of(self.home.published)
            if self._connection is None or identity != self._identity:
                # Cursors that still read keep the copy before alive.
                self._connection, self._identity = opened(self.home)
            cursor = self._connection.cursor()
            # A cursor has the settings of the database, not of the connection that it comes from.
            cursor.execute("USE published; SET TimeZone = 'UTC'")
            return cursor

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = self._identity = None


def identity_of(path: Path) -> Identity:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        raise NothingPublished(f"{path} is not there yet") from None
    return (found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size)


def opened(home: Home) -> tuple[duckdb.DuckDBPyConnection, Identity]:
    """The file, attached to a database in memory.

    Opened directly, DuckDB would give us the file that we opened before as long as any of its
    readers lives, whatever lies at the path by now.
    """
    path = home.published
    for attempt in range(1, OPENING_TRIES + 1):
        identity = identity_of(path)
        connection = duckdb.connect(
            config={"threads": THREADS, "memory_limit": MEMORY_LIMIT, "temp_directory": ""}
        )
        try:
            connection.execute(f"ATTACH {literal(str(path))} AS published (READ_ONLY)")
        except duckdb.Error as problem:
            connection.close()
            if attempt == OPENING_TRIES:
                first = str(problem).splitlines()[0]
                raise OtherSchema(f"{path} cannot be read: {first}") from None
            continue
        if identity_of(path) == identity or attempt == OPENING_TRIES:
            return connection, identity
        connection.close()
    raise AssertionError("unreachable")
