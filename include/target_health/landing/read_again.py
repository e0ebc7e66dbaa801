"""Quarantined lines, read again where their source's entry in ``sources.yaml`` has changed.

Only these lines: what of the file was landed or skipped stays as it is.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from target_health.config.sources import Source
from target_health.landing.files import Head, Landed, close, content_from, states_of
from target_health.landing.inbox import InboxFile
from target_health.landing.ledger import Mark, dump_reading
from target_health.landing.parquet_intake import OpenParquet
from target_health.landing.staging import FilePart
from target_health.readers.lines import Position
from target_health.readers.raw import Refusal
from target_health.readers.reader import LineReader
from target_health.readers.recognise import reader_for, recognise

if TYPE_CHECKING:
    from target_health.landing.intake import Intake


@dataclass(frozen=True, slots=True)
class Kept:
    """What quarantine holds of one content: its files, its lines' numbers, counts by reason."""

    paths: list[str]
    lines: np.ndarray
    reasons: Counter[str]

    def among(self, first: int, last: int) -> np.ndarray:
        low, high = np.searchsorted(self.lines, [first, last + 1])
        return self.lines[low:high]


def lines_again(
    intake: Intake,
    file: InboxFile,
    handle: BinaryIO,
    head: Head,
    landed: Landed,
    source: Source,
    fingerprint: str,
) -> None:
    """Read a content's quarantined lines again, if they were read under another entry."""
    held = intake.ledger.quarantined(file.source, fingerprint)
    there = {path for paths in held.values() for path in paths}
    candidates = [
        mark
        for mark in intake.ledger.candidates(head.digest)
        if mark.digest[:16] in held or mark.open_line_quarantine in there
    ]
    if not candidates:
        return
    found: set[str] = set()
    for mark in states_of(handle, head, candidates):
        found.update(held.get(mark.digest[:16], ()))
        found |= {mark.open_line_quarantine or ""} & there
    if landed.more:  # read again with the rest of its line
        found.discard(landed.mark.open_line_quarantine or "")
    kept = _kept(intake, sorted(found))
    if kept is None:
        return
    reading = recognise(file.name, head.lines, source)
    if isinstance(reading, Refusal):
        intake.note(file, f"{reading.reason}; what was landed of it stays")
        return
    part = intake.part(file, source, reading)
    mark = _stage(intake, handle, part, reader_for(reading), kept, landed.mark)
    _finish(intake, file, part, kept, replace(mark, reading=dump_reading(reading, fingerprint)),
            head.digest, fingerprint)  # fmt: skip


def records_again(
    intake: Intake,
    file: InboxFile,
    opened: OpenParquet,
    source: Source,
    mark: Mark,
    head_digest: str,
    fingerprint: str,
) -> None:
    """The same for a file of records."""
    held = intake.ledger.quarantined(file.source, fingerprint)
    kept = _kept(intake, held.get(mark.digest[:16], ()))
    if kept is None:
        return
    part = intake.part(file, source, opened.reading)
    chain = int(mark.digest[:16], 16)
    step = intake.sources.batch_rows
    for first in range(0, opened.rows, step):
        last = min(first + step, opened.rows)
        only = kept.among(first + 1, last)
        if len(only):
            intake.staging.add_records(
                part, opened.raw_sql(first, last), first + 1, last, chain,
                opened.records_sql(first, last), only=only,
            )  # fmt: skip
    mark = replace(mark, reading=dump_reading(opened.reading, fingerprint))
    _finish(intake, file, part, kept, mark, head_digest, fingerprint)


def _kept(intake: Intake, paths: Sequence[str]) -> Kept | None:
    """What these files of the quarantine hold; None for nothing that was not read again yet."""
    paths = [path for path in paths if path not in intake.batch.replaced]
    lines: list[int] = []
    reasons: Counter[str] = Counter()
    for path in paths:
        try:
            file = (intake.home.root / path).open(encoding="utf-8")
        except FileNotFoundError:  # taken away by hand
            continue
        with file:
            for text in file:
                record = json.loads(text)
                lines.append(record["line"])
                reasons[record["reason"]] += 1
    return Kept(list(paths), np.unique(np.asarray(lines, np.int64)), reasons) if lines else None


def _stage(
    intake: Intake,
    handle: BinaryIO,
    part: FilePart,
    reader: LineReader,
    kept: Kept,
    mark: Mark,
) -> Mark:
    """Stage the kept lines; returns the content's mark with what became of its open line."""
    content, blocks = content_from(handle, 0)
    chunks = reader.chunks(
        blocks,
        Position(),
        max_line=intake.sources.max_line_mib << 20,
        take_open_end=lambda: content.problem is None,
    )
    last = int(kept.lines[-1])
    for chunk in chunks:
        only = kept.among(chunk.first_line, chunk.last_line)
        before = part.rows, part.skipped.total()
        if len(only):
            intake.staging.add_lines(part, reader, chunk, only=only)
            if chunk.open_end and mark.open_line:
                if part.rows > before[0]:
                    mark = replace(mark, open_line="row", open_line_quarantine=None)
                elif part.skipped.total() > before[1]:
                    mark = replace(mark, open_line="skipped", open_line_quarantine=None)
        if chunk.last_line >= last:
            break
    close(blocks)
    return mark


def _finish(
    intake: Intake,
    file: InboxFile,
    part: FilePart,
    kept: Kept,
    mark: Mark,
    head_digest: str,
    fingerprint: str,
) -> None:
    intake.check_clock(file, part)
    left = len(kept.lines) - part.lines
    if left > 0:  # lines of a record that its first line is counted for, or the header
        part.remarks["quarantined line is part of another record"] += left
    part.spool.name(f"{mark.digest[:16]}-again-{fingerprint}")
    if mark.open_line_quarantine in kept.paths:  # still no row: it stands with the others now
        path = part.spool.path.relative_to(intake.home.root).as_posix()
        mark = replace(mark, open_line_quarantine=path if len(kept.lines) == 1 else None)
    part.taken_back = kept.reasons
    intake.batch.replaced += kept.paths
    intake.enter(file, fingerprint, mark, head_digest, complete=False)
    about = intake.describe(file, part.reading)
    about.files += 1
    about.note(
        f"{file.name}: {len(kept.lines):,} quarantined lines read again, as sources.yaml changed"
    )
