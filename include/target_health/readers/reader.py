"""What a format's reader is to the landing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator

import duckdb
import pyarrow as pa

from target_health.readers.lines import LineChunk, Position, chunks, whole_lines
from target_health.readers.raw import RAW_FIELDS, Outcome, Reading

#: Columns beside the raw fields that a relation gives. ``reread`` asks for the exact path.
CONTROL = ("line", "chain", "reread")


def row_table(
    rows: list[tuple[int, int, dict[str, str | None]]],
) -> pa.Table:
    """Rows of the exact path as a table of text columns: ``line``, ``chain``, raw fields."""
    columns: dict[str, pa.Array] = {
        "line": pa.array([line for line, _, _ in rows], pa.int64()),
        "chain": pa.array([chain for _, chain, _ in rows], pa.uint64()),
        "reread": pa.array([False] * len(rows), pa.bool_()),
    }
    for name in RAW_FIELDS:
        columns[name] = pa.array([row.get(name) for _, _, row in rows], pa.string())
    return pa.table(columns)


class LineReader(ABC):
    """Reads whole lines: all at once in SQL where it can, one by one exactly where it must."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading

    #: Raw fields that ``relation`` gives as DOUBLE, and whether ``ts`` is a TIMESTAMPTZ there.
    numbers: frozenset[str] = frozenset()
    typed_ts: bool = False

    @abstractmethod
    def row(self, text: str) -> Outcome:
        """One line, exactly. Never raises."""

    def relation(self, connection: duckdb.DuckDBPyConnection, chunk: LineChunk) -> str | None:
        """A SELECT of ``CONTROL`` and raw fields over the view ``chunk`` (line, l, chain).

        A row with ``reread`` goes through ``row`` instead. None: every line does.
        """
        return None

    def straight_relation(self) -> str | None:
        """``relation`` with the line ``l`` too, where it needs nothing of a chunk; else None."""
        return None

    def chunks(
        self,
        blocks: Iterator[bytes],
        position: Position,
        *,
        max_line: int,
        take_open_end: Callable[[], bool],
    ) -> Iterator[LineChunk]:
        """The content's lines from ``position`` on, as ``lines.chunks`` gives them."""
        return chunks(
            blocks,
            position,
            max_line=max_line,
            take_open_end=take_open_end,
            cut=self.cut,
            finished=self.finished,
            headers=self.reading.header_lines if self.is_header(1) else 0,
        )

    def is_header(self, line: int) -> bool:
        """Whether a line number is no line of the log at all, but its header."""
        return False

    def count(self, chunk: LineChunk) -> int:
        """How many of a chunk's lines are counted: records, without a header."""
        return len(chunk) - self.is_header(chunk.first_line)

    def cut(self, data: bytes, start: int) -> int:
        """Where the first record that ends at or after ``start + 1`` ends; 0 when none does."""
        return whole_lines(data, start)

    def finished(self, data: bytes) -> int:
        """How much of whole lines is finished records."""
        return len(data)

    def release(self, connection: duckdb.DuckDBPyConnection) -> None:  # noqa: B027
        """Drop what ``relation`` registered."""
