"""CSV with a header: Arrow for whole chunks, Python for the chunks that Arrow refuses.

A quoted field may hold line ends; such a record counts as one line, the first of its lines. A
quote that is never closed spoils its own line, not the rest of the file.
"""

from __future__ import annotations

import csv
import io
from contextlib import suppress

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv

from target_health.config.sources import BODY_FIELDS
from target_health.readers.lines import LineChunk, whole_lines
from target_health.readers.numbers import with_point, with_point_sql
from target_health.readers.raw import (
    NULL_WORDS,
    NUMERIC,
    RAW_FIELDS,
    Bad,
    Outcome,
    Reading,
    Row,
    Skip,
    page_of,
)
from target_health.readers.reader import LineReader
from target_health.readers.sql_text import literal

#: A quoted field reaches over at most this many lines; a quote open for longer is a stray one.
MAX_RECORD_LINES = 1000
MAX_RECORD_BYTES = 1 << 20
#: The same for logs with page bodies.
MAX_BODY_LINES = 100_000
MAX_BODY_BYTES = 16 << 20
QUOTE = b'"'
CONTINUED = "continued"  # a later line of a record that is counted at its first


class CsvLines(LineReader):
    def __init__(self, reading: Reading) -> None:
        super().__init__(reading)
        has_bodies = "body" in reading.columns
        self._max_lines = MAX_BODY_LINES if has_bodies else MAX_RECORD_LINES
        self._max_bytes = MAX_BODY_BYTES if has_bodies else MAX_RECORD_BYTES
        self._names = [f"c{index}" for index in range(len(reading.header))]
        index = {name: place for place, name in enumerate(reading.header)}
        self._places = {
            field.replace(".", "_"): (index[column.path[0]], column.factor)
            for field, column in reading.columns.items()
            if column.path[0] in index
        }
        clock = reading.columns["ts"].clock if "ts" in reading.columns else ()
        self._clock = index.get(clock[0]) if clock else None

    def is_header(self, line: int) -> bool:
        return line <= self.reading.header_lines

    def _headers_in(self, chunk: LineChunk) -> int:
        return min(max(self.reading.header_lines + 1 - chunk.first_line, 0), len(chunk))

    def count(self, chunk: LineChunk) -> int:
        first = self._headers_in(chunk)
        records = self._records(chunk, first)
        return len(chunk) - first if records is None else len(records)

    def cut(self, data: bytes, start: int) -> int:
        end = whole_lines(data, start)
        if not end or data.count(QUOTE, 0, end) % 2 == 0:
            return end
        closing = end
        for _ in range(self._max_lines):  # inside quotes: the record goes on
            following = whole_lines(data, closing)
            if not following:
                return 0 if len(data) - end < self._max_bytes else end
            odd = data.count(QUOTE, closing, following) % 2
            closing = following
            if odd:
                return closing
        return end

    def finished(self, data: bytes) -> int:
        if data.count(QUOTE) % 2 == 0:
            return len(data)
        end = len(data)
        for _ in range(self._max_lines):  # back to the line that opened the quote
            start = data.rfind(b"\n", 0, end - 1) + 1
            if data.count(QUOTE, start, end) % 2:
                return start
            if start == 0 or len(data) - start > self._max_bytes:
                break
            end = start
        return len(data)

    def relation(self, connection: duckdb.DuckDBPyConnection, chunk: LineChunk) -> str | None:
        table = self._table(chunk, chunk.chains(connection))
        connection.register("csv_chunk", table)
        fields = []
        for name in (*RAW_FIELDS, *(name for name in BODY_FIELDS if name in self._places)):
            if name not in self._places:
                fields.append(f"NULL::VARCHAR AS {name}")
                continue
            place, factor = self._places[name]
            value = f"c{place}"
            if name in NUMERIC:
                words = ", ".join(literal(word) for word in sorted(NULL_WORDS))
                value = f"CASE WHEN lower(trim({value})) NOT IN ({words}) THEN {value} END"
                if self.reading.decimal_comma:
                    value = with_point_sql(f"c{place}").join(
                        (f"CASE WHEN {value} IS NOT NULL THEN ", " END")
                    )
            elif name == "item":
                value = f"nullif(nullif(trim({value}), ''), 'null')"
            else:
                value = f"nullif({value}, '')"
            if name == "ts" and self._clock is not None:
                value = f"{value} || ' ' || c{self._clock}"
            if factor != 1.0:
                value = (
                    f"coalesce(CAST(TRY_CAST({value} AS DOUBLE) * {factor!r} AS VARCHAR), {value})"
                )
            fields.append(f"{value} AS {name}")
        return f"SELECT line, chain, reread, {', '.join(fields)} FROM csv_chunk"

    def release(self, connection: duckdb.DuckDBPyConnection) -> None:
        connection.unregister("csv_chunk")

    def row(self, text: str) -> Outcome:
        """Only lines that are no record come here; they are named, not read."""
        if not text.strip("\0 \t\r\n\ufeff"):
            return Skip("blank line")
        if text.lstrip().startswith("#"):
            return Skip("comment")
        values = self._values(text)
        if values is None:
            return Bad("a quote is not closed")
        if values == list(self.reading.header):
            return Skip("header again")
        if len(values) != len(self._names):
            return Bad("the line has more or fewer fields than the header")
        fields: dict[str, str | None] = {}
        for name, (place, factor) in self._places.items():
            value: str | None = values[place]
            if (
                (name in NUMERIC and value is not None and value.strip().lower() in NULL_WORDS)
                or value == ""
                or (name == "item" and (value or "").strip() in ("", "null"))
            ):
                value = None
            elif name in NUMERIC and value is not None and self.reading.decimal_comma:
                value = with_point(value)
            if name == "ts" and value is not None and self._clock is not None:
                value = f"{value} {values[self._clock]}"
            if factor != 1.0 and value is not None:
                with suppress(ValueError):
                    value = repr(float(value) * factor)
            fields[name] = value
        return Row(fields, page_of(fields))

    def _values(self, text: str) -> list[str] | None:
        """The record's fields; None when its quotes do not close."""
        if text.count('"') % 2:
            return None
        try:
            rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=self.reading.delimiter))
        except csv.Error:
            return None
        return rows[0] if len(rows) == 1 else None

    def _table(self, chunk: LineChunk, chains: np.ndarray) -> pa.Table:
        """Columns ``c0…`` with ``line``, ``chain``, ``reread``: a row a record."""
        first = self._headers_in(chunk)
        records = self._records(chunk, first)
        starts = [start for start, _ in records] if records is not None else None
        data = memoryview(chunk.data)[int(chunk.offsets[first]) :]
        if records is None and len(chunk) > first:
            try:
                table = self._arrow(data)
                if table.num_rows == len(chunk) - first:
                    return self._with_lines(table, chunk, np.arange(first, len(chunk)), chains)
            except pa.ArrowInvalid:
                pass
        if starts is None:
            records = [(index, index + 1) for index in range(first, len(chunk))]
        assert records is not None
        return self._slowly(chunk, records, chains)

    def _records(self, chunk: LineChunk, first: int) -> list[tuple[int, int]] | None:
        """Ranges of lines that make a record; None when every line is one."""
        if QUOTE not in chunk.data:
            return None
        counts = np.diff(_open_quotes(chunk.data, chunk.offsets))
        odd = np.flatnonzero(counts % 2)
        if not len(odd):
            return None
        records: list[tuple[int, int]] = []
        line = first
        closing = iter(odd.tolist())
        opened = next(closing, None)
        while line < len(chunk):
            while opened is not None and opened < line:
                opened = next(closing, None)
            if opened is None or opened > line:
                records.append((line, line + 1))
                line += 1
                continue
            closed = next(closing, None)
            if closed is None or closed - line > self._max_lines:
                records.append((line, line + 1))  # a stray quote
                opened = closed
                line += 1
                continue
            if self._is_record(chunk, line, closed + 1):
                records.append((line, closed + 1))
                line = closed + 1
                opened = next(closing, None)
            else:
                records.append((line, line + 1))
                opened = closed
                line += 1
        return records

    def _is_record(self, chunk: LineChunk, start: int, end: int) -> bool:
        text = chunk.data[chunk.offsets[start] : chunk.offsets[end]].decode("utf-8", "replace")
        values = self._values(text.rstrip("\r\n"))
        return values is not None and len(values) == len(self._names)

    def _arrow(self, data: memoryview) -> pa.Table:
        return arrow_csv.read_csv(
            pa.py_buffer(data),
            read_options=arrow_csv.ReadOptions(
                column_names=self._names, block_size=4 << 20, use_threads=True
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=self.reading.delimiter, ignore_empty_lines=False
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(self._names, pa.string()),
                strings_can_be_null=False,
            ),
        )

    def _with_lines(
        self, table: pa.Table, chunk: LineChunk, lines: np.ndarray, chains: np.ndarray
    ) -> pa.Table:
        table = table.append_column("line", pa.array(lines + chunk.first_line, pa.int64()))
        table = table.append_column("chain", pa.array(chains[lines], pa.uint64()))
        blank = np.zeros(len(lines), bool)
        if self._names:
            first = table.column(0).combine_chunks()
            empty = pa.compute.equal(pa.compute.utf8_trim_whitespace(first), "")
            comment = pa.compute.starts_with(first, "#")
            again = pa.compute.equal(first, self.reading.header[0])
            blank = pa.compute.or_(pa.compute.or_(empty, comment), again).to_numpy(
                zero_copy_only=False
            )
        return table.append_column("reread", pa.array(blank, pa.bool_()))

    def _slowly(
        self, chunk: LineChunk, records: list[tuple[int, int]], chains: np.ndarray
    ) -> pa.Table:
        """Record by record; what is none is left to ``row``."""
        lines, reread = [], []
        columns: list[list[str | None]] = [[] for _ in self._names]
        for start, end in records:
            text = chunk.data[chunk.offsets[start] : chunk.offsets[end]].decode("utf-8", "replace")
            values = self._values(text.rstrip("\r\n"))
            whole = (
                values is not None
                and len(values) == len(self._names)
                and any(value.strip() for value in values)
                and not text.lstrip().startswith("#")
                and values != list(self.reading.header)
            )
            lines.append(start)
            reread.append(not whole)
            for place, column in enumerate(columns):
                column.append(values[place] if whole and values else None)
        where = np.asarray(lines, np.int64)
        table = {
            name: pa.array(column, pa.string())
            for name, column in zip(self._names, columns, strict=True)
        }
        table["line"] = pa.array(where + chunk.first_line, pa.int64())
        table["chain"] = pa.array(chains[where], pa.uint64())
        table["reread"] = pa.array(reread, pa.bool_())
        return pa.table(table)


def _open_quotes(data: bytes, ends: np.ndarray) -> np.ndarray:
    """How many quotes stand before each of the positions."""
    places = np.flatnonzero(np.frombuffer(data, np.uint8) == QUOTE[0])
    return np.searchsorted(places, ends)
