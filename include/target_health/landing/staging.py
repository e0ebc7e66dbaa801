"""A batch on its way into the lake: an in-memory DuckDB in which lines become typed rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, cast

import duckdb
import numpy as np
import pyarrow as pa

from target_health.config.sites import Sites, normal_host
from target_health.config.sources import BODY_FIELDS, Source
from target_health.landing.bodies import Bodies, Entry, shown
from target_health.landing.hosts import SiteFinder
from target_health.landing.normalise import REREAD, STAGED, Rules, staged_sql
from target_health.landing.quarantine import Spool
from target_health.landing.schema import LAKE
from target_health.landing.verdict_sql import add_functions, verdict_sql
from target_health.readers.lines import LineChunk
from target_health.readers.raw import RAW_FIELDS, Bad, Reading, Row, Skip, page_of
from target_health.readers.reader import LineReader, row_table
from target_health.readers.sql_text import literal

NO_SITE = "no site can be told from url"
DUPLICATE = "duplicate event_id"
LANDED_BEFORE = "landed before"

#: The staging's share of memory; what is more goes to disk.
MEMORY_LIMIT = "700MB"
#: DuckDB's default; larger groups gain nothing and hold more memory.
ROW_GROUP = 122_880


#: Where the text of a line is found; of a record its columns as JSON, by SQL.
Records = str
Texts = LineChunk | dict[int, str] | Records
#: A line for the exact path: number, chain, content, what makes it unreadable.
Unread = tuple[int, int, str | bytes, str | None]


@dataclass
class FilePart:
    """What one file brings to a batch, and the counts of its lines by what became of them.

    ``taken_back`` counts lines, by reason, that were in quarantine and are read again here.
    """

    number: int
    path: str
    source_name: str
    source: Source
    reading: Reading
    modified: datetime
    spool: Spool
    rows: int = 0
    future: int = 0
    twin: bool = False
    skipped: Counter[str] = field(default_factory=Counter)
    quarantined: Counter[str] = field(default_factory=Counter)
    taken_back: Counter[str] = field(default_factory=Counter)
    remarks: Counter[str] = field(default_factory=Counter)

    @property
    def lines(self) -> int:
        return self.rows + self.skipped.total() + self.quarantined.total()

    def quarantine(self, line: int, reason: str, raw: str) -> None:
        self.quarantined[reason] += 1
        self.spool.add(source=self.source_name, file=self.path, line=line, reason=reason, raw=raw)


class Staging:
    """Rows of the batch in the table ``staged``; emptied after each commit."""

    def __init__(
        self, rules: Rules, sites: Sites, bodies: Bodies, spill: Path | None = None
    ) -> None:
        self.rules = rules
        self.bodies = bodies
        self.connection = duckdb.connect(":memory:")
        self.connection.execute(f"SET memory_limit = '{MEMORY_LIMIT}'")
        if spill is not None:
            self.connection.execute("SET temp_directory = ?", [str(spill)])
        self.connection.execute("SET TimeZone = 'UTC'")
        self._timezone = "UTC"
        add_functions(self.connection)
        self.sites = sites
        self.finder = SiteFinder(normal_host, sites.site_of)
        self._sited: set[str] = set()
        self.connection.execute("CREATE TABLE site_of (site_key VARCHAR, site VARCHAR)")
        self.connection.execute(f"CREATE TABLE staged ({STAGED})")
        self.rows = 0
        self._ready = ""

    def close(self) -> None:
        self.connection.close()

    def clear(self) -> None:
        self.connection.execute(f"CREATE OR REPLACE TABLE staged ({STAGED})")
        self.rows = 0

    def query(self, sql: str, parameters: Any = None) -> list[tuple[Any, ...]]:
        """All rows of a query: a result left open would block the next statement."""
        return self.connection.execute(sql, parameters).fetchall()

    def arrow(self, sql: str) -> pa.Table:
        return self.connection.sql(sql).to_arrow_table()

    # Version 2 encodes increasing numbers and like texts shorter; level 1 then compresses as well
    # as the default level, in less time.
    def write(self, sql: str, path: Path, parameters: Any = None) -> int:
        """Write a query's rows as a Parquet file; returns how many."""
        [(rows,)] = self.query(
            f"COPY ({sql}) TO {literal(str(path))} "
            f"(FORMAT parquet, PARQUET_VERSION v2, COMPRESSION zstd, COMPRESSION_LEVEL 1, "
            f"ROW_GROUP_SIZE {ROW_GROUP})",
            parameters,
        )
        return int(rows)

    def add_lines(
        self,
        part: FilePart,
        reader: LineReader,
        chunk: LineChunk,
        only: np.ndarray | None = None,
    ) -> None:
        """Stage a chunk of lines, or ``only`` those of these numbers."""
        first, last = chunk.first_line, chunk.last_line
        self.connection.register("chunk_lines", chunk.table())
        self.query(
            "CREATE OR REPLACE TEMP VIEW chunk AS "
            f"SELECT line, l, {chunk.chain_sql} AS chain FROM chunk_lines"
        )
        relation = reader.relation(self.connection, chunk)
        again: Iterable[tuple[int, int]]
        if relation is None:
            again = zip(range(first, last + 1), chunk.chains(self.connection), strict=True)
            if only is not None:
                wanted = set(only.tolist())
                again = [(line, chain) for line, chain in again if line in wanted]
        else:
            self._insert_looked_at(part, self._only(relation, only), reader)
            again = self._marked(part, chunk, first, last)
        self.connection.unregister("chunk_lines")
        reader.release(self.connection)
        texts: list[Unread] = []
        for line, chain in again:
            index = line - first
            texts.append((line, int(chain), chunk.content(index), chunk.bad.get(index)))
        self._read_exactly(part, reader, texts)
        self._judge(part, first, last, chunk)

    def read_again(self, part: FilePart, reader: LineReader, lines: Sequence[Unread]) -> None:
        """Stage single lines by the exact path."""
        if not lines:
            return
        self._read_exactly(part, reader, lines)
        texts = {line: shown(content) for line, _, content, _ in lines}
        self._judge(part, lines[0][0], lines[-1][0], texts)

    def add_records(
        self,
        part: FilePart,
        relation: str,
        first: int,
        last: int,
        chain: int,
        records: Records,
        only: np.ndarray | None = None,
    ) -> None:
        """Stage rows [first, last] of a file of records; ids are made from ``chain`` and row.

        ``records`` is a SELECT of all the file's own columns as JSON: ``line``, ``record``.
        ``only``: just the rows of these numbers.
        """
        relation = self._only(relation, only)
        identified = f"SELECT * REPLACE (hash({chain}::UBIGINT, line) AS chain) FROM ({relation})"
        self._insert_looked_at(part, identified)
        self._judge(part, first, last, records)

    def _only(self, relation: str, lines: np.ndarray | None) -> str:
        """A relation's rows, or only those of these line numbers."""
        if lines is None:
            return relation
        self.connection.register("only_lines", pa.table({"line": lines}))
        return f"SELECT * FROM ({relation}) WHERE line IN (SELECT line FROM only_lines)"

    def discard(self, part: FilePart) -> None:
        """Take a file out of the batch again."""
        self.query("DELETE FROM staged WHERE file_number = ?", [part.number])
        part.spool.drop()

    def typed(
        self,
        part: FilePart,
        relation: str,
        *,
        reader: LineReader | None = None,
        with_text: bool = False,
    ) -> tuple[str, dict[str, Any]]:
        """A SELECT of ``STAGED`` over raw fields, and its parameters; sets the time zone."""
        if part.source.timezone != self._timezone:
            self.query(f"SET TimeZone = '{part.source.timezone}'")
            self._timezone = part.source.timezone
        sql = staged_sql(
            relation,
            reading=part.reading,
            source_name=part.source_name,
            source=part.source,
            rules=self.rules,
            file_number=part.number,
            numbers=reader.numbers if reader else frozenset(),
            typed_ts=bool(reader and reader.typed_ts),
            with_text=with_text,
        )
        parameters: dict[str, Any] = {
            "latest": self.rules.latest,
            "earliest": datetime.combine(self.rules.sources.earliest, datetime.min.time()),
        }
        if part.reading.ts_from_file:
            parameters["file_time"] = part.modified
        return sql, parameters

    def _insert(self, part: FilePart, relation: str, reader: LineReader | None = None) -> None:
        sql, parameters = self.typed(part, relation, reader=reader)
        self.query(f"INSERT INTO staged BY NAME {sql}", parameters)

    def _insert_looked_at(
        self, part: FilePart, relation: str, reader: LineReader | None = None
    ) -> None:
        """Insert a relation of raw fields; rows with a page by way of ``bodies``."""
        held = [name for name in BODY_FIELDS if name in part.reading.columns]
        if part.reading.format not in ("csv", "parquet") or not held:
            self._insert(part, relation, reader)
            return
        has_page = " OR ".join(f"{name} IS NOT NULL" for name in held if name != "headers")
        if not has_page:
            self._insert(part, relation, reader)
            return
        names = (*RAW_FIELDS, *held)
        self._insert(part, f"SELECT * FROM ({relation}) WHERE reread OR NOT ({has_page})")
        found = self.query(
            f"SELECT line, chain, {', '.join(f'{name}::VARCHAR' for name in names)} "
            f"FROM ({relation}) WHERE NOT reread AND ({has_page})"
        )
        entries: Iterable[Entry] = (
            (line, chain, "", Row(fields, page_of(fields)))
            for line, chain, *values in found
            for fields in [dict(zip(names, values, strict=True))]
        )
        self._insert_rows(
            part,
            [
                (line, chain, outcome.fields)
                for line, chain, _, outcome in self.bodies.looked_at(part, entries)
                if isinstance(outcome, Row)
            ],
        )

    def _insert_rows(
        self, part: FilePart, rows: list[tuple[int, int, dict[str, str | None]]]
    ) -> None:
        if rows:
            self.connection.register("rows_again", row_table(rows))
            self._insert(part, "SELECT * FROM rows_again")
            self.connection.unregister("rows_again")

    def _marked(
        self, part: FilePart, chunk: LineChunk, first: int, last: int
    ) -> list[tuple[int, int]]:
        """Lines that the exact path must read."""
        if chunk.bad:
            self.query(
                f"UPDATE staged SET reason = '{REREAD}' WHERE file_number = ? "
                "AND line IN (SELECT unnest(?))",
                [part.number, [index + first for index in chunk.bad]],
            )
        return cast(
            list[tuple[int, int]],
            self.query(
                "SELECT line, chain FROM staged WHERE file_number = ? AND line BETWEEN ? AND ? "
                f"AND reason = '{REREAD}' ORDER BY line",
                [part.number, first, last],
            ),
        )

    def _read_exactly(self, part: FilePart, reader: LineReader, lines: Sequence[Unread]) -> None:
        rows: list[tuple[int, int, dict[str, str | None]]] = []
        read = (
            (line, chain, content, Bad(problem) if problem else reader.row(content))  # type: ignore[arg-type]
            for line, chain, content, problem in lines
        )
        for line, chain, content, outcome in self.bodies.looked_at(part, read):
            if isinstance(outcome, Row):
                rows.append((line, chain, outcome.fields))
            elif isinstance(outcome, Skip):
                part.skipped[outcome.reason] += 1
            elif not reader.is_header(line):
                part.quarantine(line, outcome.reason, shown(content))
        self._insert_rows(part, rows)

    def _judge(self, part: FilePart, first: int, last: int, texts: Texts) -> None:
        """Count what was staged, quarantine what does not fit, find the sites."""
        where = "file_number = $number AND line BETWEEN $first AND $last"
        about = {"number": part.number, "first": first, "last": last}
        [(rows, wrong, future)] = self.query(
            "SELECT count(*), count(reason), count(*) FILTER (ts > $future "
            "AND (reason IS NULL OR reason = 'ts is beyond tomorrow')) FROM staged "
            f"WHERE {where} AND reason IS DISTINCT FROM '{REREAD}'",
            {**about, "future": self.rules.future},
        )
        part.future += future
        part.rows += rows - wrong
        self.rows += rows
        if wrong:
            found = self.query(
                f"SELECT line, reason, is_skip FROM staged WHERE {where} "
                f"AND reason <> '{REREAD}' ORDER BY line",
                about,
            )
            raw = self._texts(texts, [line for line, _, is_skip in found if not is_skip])
            for line, reason, is_skip in found:
                if is_skip:
                    part.skipped[reason] += 1
                else:
                    part.quarantine(line, reason, self._raw(raw, line))
        keys = self.query(
            f"SELECT DISTINCT site_key FROM staged WHERE {where} AND reason IS NULL "
            "AND given_site IS NULL",
            about,
        )
        nowhere: list[str] = []
        new: list[tuple[str, str]] = []
        for (key,) in keys:
            site = self.finder.find(key)
            if site is None:
                nowhere.append(key)
            elif key not in self._sited:
                self._sited.add(key)
                new.append((key, site))
        self._remember_sites(new)
        if nowhere:
            self._nowhere(part, where, about, nowhere, texts)

    def _remember_sites(self, new: list[tuple[str, str]]) -> None:
        if not new:
            return
        keys, sites = zip(*new, strict=True)
        self.connection.register("new_sites", pa.table({"k": list(keys), "s": list(sites)}))
        self.query("INSERT INTO site_of SELECT k, s FROM new_sites")
        self.connection.unregister("new_sites")

    def _nowhere(
        self,
        part: FilePart,
        where: str,
        about: dict[str, Any],
        keys: list[str],
        texts: Texts,
    ) -> None:
        self.connection.register("nowhere", pa.table({"k": pa.array(keys, pa.string())}))
        condition = (
            f"{where} AND reason IS NULL AND given_site IS NULL "
            "AND site_key IN (SELECT k FROM nowhere)"
        )
        lines = self.query(f"SELECT line FROM staged WHERE {condition} ORDER BY line", about)
        self.query(f"UPDATE staged SET reason = '{NO_SITE}' WHERE {condition}", about)
        self.connection.unregister("nowhere")
        raw = self._texts(texts, [line for (line,) in lines])
        for (line,) in lines:
            part.rows -= 1
            part.quarantine(line, NO_SITE, self._raw(raw, line))

    def _texts(self, texts: Texts, lines: list[int]) -> LineChunk | dict[int, str]:
        """Where the texts of these lines are."""
        if not isinstance(texts, Records):
            return texts
        return dict(
            self.query(
                f"SELECT line, record FROM ({texts}) WHERE line IN (SELECT unnest(?))", [lines]
            )
        )

    @staticmethod
    def _raw(texts: LineChunk | dict[int, str], line: int) -> str:
        """The line as it came; of a record file its columns as JSON."""
        if isinstance(texts, LineChunk):
            return texts.text(line - texts.first_line)
        return texts[line]

    def ready(self, landed_at: datetime, *, checked: bool) -> None:
        """Make ``ready``: the lake's rows with their hour, file and line.

        A view over ``staged`` in the order of the log where that is enough; a table by hours and
        sites where rows lie in several hours, or must be ``checked`` for duplicates first.
        """
        [(hours,)] = self.query(
            "SELECT count(DISTINCT date_trunc('hour', ts)) FROM staged WHERE reason IS NULL"
        )
        sql = ready_sql(f"TIMESTAMP '{landed_at.isoformat(sep=' ')}'")
        if hours > 1 or checked:
            self.query(f"CREATE TEMP TABLE ready AS {sql} ORDER BY hour_start, site, ts")
            self._ready = "TABLE"
        else:
            self.query(f"CREATE TEMP VIEW ready AS {sql}")
            self._ready = "VIEW"

    def drop_ready(self) -> None:
        if self._ready:
            self.query(f"DROP {self._ready} ready")
        self._ready = ""

    def has_given_ids(self) -> bool:
        return bool(
            self.query("SELECT 1 FROM staged WHERE event_id IS NOT NULL AND reason IS NULL LIMIT 1")
        )


def lake_columns(landed_at: str) -> dict[str, str]:
    """The lake's columns that are not simply those of typed rows, as SQL."""
    return {
        "event_id": "coalesce(event_id, to_hex(chain))",
        "verdict": verdict_sql("status", "error", "evidence", "has_item_value"),
        "landed_at": landed_at,
    }


def ready_sql(landed_at: str) -> str:
    """Staged rows without a reason, as the lake's columns plus hour, file and line."""
    columns = {**lake_columns(landed_at), "site": "coalesce(lower(given_site), site)"}
    selected = ", ".join(f"{columns.get(name, name)} AS {name}" for name in LAKE)
    return (
        f"SELECT {selected}, date_trunc('hour', ts) AS hour_start, file_number, line, "
        "event_id IS NOT NULL AS id_was_given "
        "FROM staged LEFT JOIN site_of USING (site_key) WHERE reason IS NULL"
    )
