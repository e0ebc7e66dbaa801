"""Opening the writer's database: one process at a time, waiting a bounded while."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import duckdb
import filelock

from target_health.errors import UsageError, WarehouseBusy
from target_health.paths import Home
from target_health.warehouse.migrations import migrate

DEFAULT_WAIT_S = 900.0


def lock_wait_s() -> float:
    """Seconds to wait for another writer: ``TARGET_HEALTH_LOCK_WAIT_S``, default 15 minutes."""
    text = os.environ.get("TARGET_HEALTH_LOCK_WAIT_S", "")
    try:
        return float(text) if text else DEFAULT_WAIT_S
    except ValueError:
        raise UsageError(
            f"TARGET_HEALTH_LOCK_WAIT_S: {text!r} is not a number of seconds"
        ) from None


@contextmanager
def writer_lock(home: Home) -> Iterator[None]:
    """Hold the writer's lock; the system frees it when the process dies, however it dies."""
    home.work.mkdir(parents=True, exist_ok=True)
    lock = filelock.FileLock(home.writer_lock, timeout=lock_wait_s())
    try:
        lock.acquire()
    except filelock.Timeout:
        raise WarehouseBusy(
            f"another run has been writing to {home.warehouse} for {lock_wait_s():.0f} s; "
            "wait for it to end, or stop it, and try again"
        ) from None
    try:
        yield
    finally:
        lock.release()


def configure(connection: duckdb.DuckDBPyConnection, home: Home) -> None:
    """Session settings that every query of ours relies on."""
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("SET temp_directory = ?", [str(home.work / "spill")])
    limit = os.environ.get("TARGET_HEALTH_MEMORY_LIMIT")
    if limit:
        connection.execute("SET memory_limit = ?", [limit])


@contextmanager
def open_writer(home: Home) -> Iterator[duckdb.DuckDBPyConnection]:
    """The migrated warehouse, under the writer's lock.

    Yields a connection with ``TimeZone`` UTC. Raises ``WarehouseBusy`` when another writer holds
    the lock longer than ``lock_wait_s``.
    """
    with writer_lock(home):
        connection = duckdb.connect(str(home.warehouse))
        try:
            configure(connection, home)
            migrate(connection)
            yield connection
        finally:
            connection.close()
