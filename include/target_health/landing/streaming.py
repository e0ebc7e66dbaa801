"""The straight way for large files: lines flow from the file into Parquet in one pass.

Good rows never rest in a table. Lines that are no row leave the query at its side, through a
function of ours, and are dealt with afterwards as on the slower way (``Staging``). It is taken
only where rows need not be compared with others: without given event ids, and for a content that
does not begin like another one. Single rows with an id leave at the side too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from duckdb.func import ARROW, SPECIAL

from target_health.landing.hosts import plain_site_sql
from target_health.landing.normalise import REREAD
from target_health.landing.schema import LAKE
from target_health.landing.staging import NO_SITE, FilePart, Staging, Unread, lake_columns
from target_health.readers.lines import LINES_A_BATCH, LineChunk
from target_health.readers.reader import LineReader
from target_health.readers.sql_text import literal

#: Chunks from this size on are streamed; a file of its own in the lake is then worth it.
STREAM_FROM = 4 << 20
#: Lines in one pass: what a killed landing does again, some seconds' work.
STREAM_LINES = 4_000_000
#: Lines at the side in one pass, which are held in memory.
ASIDE_LINES = 100_000
ASIDE_BYTES = 64 << 20

SCHEMA = pa.schema([("line", pa.int64()), ("l", pa.string()), ("key", pa.uint64())])


@dataclass(frozen=True, slots=True)
class Draft:
    """A Parquet file of one part's rows with the lake's columns, not yet part of the lake."""

    path: Path
    part: FilePart


@dataclass
class _Aside:
    """Lines that are no row: ``(line, chain, reason, is_skip, text)``."""

    lines: list[tuple[int, int, str, bool, str]] = field(default_factory=list)
    size: int = 0

    @property
    def full(self) -> bool:
        return len(self.lines) >= ASIDE_LINES or self.size >= ASIDE_BYTES

    def clear(self) -> None:
        self.lines.clear()
        self.size = 0

    def __call__(
        self, line: int, chain: int, reason: str | None, is_skip: bool | None, text: str
    ) -> bool:
        self.lines.append((line, chain, reason or NO_SITE, bool(is_skip), text))
        self.size += len(text)
        return False


class Streaming:
    """Passes of chunks through ``staging``'s database; one at a time."""

    def __init__(self, staging: Staging) -> None:
        self._staging = staging
        self._aside = _Aside()
        connection = staging.connection
        connection.create_function(
            "site_of_key", self._sites, ["VARCHAR"], "VARCHAR", type=ARROW,
            null_handling=SPECIAL,
        )  # fmt: skip
        connection.create_function(
            "aside", self._put_aside, ["BIGINT", "UBIGINT", "VARCHAR", "BOOLEAN", "VARCHAR"],
            "BOOLEAN", null_handling=SPECIAL, side_effects=True,
        )  # fmt: skip

    def _put_aside(
        self, line: int, chain: int, reason: str | None, is_skip: bool | None, text: str
    ) -> bool:
        return self._aside(line, chain, reason, is_skip, text)

    def _sites(self, keys: Any) -> pa.Array:
        """Sites of many site keys, each distinct one looked up once."""
        if isinstance(keys, pa.ChunkedArray):
            keys = keys.combine_chunks()
        distinct = keys.dictionary_encode()
        find = self._staging.finder.find
        known = distinct.dictionary.to_pylist()
        found = [None if key is None else find(key) for key in known]
        return pc.take(pa.array(found, pa.string()), distinct.indices)

    def run(
        self,
        part: FilePart,
        reader: LineReader,
        relation: str,
        chunks: Iterator[LineChunk],
        path: Path,
        landed_at: datetime,
        took: Callable[[LineChunk], None],
    ) -> Draft | None:
        """Write the chunks' rows to ``path``; None when there was no row.

        ``chunks`` ends where the straight way ends; ``took`` is told of each one taken. Lines at
        the side are staged, counted and quarantined before this returns.
        """
        self._aside.clear()
        unreadable: dict[int, tuple[str, str]] = {}
        failure: list[BaseException] = []
        spent = 0

        def batches() -> Iterator[pa.RecordBatch]:
            nonlocal spent
            try:
                for chunk in chunks:
                    for index, reason in chunk.bad.items():
                        line = chunk.first_line + index
                        unreadable[line] = (reason, chunk.text(index))
                    spent += len(chunk)
                    took(chunk)
                    keys = np.full(len(chunk), chunk.after.key, np.uint64)
                    table = chunk.table().append_column("key", pa.array(keys))
                    yield from table.to_batches(max_chunksize=LINES_A_BATCH)
                    if spent >= STREAM_LINES or self._aside.full:
                        return
            except BaseException as problem:  # raised below: DuckDB would turn it into text
                failure.append(problem)

        connection = self._staging.connection
        stream = pa.RecordBatchReader.from_batches(SCHEMA, batches())
        connection.register("chunk_stream", stream)
        self._staging.query(
            "CREATE OR REPLACE TEMP VIEW chunk AS "
            "SELECT line, l, hash(l, key, line) AS chain FROM chunk_stream"
        )
        try:
            sql, parameters = self._staging.typed(part, relation, reader=reader, with_text=True)
            evidence = self._staging.bodies.watcher.evidence("its_site")
            straight = straight_sql(sql, landed_at, self._staging.sites.patterns, evidence)
            rows = self._staging.write(straight, path, parameters)
        finally:
            connection.unregister("chunk_stream")
        if failure:
            raise failure[0]
        again = self._sort_out(part, unreadable)
        self._staging.read_again(part, reader, again)
        if not rows:
            path.unlink(missing_ok=True)
            return None
        [(future,)] = self._staging.query(
            f"SELECT count(*) FROM read_parquet({literal(str(path))}) WHERE ts > $future",
            {"future": self._staging.rules.future},
        )
        part.rows += rows
        part.future += future
        return Draft(path, part)

    def _sort_out(self, part: FilePart, unreadable: dict[int, tuple[str, str]]) -> list[Unread]:
        """Count and quarantine what is at the side; returns what must be read again."""
        again: list[Unread] = []
        for line, chain, reason, is_skip, text in sorted(self._aside.lines):
            if line in unreadable:
                again.append((line, chain, unreadable[line][1], unreadable[line][0]))
            elif reason == REREAD:
                again.append((line, chain, text.rstrip("\r\n"), None))
            elif is_skip:
                part.skipped[reason] += 1
            else:
                part.future += reason == "ts is beyond tomorrow"
                part.quarantine(line, reason, text.rstrip("\r\n"))
        self._aside.clear()
        return again


def straight_sql(
    typed: str, landed_at: datetime, patterns: Iterable[str] = (), evidence: str = "evidence"
) -> str:
    """The lake's columns of typed rows; whatever is no row goes ``aside``.

    Without a join: it would cost as much as all checks together. ``patterns``: of mapped hosts.
    """
    landed = f"TIMESTAMP '{landed_at.isoformat(sep=' ')}'"
    columns = lake_columns(landed, evidence) | {"site": "its_site"}
    selected = ", ".join(f"{columns.get(name, name)} AS {name}" for name in LAKE)
    site = plain_site_sql("site_key", patterns, "site_of_key(site_key)")
    return (
        f"SELECT {selected} FROM (SELECT *, CASE WHEN given_site IS NOT NULL THEN "
        f"lower(given_site) ELSE {site} END AS its_site FROM ({typed})) WHERE "
        "CASE WHEN reason IS NULL AND its_site IS NOT NULL AND event_id IS NULL THEN true "
        "ELSE aside(line, chain, coalesce(reason, CASE WHEN event_id IS NOT NULL THEN "
        f"'{REREAD}' END), is_skip, l) END"
    )
