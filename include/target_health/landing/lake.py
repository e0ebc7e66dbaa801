"""Writing the lake: complete files only, and a journal that lets a killed landing be undone."""

from __future__ import annotations

import errno
import os
import shutil
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from target_health.errors import DiskFull
from target_health.paths import Home

#: Room that is always left: the warehouse's commit and the published copy need some too.
RESERVE = 16 << 20
#: Parquet bytes a decompressed log byte, from above (measured: 0.06 to 0.15).
LAKE_SHARE = 0.25


def journal(home: Home) -> Path:
    """Names the files that a batch is writing; gone when it is committed."""
    return home.work / "landing.journal"


def drafts(home: Home) -> Path:
    """Files that are being written and never survive a landing."""
    return home.work / "landing-drafts"


def new_draft(home: Home) -> Path:
    drafts(home).mkdir(parents=True, exist_ok=True)
    return drafts(home) / f"{uuid.uuid4().hex}.parquet"


def announce(home: Home, paths: Iterable[Path]) -> None:
    """Write down, durably, which files are about to appear."""
    draft = journal(home).with_suffix(".tmp")
    with draft.open("w", encoding="utf-8") as file:
        file.writelines(f"{path.relative_to(home.root)}\n" for path in paths)
        file.flush()
        os.fsync(file.fileno())
    os.replace(draft, journal(home))
    sync_directory(home.work)


def undo_unfinished(home: Home, connection: duckdb.DuckDBPyConnection) -> None:
    """Remove what a killed landing left: drafts, announced files that were never committed."""
    shutil.rmtree(drafts(home), ignore_errors=True)
    if not journal(home).exists():
        return
    listed = {
        path
        for (path,) in connection.execute(
            "SELECT path FROM lake_files UNION ALL SELECT path FROM quarantine_files"
        ).fetchall()
    }
    for name in journal(home).read_text(encoding="utf-8").splitlines():
        if name not in listed:
            (home.root / name).unlink(missing_ok=True)
    journal(home).unlink()


def publish(draft: Path, path: Path) -> None:
    """Make a written file durable under its final name."""
    descriptor = os.open(draft, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.replace(draft, path)


def sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def check_space(home: Home, log_bytes: int, factor: float) -> None:
    """Stop before harm: ``DiskFull`` when a batch of this size might not fit."""
    home.root.mkdir(parents=True, exist_ok=True)
    needed = int(log_bytes * LAKE_SHARE * factor) + RESERVE
    free = shutil.disk_usage(home.root).free
    if free < needed:
        raise DiskFull(
            f"{home.root}: {free >> 20} MiB are free, landing needs {needed >> 20} MiB: "
            "make room and run it again; nothing was lost"
        )


@contextmanager
def full_disk_is_one_line(home: Home) -> Iterator[None]:
    """Turn "no space left" of Python and DuckDB into ``DiskFull``."""
    try:
        yield
    except (OSError, duckdb.Error) as problem:
        text = str(problem)
        if (
            getattr(problem, "errno", None) in (errno.ENOSPC, errno.EDQUOT)
            or "No space left" in text
            or "Disk quota exceeded" in text
        ):
            raise DiskFull(
                f"{home.root}: the disk is full: make room and run it again; "
                "what had not landed completely was taken back"
            ) from None
        raise
