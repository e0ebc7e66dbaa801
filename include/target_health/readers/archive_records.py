"""Whole records out of the decompressed blocks of a WARC or ARC file.

What lines are to a text log, records are to an archive: they are numbered from 1, their ids come
from their own bytes and the key of their stretch, and one that is damaged costs only itself: the
reading goes on at the next record's beginning. Line ends between records belong to the one that
follows, so that a record's place does not depend on whether its file has grown since.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import xxhash

from target_health.readers.archive_header import ARC, ARC_LINE
from target_health.readers.lines import STRETCH, LineChunk, Position, set_key

#: Bytes kept of a record that is too long: more than a page verdict ever looks at.
LONG_RECORD_KEPT = 4 << 20
#: A record's own headers are shorter.
HEADER_LIMIT = 256 << 10
#: Bytes of a record that quarantine shows: its headers, and how its content begins.
SHOWN = 1024

ENDS_EARLY = "record ends early"
WRONG_LENGTH = "record's length is wrong"
NO_RECORD = "not an archive record"

_LINE_ENDS = b"\r\n"
_HEADER_END = re.compile(rb"\r?\n\r?\n")
_LENGTH = re.compile(rb"(?im)^content-length:[ \t]*(\d{1,15})[ \t]*\r?$")
_NEXT_START = re.compile(rb"\n(?=WARC/\d|" + ARC + rb")")


@dataclass
class RecordChunk(LineChunk):
    """Whole records where a ``LineChunk`` has lines."""

    def text(self, index: int) -> str:
        """How the record begins, for people."""
        return self.raw(index).lstrip(_LINE_ENDS)[:SHOWN].decode("utf-8", "backslashreplace")

    def content(self, index: int) -> bytes:
        return self.raw(index)

    def table(self) -> pa.Table:
        """``line`` BIGINT from 1 and ``l``, the digest of the record's bytes."""
        numbers = np.arange(self.first_line, self.first_line + len(self), dtype=np.int64)
        digests = [
            xxhash.xxh3_128_hexdigest(self.raw(index).lstrip(_LINE_ENDS))
            for index in range(len(self))
        ]
        return pa.table({"line": numbers, "l": pa.array(digests, pa.string())})


def record_chunks(
    blocks: Iterator[bytes],
    position: Position,
    *,
    max_record: int,
    take_open_end: Callable[[], bool],
) -> Iterator[RecordChunk]:
    """Chunks of whole records from ``position`` on; the same contract as ``lines.chunks``.

    A record longer than ``max_record`` is given cut short; its status and headers are read.
    """
    position = position.copy()
    tape = _Tape(blocks)
    ended = False
    while not ended:
        boundary = STRETCH - position.byte_count % STRETCH
        ends = [0]
        bad: dict[int, str] = {}
        frame: _Frame | None = None
        while ends[-1] < boundary:
            frame = _next_frame(tape, ends[-1], max_record)
            if frame is None or frame.open or frame.long:
                break
            if frame.problem:
                bad[len(ends) - 1] = frame.problem
            ends.append(frame.end)
        if len(ends) > 1:
            chunk, position = _chunk(tape.take(ends[-1]), ends, position, bad)
            yield chunk
            if frame is not None:
                frame = frame.moved(-ends[-1])
        if frame is None:
            return
        if frame.long:
            chunk, position = _long_record(tape, frame, position)
            if not chunk.open_end or take_open_end():
                yield chunk
            ended = chunk.open_end
        elif frame.open:
            if take_open_end():
                rest = tape.take(len(tape.data))
                yield _chunk(rest, [0, len(rest)], position, {0: ENDS_EARLY}, open_end=True)[0]
            return


