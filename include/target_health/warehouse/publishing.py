"""The published database: a whole copy, put in place of the last one in one step."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import duckdb

from target_health.errors import DiskFull
from target_health.paths import Home


def publish_copy(connection: duckdb.DuckDBPyConnection, home: Home) -> Path:
    """Copy the warehouse to ``health.duckdb``, atomically; the caller holds the writer's lock.

    A reader that has the last copy open keeps it; whoever opens afterwards gets the new one.
    Raises ``DiskFull``, and leaves the last copy as it is, when there is no space for another.
    """
    connection.execute("CHECKPOINT")
    for leftover in home.root.glob(f".{home.published.name}.*.tmp"):
        leftover.unlink(missing_ok=True)
    copy = home.root / f".{home.published.name}.{os.getpid()}.tmp"
    try:
        shutil.copyfile(home.warehouse, copy)
        os.replace(copy, home.published)
    except OSError as problem:
        copy.unlink(missing_ok=True)
        if problem.errno == errno.ENOSPC:
            size_mb = home.warehouse.stat().st_size // 1_000_000
            raise DiskFull(
                f"no space for the published copy in {home.root}: free {size_mb} MB and run again"
            ) from None
        raise
    return home.published
