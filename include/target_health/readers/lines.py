"""Lines out of blocks, in chunks that DuckDB reads without copying them.

Every line of a content has a number from 1, and an id is made of it with the line's own bytes and
the *key* of its stretch of the content: the digest of everything before the stretch (of the first
line, in the first one). Stretches lie at fixed places, so ids depend on the content alone, not on
when which part of it was read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import duckdb
import numpy as np
import pyarrow as pa
import xxhash

#: A stretch in bytes: one chunk. Large enough that a chunk costs little beside its lines, small
#: enough that the allocator uses its memory again (larger blocks come fresh from the system).
STRETCH = 8 << 20
#: Bytes kept of a line that is too long to read.
LONG_LINE_KEPT = 1024
LINES_A_BATCH = 10_240
TOO_LONG = "line is too long"
NOT_TEXT = "not UTF-8 text"

NEWLINE = 10
NO_STRETCH = -1


@dataclass
class Position:
    """How far a content has been read: bytes, lines, their digest, the stretch and its key.

    ``first_line`` is the key of the first stretch: contents that begin alike share it.
    """

    byte_count: int = 0
    line_count: int = 0
    stretch: int = NO_STRETCH
    key: int = 0
    first_line: int | None = None
    hasher: xxhash.xxh3_128 = field(default_factory=xxhash.xxh3_128)

    @property
    def digest(self) -> str:
        return self.hasher.hexdigest()

    def copy(self) -> Position:
        return Position(
            self.byte_count,
            self.line_count,
            self.stretch,
            self.key,
            self.first_line,
            self.hasher.copy(),
        )


@dataclass
class LineChunk:
    """Whole lines: ``data`` with a line end after each, ``offsets`` of shape (lines + 1,).

    ``bad`` gives the lines (by index) that are unreadable as text or too long. ``open_end`` says
    that the last line came without a line end. ``before`` and ``after`` are the positions around.
    """

    data: bytes
    offsets: np.ndarray
    first_line: int
    before: Position
    after: Position
    open_end: bool = False
    bad: dict[int, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def last_line(self) -> int:
        return self.first_line + len(self) - 1

    def raw(self, index: int) -> bytes:
        return bytes(self.data[self.offsets[index] : self.offsets[index + 1]])

    def text(self, index: int) -> str:
        """The line without its end; the beginning of one that is too long."""
        raw = self.raw(index)
        if self.bad.get(index) == TOO_LONG:
            raw = raw[:LONG_LINE_KEPT]
        return raw.decode("utf-8", "backslashreplace").rstrip("\r\n")

    def content(self, index: int) -> str | bytes:
        """The line as its reader takes it."""
        return self.text(index)

    def without_first(self) -> LineChunk:
        """The chunk without its first line, which was read before."""
        return LineChunk(
            self.data,
            self.offsets[1:],
            self.first_line + 1,
            self.before,
            self.after,
            self.open_end,
            {index - 1: reason for index, reason in self.bad.items() if index},
        )

    def strings(self) -> pa.StringArray:
        """The lines as Arrow strings that share ``data``."""
        return pa.StringArray.from_buffers(
            len(self),
            pa.py_buffer(np.ascontiguousarray(self.offsets, dtype=np.int32)),
            pa.py_buffer(self.data),
        )

    def table(self) -> pa.Table:
        """``line`` BIGINT from 1 and ``l`` text."""
        numbers = np.arange(self.first_line, self.first_line + len(self), dtype=np.int64)
        table = pa.table({"line": numbers, "l": self.strings()})
        return pa.Table.from_batches(table.to_batches(max_chunksize=LINES_A_BATCH), table.schema)

    @property
    def chain_sql(self) -> str:
        """The line's id, over the columns ``l`` and ``line``."""
        return f"hash(l, {self.after.key}::UBIGINT, line)"

    def chains(self, connection: duckdb.DuckDBPyConnection) -> np.ndarray:
        """``chain_sql`` of every line; the chunk is registered as ``chunk_lines``."""
        found = connection.execute(f"SELECT {self.chain_sql} AS h FROM chunk_lines").fetchnumpy()
        return np.asarray(found["h"], np.uint64)


def whole_lines(data: bytes, start: int) -> int:
    """Where the first line end at or after ``start`` ends; 0 when there is none."""
    return data.find(b"\n", start) + 1


Cut = Callable[[bytes, int], int]


