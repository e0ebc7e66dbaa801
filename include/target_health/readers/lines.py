"""Lines out of blocks, in chunks that DuckDB reads without copying them.

Every line of a content has a number from 1 and a *chain*: a running hash over all lines up to
and including it. The chain depends on the content alone, not on when which part of it was read,
so event ids made from it are the same however a file grew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import duckdb
import numpy as np
import pyarrow as pa
import xxhash

CHUNK = 16 << 20
#: Bytes kept of a line that is too long to read.
LONG_LINE_KEPT = 1024
LINES_A_BATCH = 20_480
TOO_LONG = "line is too long"
NOT_TEXT = "not UTF-8 text"

NEWLINE = 10
_POSITION_FACTOR = np.uint64(0x9E3779B97F4A7C15)


@dataclass
class Position:
    """How far a content has been read: bytes, lines, their chain, and the bytes' digest so far."""

    byte_count: int = 0
    line_count: int = 0
    chain: int = 0
    first_line: int | None = None
    hasher: xxhash.xxh3_128 = field(default_factory=xxhash.xxh3_128)

    @property
    def digest(self) -> str:
        return self.hasher.hexdigest()

    def copy(self) -> Position:
        return Position(
            self.byte_count, self.line_count, self.chain, self.first_line, self.hasher.copy()
        )


@dataclass
class LineChunk:
    """Whole lines: ``data`` with a line end after each, ``offsets`` of shape (lines + 1,).

    ``bad`` gives the lines (by index) that are unreadable as text or too long. ``open_end`` says
    that the last line came without a line end.
    """

    data: bytes
    offsets: np.ndarray
    first_line: int
    open_end: bool = False
    bad: dict[int, str] = field(default_factory=dict)
    chain: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def raw(self, index: int) -> bytes:
        return bytes(self.data[self.offsets[index] : self.offsets[index + 1]])

    def text(self, index: int) -> str:
        return self.raw(index).decode("utf-8", "backslashreplace").rstrip("\r\n")

    def without_first(self) -> LineChunk:
        """The chunk without its first line, which was read before."""
        return LineChunk(
            self.data,
            self.offsets[1:],
            self.first_line + 1,
            self.open_end,
            {index - 1: reason for index, reason in self.bad.items() if index},
            None if self.chain is None else self.chain[1:],
        )

    def strings(self) -> pa.StringArray:
        """The lines as Arrow strings that share ``data``."""
        return pa.StringArray.from_buffers(
            len(self),
            pa.py_buffer(np.ascontiguousarray(self.offsets, dtype=np.int32)),
            pa.py_buffer(self.data),
        )

    def table(self) -> pa.Table:
        """``line`` BIGINT from 1, ``l`` text, ``chain`` UBIGINT; needs ``chain`` to be set."""
        numbers = np.arange(self.first_line, self.first_line + len(self), dtype=np.int64)
        table = pa.table({"line": numbers, "l": self.strings(), "chain": self.chain})
        return pa.Table.from_batches(table.to_batches(max_chunksize=LINES_A_BATCH))


def default_cut(data: bytes) -> int:
    """Where the last whole line of a buffer ends."""
    return data.rfind(b"\n") + 1


def chunks(
    blocks: Iterator[bytes],
    position: Position,
    *,
    max_line: int,
    take_open_end: Callable[[], bool],
    cut: Callable[[bytes], int] = default_cut,
) -> Iterator[LineChunk]:
    """Chunks of whole lines; ``position`` moves with them (its bytes, lines and digest).

    A last line without a line end is given only when ``take_open_end`` says so
    after all blocks were read.
    """
    pending: list[bytes] = []
    size = 0
    for block in blocks:
        pending.append(block)
        size += len(block)
        if size < CHUNK:
            continue
        data = b"".join(pending)
        end = cut(data)
        if end:
            yield _chunk(data[:end], position)
            pending, size = [data[end:]], len(data) - end
        elif size > max_line:
            rest = yield from _long_line(data, blocks, position)
            pending, size = [rest], len(rest)
        else:
            pending = [data]
    data = b"".join(pending)
    end = len(data) if data.endswith(b"\n") else data.rfind(b"\n") + 1
    if end:
        yield _chunk(data[:end], position)
    if end < len(data) and take_open_end():
        tail = data[end:]
        position.hasher.update(tail)
        position.byte_count += len(tail)
        yield _made(tail + b"\n", position, open_end=True)


def _chunk(data: bytes, position: Position) -> LineChunk:
    position.hasher.update(data)
    position.byte_count += len(data)
    return _made(data, position)


def _made(data: bytes, position: Position, *, open_end: bool = False) -> LineChunk:
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == NEWLINE)
    offsets = np.empty(len(ends) + 1, np.int64)
    offsets[0] = 0
    offsets[1:] = ends + 1
    chunk = LineChunk(data, offsets, position.line_count + 1, open_end)
    position.line_count += len(chunk)
    if not data.isascii():
        _mend_text(chunk)
    return chunk


def _long_line(data: bytes, blocks: Iterator[bytes], position: Position) -> Iterator[LineChunk]:
    """Pass over a line that is too long; gives it cut short, returns what follows it."""
    kept = data[:LONG_LINE_KEPT].decode("utf-8", "backslashreplace").encode() + b"\n"
    end = 0
    for block in blocks:
        position.hasher.update(data)
        position.byte_count += len(data)
        data, end = block, block.find(b"\n") + 1
        if end:
            break
    else:
        end = len(data)
    position.hasher.update(data[:end])
    position.byte_count += end
    chunk = _made(kept, position)
    chunk.bad[0] = TOO_LONG
    yield chunk
    return data[end:]


def _mend_text(chunk: LineChunk) -> None:
    """Lines that are not UTF-8 are read as Windows-1252, or marked bad where they are not that."""
    try:
        chunk.strings().validate(full=True)
        return
    except pa.ArrowInvalid:
        pass
    lines: list[bytes] = []
    for index in range(len(chunk)):
        line = chunk.raw(index)
        try:
            line.decode("utf-8")
        except UnicodeDecodeError:
            try:
                line = line.decode("cp1252").encode()
            except UnicodeDecodeError:
                chunk.bad[index] = NOT_TEXT
                line = line.decode("utf-8", "backslashreplace").encode()
        lines.append(line)
    chunk.data = b"".join(lines)
    chunk.offsets = np.concatenate([[0], np.cumsum([len(line) for line in lines])])


def add_chain(
    connection: duckdb.DuckDBPyConnection, chunk: LineChunk, position: Position, headers: int = 0
) -> None:
    """Set the chunk's chain and move the position's on; ``headers`` lines come before the data."""
    lines = pa.table({"l": chunk.strings()})
    connection.register("chunk_lines", lines)
    hashes = connection.execute("SELECT hash(l) AS h FROM chunk_lines").fetchnumpy()["h"]
    connection.unregister("chunk_lines")
    numbers = np.arange(chunk.first_line, chunk.first_line + len(chunk), dtype=np.uint64)
    with np.errstate(over="ignore"):
        steps = np.asarray(hashes, np.uint64) * (numbers * _POSITION_FACTOR | np.uint64(1))
        chain = np.cumsum(steps, dtype=np.uint64) + np.uint64(position.chain)
    chunk.chain = chain
    first = headers + 1 - chunk.first_line
    if position.first_line is None and 0 <= first < len(chunk):
        position.first_line = int(chain[first])
    position.chain = int(chain[-1])
