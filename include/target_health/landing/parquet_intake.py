"""Opening a Parquet file of the inbox, wherever it lies."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import duckdb

from target_health.config.sources import Source
from target_health.landing.inbox import InboxFile
from target_health.readers import parquet
from target_health.readers.raw import Reading, Refusal
from target_health.readers.recognise import records_reading
from target_health.readers.sql_text import literal


@dataclass(frozen=True, slots=True)
class OpenParquet:
    """A readable Parquet file: its rows, how they are read, and their raw fields as SQL."""

    path: Path
    reading: Reading
    rows: int
    kinds: dict[str, str]

    def raw_sql(self, first: int, last: int) -> str:
        return parquet.raw_sql(self.path, self.reading, self.kinds, (first, last))

    def records_sql(self, first: int, last: int) -> str:
        return parquet.records_sql(self.path, self.kinds, (first, last))


@contextmanager
def open_parquet(
    file: InboxFile, handle: BinaryIO, drafts: Path, source: Source
) -> Iterator[OpenParquet | Refusal]:
    """The file's columns and rows; a remote file is copied for as long as it is read."""
    path = Path(file.path)
    copied = not file.local
    if copied:
        drafts.mkdir(parents=True, exist_ok=True)
        path = drafts / f"{uuid.uuid4().hex}.parquet"
        handle.seek(0)
        with path.open("wb") as copy:
            shutil.copyfileobj(handle, copy, 4 << 20)
    try:
        yield _opened(path, source)
    finally:
        if copied:
            path.unlink(missing_ok=True)


def _opened(path: Path, source: Source) -> OpenParquet | Refusal:
    connection = duckdb.connect(":memory:")
    try:
        connection.execute("SET TimeZone = 'UTC'")
        kinds = parquet.columns_of(connection, path)
        rows = connection.execute(
            f"SELECT count(*) FROM read_parquet({literal(str(path))}, hive_partitioning = false)"
        ).fetchall()[0][0]
        reading = records_reading(connection, path, kinds, source)
        if isinstance(reading, Refusal):
            return Refusal(reading.reason, records=max(rows, 1))
        found = OpenParquet(path, reading, rows, dict(kinds))
        connection.execute(f"SELECT count(line) FROM ({found.raw_sql(0, rows)})").fetchall()
        return found
    except duckdb.Error as problem:
        return Refusal(f"cannot be read as Parquet: {' '.join(str(problem).split())[:200]}")
    finally:
        connection.close()
