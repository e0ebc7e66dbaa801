"""The published database: a whole copy, put in place of the last one in one step."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import duckdb

from target_health.errors import DiskFull
from target_health.paths import Home

COPIED_BYTES = 1 << 20
#: What the system copies in one call, which a signal does not end.
SYSTEM_BYTES = 1 << 26


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
        copy_whole(home.warehouse, copy)
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


def copy_whole(source: Path, target: Path) -> None:
    """Copy a file into space that is taken first: a full disk is known before a byte is written,
    and a file system that puts off finding room does not make the replacement wait for it.
    """
    with source.open("rb") as original, target.open("wb") as copy:
        size = os.fstat(original.fileno()).st_size
        if size and hasattr(os, "posix_fallocate"):
            try:
                os.posix_fallocate(copy.fileno(), 0, size)
            except OSError as problem:
                if problem.errno == errno.ENOSPC:
                    raise
        if not copied_by_system(original.fileno(), copy.fileno(), size):
            original.seek(0)
            copy.seek(0)
            shutil.copyfileobj(original, copy, COPIED_BYTES)


def copied_by_system(original: int, copy: int, size: int) -> bool:
    """Whether the system copied ``size`` bytes between two descriptors by itself.

    That takes half the time, and none where the file system lets files share blocks. Not every
    system and file system can do it.
    """
    if not hasattr(os, "copy_file_range"):
        return False
    while size:
        try:
            done = os.copy_file_range(original, copy, min(size, SYSTEM_BYTES))
        except OSError as problem:
            if problem.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
                raise
            return False
        if not done:
            return False
        size -= done
    return True