def chunks(
    blocks: Iterator[bytes],
    position: Position,
    *,
    max_line: int,
    take_open_end: Callable[[], bool],
    cut: Cut = whole_lines,
    finished: Callable[[bytes], int] = len,
    headers: int = 0,
) -> Iterator[LineChunk]:
    """Chunks of whole lines from ``position`` on.

    A last line without a line end is given only when ``take_open_end`` says so after all blocks
    were read. ``cut`` finds where a record ends, ``finished`` how much of some lines is
    finished records; ``headers`` lines come before the data.
    """
    position = position.copy()
    pending: list[bytes] = []
    size = 0
    wanted = _to_boundary(position)
    for block in blocks:
        pending.append(block)
        size += len(block)
        while size > wanted:
            data = pending[0] if len(pending) == 1 else b"".join(pending)
            end = cut(data, max(wanted - 1, 0))
            if end:
                chunk, position = _chunk(data[:end], position, headers, max_line=max_line)
                yield chunk
                pending, size = [data[end:]], len(data) - end
                wanted = _to_boundary(position)
                continue
            begun = data.rfind(b"\n") + 1
            if size - begun <= max_line:
                pending, wanted = [data], size
                break
            if begun:
                chunk, position = _chunk(data[:begun], position, headers, max_line=max_line)
                yield chunk
            chunk, position, rest = _long_line(data[begun:], blocks, position, headers)
            yield chunk
            pending, size = [rest], len(rest)
            wanted = _to_boundary(position)
    data = b"".join(pending)
    end = data.rfind(b"\n") + 1
    whole = finished(data[:end])
    if whole < end and not take_open_end():  # a record over several lines may still grow
        end = whole
    if end:
        chunk, position = _chunk(data[:end], position, headers, max_line=max_line)
        yield chunk
    if end < len(data) and take_open_end():
        chunk, position = _chunk(
            data[end:] + b"\n", position, headers, max_line=max_line, open_end=True
        )
        yield chunk


def _to_boundary(position: Position) -> int:
    """Bytes from here to the next stretch."""
    return STRETCH - position.byte_count % STRETCH


def _chunk(
    data: bytes,
    before: Position,
    headers: int,
    *,
    open_end: bool = False,
    length: int | None = None,
    max_line: int = 1 << 62,
) -> tuple[LineChunk, Position]:
    """A chunk of ``data``, and the position after it. ``length``: its bytes in the content."""
    after = before.copy()
    if length is None:
        after.hasher.update(data[:-1] if open_end else data)
        length = len(data) - open_end
    after.byte_count += length
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == NEWLINE)
    offsets = np.empty(len(ends) + 1, np.int64)
    offsets[0] = 0
    offsets[1:] = ends + 1
    set_key(data, offsets, before, after, headers)
    after.line_count += len(ends)
    chunk = LineChunk(data, offsets, before.line_count + 1, before, after, open_end)
    if not data.isascii():
        _mend_text(chunk)
    if len(data) > max_line:
        for index in np.flatnonzero(np.diff(offsets) > max_line):
            chunk.bad[int(index)] = TOO_LONG
    return chunk, after


def set_key(
    data: bytes, offsets: np.ndarray, before: Position, after: Position, headers: int
) -> None:
    """Give the position after a chunk its stretch and key, which make the ids of the chunk."""
    if before.first_line is None or before.stretch == NO_STRETCH:
        first = headers - before.line_count
        if 0 <= first < len(offsets) - 1:
            line = data[offsets[first] : offsets[first + 1]]
            after.first_line = after.key = xxhash.xxh3_64_intdigest(line)
            after.stretch = 0
        return
    stretch = before.byte_count // STRETCH
    if stretch != before.stretch:
        after.stretch = stretch
        after.key = before.hasher.intdigest() & 0xFFFFFFFFFFFFFFFF


def _long_line(
    data: bytes, blocks: Iterator[bytes], before: Position, headers: int
) -> tuple[LineChunk, Position, bytes]:
    """Pass over a line that is too long; gives it cut short, and what follows it."""
    kept = data[:LONG_LINE_KEPT].decode("utf-8", "backslashreplace").encode() + b"\n"
    reached = before.copy()
    length = 0
    end = whole_lines(data, 0)
    while not end:
        reached.hasher.update(data)
        length += len(data)
        following = next(blocks, None)
        if following is None:
            data = b""
            break
        data = following
        end = whole_lines(data, 0)
    reached.hasher.update(data[:end])
    chunk, after = _chunk(kept, before, headers, length=length + end)
    after.hasher = reached.hasher
    chunk.bad[0] = TOO_LONG
    return chunk, after, data[end:]


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
