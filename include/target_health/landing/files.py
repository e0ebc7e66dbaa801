"""One file of the inbox against the ledger: what of it has been landed, and where to go on."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import xxhash

from target_health.landing.ledger import HEAD, Mark
from target_health.readers.lines import Position
from target_health.readers.raw import Reading
from target_health.readers.recognise import reader_for
from target_health.readers.streams import UTF16_MARKS, Content, open_content

#: Decompressed bytes that recognition looks at.
SAMPLE = 256 << 10


@dataclass(frozen=True, slots=True)
class Head:
    """A content's beginning; ``whole`` when there is nothing after it."""

    data: bytes
    whole: bool
    problem: str | None

    @property
    def digest(self) -> str:
        return xxhash.xxh3_128_hexdigest(self.data[:HEAD])

    @property
    def lines(self) -> bytes:
        """Whole lines of it; all of it when there is no line end."""
        end = self.data.rfind(b"\n") + 1
        return self.data if self.whole or not end else self.data[:end]


@dataclass(frozen=True, slots=True)
class Landed:
    """The part of a content that has been landed: its mark, where to go on, whether more came."""

    mark: Mark
    resume: Position
    more: bool


def read_head(file: BinaryIO) -> Head:
    file.seek(0)
    content = open_content(file)
    pieces: list[bytes] = []
    size = 0
    blocks = content.blocks()
    for block in blocks:
        pieces.append(block)
        size += len(block)
        if size > SAMPLE:
            close(blocks)
            return Head(b"".join(pieces)[:SAMPLE], False, None)
    return Head(b"".join(pieces), True, content.problem)


def close(blocks: Iterator[Any]) -> None:
    if hasattr(blocks, "close"):
        blocks.close()


def content_from(file: BinaryIO, start: int) -> tuple[Content, Iterator[bytes]]:
    """The content's blocks from a (decompressed) byte on."""
    file.seek(0)
    content = open_content(file)
    transcoded = file.read(2) in UTF16_MARKS
    file.seek(0)
    if start and not content.compressed and not transcoded:
        file.seek(start)
        return content, content.blocks_as_they_are()
    return content, _after(content.blocks(), start)


def _after(blocks: Iterator[bytes], start: int) -> Iterator[bytes]:
    for block in blocks:
        if start >= len(block):
            start -= len(block)
            continue
        yield block[start:] if start else block
        start = 0


def find_landed(file: BinaryIO, head: Head, candidates: Sequence[Mark]) -> Landed | None:
    """The longest landed content that this file's begins with."""
    known = {
        mark.byte_count: xxhash.xxh3_128_hexdigest(head.data[: mark.byte_count])
        for mark in candidates
        if mark.byte_count <= len(head.data)
    }
    short = [mark for mark in candidates if known.get(mark.byte_count) == mark.digest]
    long = [mark for mark in candidates if mark.byte_count > len(head.data)]
    if head.whole or not long:
        if not short:
            return None
        mark = max(short, key=lambda mark: mark.byte_count)
        hasher = xxhash.xxh3_128(head.data[: mark.resume_at])
        more = not head.whole or len(head.data) > mark.byte_count
        return Landed(mark, _position(mark, hasher), more)
    return _streamed(file, short + long)


def states_of(file: BinaryIO, head: Head, candidates: Sequence[Mark]) -> list[Mark]:
    """All the landed contents that this file's begins with."""
    if head.whole:
        return [
            mark
            for mark in candidates
            if xxhash.xxh3_128_hexdigest(head.data[: mark.byte_count]) == mark.digest
        ]
    at, _ = _hashed(file, sorted({mark.byte_count for mark in candidates}))
    return _agreeing(candidates, at)


def _streamed(file: BinaryIO, candidates: Sequence[Mark]) -> Landed | None:
    """Hash through the content, looking at every length that a candidate has."""
    cuts = {mark.byte_count for mark in candidates} | {mark.resume_at for mark in candidates}
    at, done = _hashed(file, sorted(cuts))
    found = _agreeing(candidates, at)
    if not found:
        return None
    mark = max(found, key=lambda mark: mark.byte_count)
    return Landed(mark, _position(mark, at[mark.resume_at]), done > mark.byte_count)


def _agreeing(candidates: Sequence[Mark], at: Mapping[int, xxhash.xxh3_128]) -> list[Mark]:
    """The candidates that the content begins with, by its digests at their lengths."""
    return [
        mark
        for mark in candidates
        if mark.byte_count in at and at[mark.byte_count].hexdigest() == mark.digest
    ]


def _hashed(file: BinaryIO, cuts: list[int]) -> tuple[dict[int, xxhash.xxh3_128], int]:
    """The digests of the content's beginnings of these lengths, and how far it was read."""
    hasher = xxhash.xxh3_128()
    at: dict[int, xxhash.xxh3_128] = {}
    done = 0
    waiting = iter(cuts)
    cut: int | None = next(waiting)
    _, blocks = content_from(file, 0)
    for block in itertools.chain([b""], blocks):
        start = 0
        while cut is not None and cut - done <= len(block) - start:
            step = cut - done
            hasher.update(block[start : start + step])
            start += step
            done += step
            at[cut] = hasher.copy()
            cut = next(waiting, None)
        hasher.update(block[start:])
        done += len(block) - start
        if cut is None and done > cuts[-1]:
            break
    close(blocks)
    return at, done


def _position(mark: Mark, hasher: xxhash.xxh3_128) -> Position:
    return Position(
        mark.resume_at, mark.line_count, mark.stretch, mark.key, mark.first_line, hasher
    )


def count_lines(file: BinaryIO, reading: Reading | None = None) -> int:
    """Lines of a content, an unfinished last one too; one for what cannot be read at all.

    Where a reading is known they are counted as its reader would: a CSV's header is none, and a
    record over several lines is one.
    """
    _, blocks = content_from(file, 0)
    if reading is None:
        lines, last = 0, b"\n"
        for block in blocks:
            lines += block.count(b"\n")
            last = block[-1:] or last
        return max(lines + (last != b"\n"), 1)
    reader = reader_for(reading)
    found = reader.chunks(blocks, Position(), max_line=1 << 62, take_open_end=lambda: True)
    return max(sum(reader.count(chunk) for chunk in found), 1)
