"""WARC and ARC files: every HTTP response of an archive is a fetch.

Its time is the record's date, the nearest to the fetch's end that an archive knows. A revisit
record repeats an earlier answer by its digest: its status is known, its body is not looked at.
Requests, metadata, DNS answers and other records are skipped by their type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from target_health.readers.archive_header import kind_of_record
from target_health.readers.archive_records import record_chunks
from target_health.readers.lines import LineChunk, Position
from target_health.readers.raw import Outcome
from target_health.readers.reader import LineReader

STARTS = (b"WARC/", b"filedesc://")


def is_archive(head: bytes) -> bool:
    """Whether a content is a WARC or ARC file, by its first bytes."""
    return head.lstrip(b"\r\n").startswith(STARTS)


class Archive(LineReader):
    """Frames records and passes over those that are no response; the rest is read later, where
    bodies are looked at."""

    def row(self, content: str | bytes) -> Outcome:
        return kind_of_record(content if isinstance(content, bytes) else content.encode())

    def chunks(
        self,
        blocks: Iterator[bytes],
        position: Position,
        *,
        max_line: int,
        take_open_end: Callable[[], bool],
    ) -> Iterator[LineChunk]:
        return record_chunks(blocks, position, max_record=max_line, take_open_end=take_open_end)
