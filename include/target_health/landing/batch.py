"""One batch: rows of several files, made visible in one transaction or not at all."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
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
from target_health.landing.streaming import Draft
from target_health.paths import Home
from target_health.readers.sql_text import literal
from target_health.times import HOUR


@dataclass
class Batch:
    """Parts of files with what the ledger is to say of them once they are visible."""

    parts: list[FilePart] = field(default_factory=list)
    spools: list[tuple[str, Spool]] = field(default_factory=list)
    entries: list[Callable[[Ledger], None]] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    drafts: list[Draft] = field(default_factory=list)
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
    sql: str | None  # None: the draft is written already


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
            keys = _plan(home, warehouse, staging, batch, files, now)
            hours = _site_hours(staging, batch.drafts)
            kept = [(source, spool) for source, spool in batch.spools if spool.lines]
            if files or kept or batch.replaced:
                announce(
                    home,
                    [path for file in files for path in (file.draft, file.path)]
                    + [path for _, spool in kept for path in (spool.draft, spool.path)]
                    + [home.root / path for path in batch.replaced],
                )
            for file in files:
                if file.sql is not None:
                    staging.write(file.sql, file.draft)
                publish(file.draft, file.path)
            for _, spool in kept:
                spool.keep()
            written = [file.path for file in files] + [spool.path for _, spool in kept]
            for directory in {path.parent for path in written}:
                sync_directory(directory)
            with _transaction(warehouse):
                _enter(
                    Entries(home, warehouse, now),
                    files=files,
                    hours=hours,
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
        source.remarks.update(part.remarks)
    for draft in batch.drafts:
        draft.path.unlink(missing_ok=True)
    staging.drop_ready()
    staging.clear()


def _plan(
    home: Home,
    warehouse: duckdb.DuckDBPyConnection,
    staging: Staging,
    batch: Batch,
    files: list[LakeFile],
    now: datetime,
) -> pa.Table | None:
    """Add the lake files that the batch makes to ``files``; returns the keys of its given ids."""
    name = f"{now:%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:12]}"
    for place, draft in enumerate(batch.drafts):
        files += _from_draft(home, staging, draft, f"{name}-{place}")
    if not staging.rows:
        return None
    checked = needed(staging, batch.parts)
    staging.ready(now, checked=checked)
    keys = drop_duplicates(home, warehouse, staging, batch.parts) if checked else None
    files += _from_ready(home, staging, name)
    return keys


def _lake_file(
    home: Home, hour: datetime, name: str, rows: int, source: str | None, sql: str
) -> LakeFile:
    directory = home.lake / f"date={hour:%Y-%m-%d}" / f"hour={hour:%H}"
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{name}.parquet"
    return LakeFile(directory / f".{name}.tmp", path, hour, rows, source, sql)


def _from_draft(home: Home, staging: Staging, draft: Draft, name: str) -> list[LakeFile]:
    """The lake files of a draft: itself when it is of one hour, else a part for each."""
    rows = f"read_parquet({literal(str(draft.path))})"
    files = [
        _lake_file(
            home,
            hour,
            name,
            count,
            draft.part.source_name,
            f"SELECT {', '.join(LAKE)} FROM {rows} WHERE ts >= TIMESTAMP '{hour}' "
            f"AND ts < TIMESTAMP '{hour + HOUR}'",
        )
        for hour, count in staging.query(
            f"SELECT date_trunc('hour', ts) AS hour, count(*) FROM {rows} GROUP BY 1 ORDER BY 1"
        )
    ]
    return [replace(files[0], draft=draft.path, sql=None)] if len(files) == 1 else files


def _from_ready(home: Home, staging: Staging, name: str) -> list[LakeFile]:
    return [
        _lake_file(
            home,
            hour,
            name,
            count,
            source,
            f"SELECT {', '.join(LAKE)} FROM ready WHERE hour_start = TIMESTAMP '{hour}'",
        )
        for hour, count, source in staging.query(
            "SELECT hour_start, count(*), "
            "CASE WHEN min(source) = max(source) THEN min(source) END "
            "FROM ready GROUP BY hour_start ORDER BY hour_start"
        )
    ]


def _site_hours(staging: Staging, drafts: list[Draft]) -> pa.Table | None:
    """The distinct sites and hours of the batch's rows."""
    parts = ["SELECT site, hour_start FROM ready"] if staging.rows else []
    parts += [
        f"SELECT site, date_trunc('hour', ts) AS hour_start "
        f"FROM read_parquet({literal(str(draft.path))})"
        for draft in drafts
    ]
    if not parts:
        return None
    return staging.arrow(f"SELECT DISTINCT * FROM ({' UNION ALL '.join(parts)})")


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
        counts += [("quarantined", reason, -count) for reason, count in part.taken_back.items()]
        for outcome, reason, count in counts:
            if count:
                entries.insert("landing_counts", now, part.source_name, outcome, reason, count)
