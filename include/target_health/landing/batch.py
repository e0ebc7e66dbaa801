"""One batch: rows of several files, made visible in one transaction or not at all."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import duckdb
import pyarrow as pa

from target_health.landing.duplicates import drop_duplicates, needed, remember
from target_health.landing.lake import (
    announce,
    check_space,
    full_disk_is_one_line,
    journal,
    publish,
    sync_directory,
    undo_unfinished,
)
from target_health.landing.ledger import Ledger
from target_health.landing.quarantine import Spool
from target_health.landing.report import LandingReport
from target_health.landing.schema import LAKE
from target_health.landing.staging import FilePart, Staging
from target_health.paths import Home
from target_health.readers.sql_text import literal

#: Rows a row group: DuckDB's default; a site's rows lie in few of them.
ROW_GROUP = 122_880


@dataclass
class Batch:
    """Parts of files with what the ledger is to say of them once they are visible."""

    parts: list[FilePart] = field(default_factory=list)
    spools: list[tuple[str, Spool]] = field(default_factory=list)
    entries: list[Callable[[Ledger], None]] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    log_bytes: int = 0

    @property
    def empty(self) -> bool:
        return not (self.parts or self.entries)


@dataclass(frozen=True, slots=True)
class LakeFile:
    draft: Path
    path: Path
    hour_start: datetime
    rows: int
    source: str | None


def commit(
    home: Home,
    warehouse: duckdb.DuckDBPyConnection,
    *,
    ledger: Ledger,
    staging: Staging,
    batch: Batch,
    report: LandingReport,
    now: datetime,
    free_space_factor: float,
) -> None:
    """Write the batch's files, then make them and the ledger's entries visible together.

    Killed before the commit, nothing of it exists (the journal names what to remove); after it,
    everything does. Raises ``DiskFull`` and leaves nothing behind when there is no room.
    """
    if batch.empty:
        return
    home.work.mkdir(parents=True, exist_ok=True)
    files: list[LakeFile] = []
    try:
        with full_disk_is_one_line(home):
            check_space(home, batch.log_bytes, free_space_factor)
            keys = None
            if staging.rows:
                checked = needed(staging, batch.parts)
                staging.ready(now, checked=checked)
                if checked:
                    keys = drop_duplicates(home, warehouse, staging, batch.parts)
                files = _planned(home, staging, now)
            kept = [(name, spool) for name, spool in batch.spools if spool.lines]
            if files or kept or batch.replaced:
                announce(
                    home,
                    [path for file in files for path in (file.draft, file.path)]
                    + [path for _, spool in kept for path in (spool.draft, spool.path)]
                    + [home.root / path for path in batch.replaced],
                )
            for file in files:
                _write(staging, file)
            for _, spool in kept:
                spool.keep()
            written = [file.path for file in files] + [spool.path for _, spool in kept]
            for directory in {path.parent for path in written}:
                sync_directory(directory)
            with _transaction(warehouse):
                _enter(
                    Entries(home, warehouse, now),
                    files=files,
                    hours=staging.arrow(SITE_HOURS) if files else None,
                    kept=kept,
                    batch=batch,
                )
                remember(warehouse, keys, now)
                for entry in batch.entries:
                    entry(ledger)
    except BaseException:
        with suppress(duckdb.Error, OSError):  # else the next landing does it
            undo_unfinished(home, warehouse)
        raise
    for path in batch.replaced:
        (home.root / path).unlink(missing_ok=True)
    journal(home).unlink(missing_ok=True)
    for part in batch.parts:
        source = report.source(part.source_name)
        source.rows += part.rows
        source.skipped.update(part.skipped)
        source.quarantined.update(part.quarantined)
    staging.drop_ready()
    staging.clear()


def _planned(home: Home, staging: Staging, now: datetime) -> list[LakeFile]:
    name = f"{now:%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:12]}.parquet"
    files = []
    for hour, rows, source in staging.query(
        "SELECT hour_start, count(*), CASE WHEN min(source) = max(source) THEN min(source) END "
        "FROM ready GROUP BY hour_start ORDER BY hour_start"
    ):
        directory = home.lake / f"date={hour:%Y-%m-%d}" / f"hour={hour:%H}"
        directory.mkdir(parents=True, exist_ok=True)
        files.append(LakeFile(directory / f".{name}.tmp", directory / name, hour, rows, source))
    return files


def _write(staging: Staging, file: LakeFile) -> None:
    staging.query(
        f"COPY (SELECT {', '.join(LAKE)} FROM ready WHERE hour_start = $hour) "
        f"TO {literal(str(file.draft))} "
        f"(FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {ROW_GROUP})",
        {"hour": file.hour_start},
    )
    publish(file.draft, file.path)


SITE_HOURS = "SELECT DISTINCT site, hour_start FROM ready"


@contextmanager
def _transaction(warehouse: duckdb.DuckDBPyConnection) -> Iterator[None]:
    warehouse.execute("BEGIN")
    try:
        yield
        warehouse.execute("COMMIT")
    except BaseException:
        with suppress(duckdb.Error):  # a failed commit has ended the transaction already
            warehouse.execute("ROLLBACK")
        raise


@dataclass(frozen=True, slots=True)
class Entries:
    """Where and under which time a batch is entered."""

    home: Home
    warehouse: duckdb.DuckDBPyConnection
    now: datetime

    def relative(self, path: Path) -> str:
        return path.relative_to(self.home.root).as_posix()

    def insert(self, table: str, *values: object) -> None:
        marks = ", ".join("?" for _ in values)
        self.warehouse.execute(f"INSERT INTO {table} VALUES ({marks})", list(values))


def _enter(
    entries: Entries,
    *,
    files: list[LakeFile],
    hours: pa.Table | None,
    kept: list[tuple[str, Spool]],
    batch: Batch,
) -> None:
    """Inside the one transaction: the files, the site-hours, the quarantine, the counts."""
    warehouse, now = entries.warehouse, entries.now
    for file in files:
        size = file.path.stat().st_size
        path = entries.relative(file.path)
        entries.insert("lake_files", path, file.hour_start, file.source, file.rows, size, now)
    if hours is not None:
        warehouse.register("new_hours", hours)
        warehouse.execute(
            "INSERT INTO landed_hours SELECT site, hour_start FROM new_hours "
            "ANTI JOIN landed_hours USING (site, hour_start)"
        )
        warehouse.unregister("new_hours")
    gone = batch.replaced + [entries.relative(spool.path) for _, spool in kept]
    for path in gone:
        warehouse.execute("DELETE FROM quarantine_files WHERE path = ?", [path])
    for name, spool in kept:
        entries.insert("quarantine_files", entries.relative(spool.path), name, spool.lines, now)
    for part in batch.parts:
        counts: list[tuple[str, str | None, int]] = [("row", None, part.rows)]
        counts += [("skipped", reason, count) for reason, count in part.skipped.items()]
        counts += [("quarantined", reason, count) for reason, count in part.quarantined.items()]
        for outcome, reason, count in counts:
            if count:
                entries.insert("landing_counts", now, part.source_name, outcome, reason, count)