class _Tape:
    """The content's bytes, as far ahead as they are needed."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self.data = bytearray()
        self._blocks = blocks

    def fill(self, size: int) -> bool:
        """Whether there are that many bytes."""
        while len(self.data) < size:
            block = next(self._blocks, None)
            if block is None:
                return False
            self.data += block
        return True

    def take(self, size: int) -> bytes:
        taken = bytes(self.data[:size])
        del self.data[:size]
        return taken


@dataclass(frozen=True, slots=True)
class _Frame:
    """Where a record ends on the tape. ``open``: the content ends before it."""

    end: int
    problem: str | None = None
    open: bool = False
    long: bool = False

    def moved(self, by: int) -> _Frame:
        return _Frame(self.end + by, self.problem, self.open, self.long)


_OPEN = _Frame(0, open=True)


def _next_frame(tape: _Tape, at: int, max_record: int) -> _Frame | None:
    """The record that begins after the line ends at ``at``; None when nothing does."""
    start = at
    while tape.fill(start + 1) and tape.data[start] in _LINE_ENDS:
        start += 1
    if not tape.fill(start + 1):
        return None
    header = _header(tape, start)
    if header is None:
        return _resynchronised(tape, start, NO_RECORD, max_record)
    begins, length = header
    if length < 0:
        return _OPEN
    end = begins + length
    if end - at > max_record:
        return _Frame(end, long=True)
    if not tape.fill(end):
        return _OPEN
    if tape.fill(end + 1) and tape.data[end] not in _LINE_ENDS and _header(tape, end) is None:
        return _resynchronised(tape, begins, WRONG_LENGTH, max_record)
    return _Frame(end)


def _header(tape: _Tape, start: int) -> tuple[int, int] | None:
    """Where the record's content begins, and its length; None when there is no record's header.

    The length is -1 where the content ends inside of what may be one.
    """
    size = 4096
    while True:
        more = tape.fill(start + size)
        head = bytes(tape.data[start : start + size])
        if head.startswith(b"WARC/"):
            end = _HEADER_END.search(head)
            if end:
                length = _LENGTH.search(head, 0, end.end())
                return (start + end.end(), int(length[1])) if length else None
        elif b"\n" in head:
            line = ARC_LINE.match(head)
            return (start + line.end(), int(line[5])) if line else None
        if not more:
            return start, -1
        if size >= HEADER_LIMIT:
            return None
        size *= 4


def _resynchronised(tape: _Tape, start: int, problem: str, limit: int) -> _Frame:
    """Up to where the next record begins, or ``limit`` bytes on."""
    looked = start
    while True:
        more = tape.fill(looked + (1 << 20))
        found = _NEXT_START.search(tape.data, looked)
        if found:
            return _Frame(found.end(), problem)
        if not more:
            return _OPEN
        if len(tape.data) - start > limit:
            return _Frame(len(tape.data), problem)
        looked = max(start, len(tape.data) - 4096)


def _chunk(
    data: bytes,
    ends: list[int],
    before: Position,
    bad: dict[int, str],
    *,
    open_end: bool = False,
    after: Position | None = None,
) -> tuple[RecordChunk, Position]:
    """A chunk of ``data``; ``after`` is given where the content holds more bytes than that."""
    if after is None:
        after = before.copy()
        after.hasher.update(data)
        after.byte_count += len(data)
    offsets = np.asarray(ends, np.int64)
    set_key(data, offsets, before, after, 0)
    after.line_count += len(ends) - 1
    return RecordChunk(data, offsets, before.line_count + 1, before, after, open_end, bad), after


def _long_record(tape: _Tape, frame: _Frame, before: Position) -> tuple[RecordChunk, Position]:
    """The record at the tape's beginning, cut short; its bytes are all counted and hashed."""
    tape.fill(LONG_RECORD_KEPT)
    kept = bytes(tape.data[:LONG_RECORD_KEPT])
    after = before.copy()
    left = frame.end
    while left and tape.fill(1):
        piece = tape.take(min(left, len(tape.data)))
        after.hasher.update(piece)
        after.byte_count += len(piece)
        left -= len(piece)
    bad = {0: ENDS_EARLY} if left else {}
    return _chunk(kept, [0, len(kept)], before, bad, open_end=bool(left), after=after)
