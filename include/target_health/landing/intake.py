"""Taking files in: each is matched with the ledger, read from where it was left, and judged."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import BinaryIO

import duckdb
import xxhash

from target_health.config.sites import Sites
from target_health.config.sources import Source, Sources
from target_health.landing import lake
from target_health.landing.batch import Batch, commit
from target_health.landing.files import Head, Landed, close, content_from, find_landed, read_head
from target_health.landing.inbox import InboxFile
from target_health.landing.ledger import (
    HEAD,
    Ledger,
    Mark,
    dump_reading,
    load_reading,
    mark_at,
)
from target_health.landing.normalise import Rules
from target_health.landing.parquet_intake import open_parquet
from target_health.landing.quarantine import Spool
from target_health.landing.redact import Redaction
from target_health.landing.report import LandingReport, SourceReport
from target_health.landing.staging import FilePart, Staging
from target_health.paths import Home
from target_health.readers.lines import LineChunk, Position, chunks
from target_health.readers.parquet import MAGIC
from target_health.readers.raw import Reading, Refusal
from target_health.readers.reader import LineReader
from target_health.readers.recognise import reader_for, recognise
from target_health.readers.streams import ENDS_EARLY, Content, ahead, open_content

#: Say how far a large file is, every so many bytes.
PROGRESS_BYTES = 256 << 20
UNREADABLE = "cannot be read"
#: Chunks that are read while another is staged: one is enough to keep both sides busy.
CHUNKS_AHEAD = 1
#: Files in a batch at most, so that very many small ones are made visible bit by bit.
MAX_PARTS = 1000


class Held(Exception):
    """The source's clock is wrong: the rest of the file stays in the inbox."""


class Intake:
    """One landing's files on their way: the current batch, and what the report says."""

    def __init__(
        self,
        home: Home,
        warehouse: duckdb.DuckDBPyConnection,
        sources: Sources,
        sites: Sites,
        now: datetime,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        self.home = home
        self.warehouse = warehouse
        self.sources = sources
        self.now = now
        self.report = LandingReport()
        self.redaction = Redaction(sources.redact_parameters)
        self.ledger = Ledger(warehouse)
        self.staging = Staging(Rules(now, sources, self.redaction), sites, home.work / "spill")
        self.batch = Batch()
        self._progress = progress or (lambda text: None)
        self._parts = 0
        self._first_lines: set[int] = set()

    def close(self) -> None:
        for _, spool in self.batch.spools:
            spool.drop()
        self.staging.close()

    def flush(self) -> None:
        """Make the batch visible and begin the next."""
        commit(
            self.home,
            self.warehouse,
            ledger=self.ledger,
            staging=self.staging,
            batch=self.batch,
            report=self.report,
            now=self.now,
            free_space_factor=self.sources.free_space_factor,
        )
        self.batch = Batch()
        self.ledger.settled()
        self._first_lines.clear()

    def take(self, file: InboxFile) -> None:
        """Take in what is new of one file."""
        fingerprint = self.sources.fingerprint(file.source)
        if self.ledger.unchanged(file.path, file.version, fingerprint):
            return
        with lake.full_disk_is_one_line(self.home):
            try:
                with file.open() as handle:
                    if handle.read(4) == MAGIC:
                        self._take_records(file, handle, fingerprint)
                    else:
                        self._take_lines(file, handle, fingerprint)
            except Held:
                pass
            except PermissionError as problem:
                self.note(file, f"{UNREADABLE}: {problem.strerror or problem}")
            except FileNotFoundError:
                pass  # taken away meanwhile

    # Lines

    def _take_lines(self, file: InboxFile, handle: BinaryIO, fingerprint: str) -> None:
        head = read_head(handle)
        young = self.now - file.modified < timedelta(minutes=self.sources.half_line_minutes)
        compressed = _is_compressed(handle)
        if not head.data:
            if head.problem and not (young and head.problem == ENDS_EARLY):
                self._refuse(file, handle, Refusal(head.problem), fingerprint)
            elif not head.problem:
                self._seen(file, fingerprint)
            return
        if head.whole and b"\n" not in head.data and young and not compressed:
            return  # the first line is still being written
        landed = find_landed(handle, head, self.ledger.candidates(head.digest))
        if landed is not None and landed.mark.open_line and self.ledger.is_expected(landed.mark):
            self.flush()
            landed = find_landed(handle, head, self.ledger.candidates(head.digest))
        if landed is not None and not landed.more:
            self._seen(file, fingerprint)
            return
        source = self.sources.source(file.source)
        reading = load_reading(landed.mark.reading, fingerprint) if landed else None
        if reading is None:
            recognised = recognise(file.name, head.lines, source)
            if isinstance(recognised, Refusal):
                self._refuse(file, handle, recognised, fingerprint)
                return
            reading = recognised
        self.accepted(file)
        _LineIntake(self, file, handle, head, landed, reading, source, young).run(fingerprint)

    def part(self, file: InboxFile, source: Source, reading: Reading) -> FilePart:
        """Begin the file's part of the current batch."""
        self._parts += 1
        part = FilePart(
            self._parts,
            file.path,
            file.source,
            source,
            reading,
            file.modified,
            self.spool(file.source),
        )
        self.batch.parts.append(part)
        return part

    def spool(self, source: str) -> Spool:
        spool = Spool(self.home.quarantine / source, lake.drafts(self.home), self.redaction)
        self.batch.spools.append((source, spool))
        return spool

    def describe(self, file: InboxFile, reading: Reading) -> SourceReport:
        about = self.report.source(file.source)
        about.format = reading.format
        if reading.format != "native":
            about.columns = {
                name: column.label
                for name, column in reading.columns.items()
                if not (reading.format == "jsonl" and name == column.label)
            } | ({"ts": "the file's modification time"} if reading.ts_from_file else {})
        for note in reading.notes:
            about.note(note)
        return about

    def check_clock(self, file: InboxFile, part: FilePart) -> None:
        """Hold a part back when too many of its rows lie in the future."""
        rule = self.sources.wrong_clock
        if part.future < rule.rows or part.future < rule.share * part.lines:
            return
        future = part.future
        lines = part.lines
        self.staging.discard(part)
        self.batch.parts.remove(part)
        self.note(
            file,
            f"held back: {future:,} of {lines:,} lines are in the future; "
            "set its crawler's clock (or timezone: in sources.yaml) right",
        )
        raise Held

    def is_twin(self, first_line: int, landed: Landed | None) -> bool:
        """Whether the file begins with a line that another content begins with."""
        twin = first_line in self._first_lines or self.ledger.has_first_line(first_line)
        self._first_lines.add(first_line)
        return twin and landed is None

    # Records

    def _take_records(self, file: InboxFile, handle: BinaryIO, fingerprint: str) -> None:
        source = self.sources.source(file.source)
        young = self.now - file.modified < timedelta(minutes=self.sources.half_line_minutes)
        hasher, head = xxhash.xxh3_128(), b""
        handle.seek(0)
        size = 0
        while block := handle.read(4 << 20):
            head = head or bytes(block[:HEAD])
            hasher.update(block)
            size += len(block)
        head_digest = xxhash.xxh3_128_hexdigest(head)
        digest = hasher.hexdigest()
        if any(
            mark.byte_count == size and mark.digest == digest
            for mark in self.ledger.candidates(head_digest)
        ):
            self._seen(file, fingerprint)
            return
        with open_parquet(file, handle, lake.drafts(self.home), source) as opened:
            if isinstance(opened, Refusal):
                if not young:
                    self._refuse(file, handle, opened, fingerprint, count_lines=False)
                return
            self.accepted(file)
            chain = int(digest[:16], 16)
            position = Position(size, opened.rows, 0, chain, chain, hasher)
            step = self.sources.batch_rows
            for first in range(0, max(opened.rows, 1), step):
                last = min(first + step, opened.rows)
                part = self.part(file, source, opened.reading)
                part.twin = self.ledger.has_first_line(chain)
                if last > first:
                    self.staging.add_records(
                        part, opened.raw_sql(first, last), first + 1, last, chain
                    )
                self.check_clock(file, part)
                part.spool.name(f"{digest[:16]}-{first + 1}-{last}")
                if last < opened.rows:
                    self.flush()
            self.batch.log_bytes += size
            reading = dump_reading(opened.reading, fingerprint)
            self.enter(file, fingerprint, mark_at(position, reading, file.source), head_digest)
            if opened.rows:
                self.describe(file, opened.reading).files += 1
        if self.staging.rows >= step:
            self.flush()

    def enter(
        self,
        file: InboxFile,
        fingerprint: str,
        mark: Mark | None,
        head_digest: str,
        *,
        complete: bool = True,
    ) -> None:
        """What the ledger will say of a file when the batch is committed."""
        if mark is not None:
            self.ledger.expect(mark, head_digest)

        def entry(ledger: Ledger) -> None:
            if mark is not None:
                ledger.mark(mark, head_digest, self.now)
            if complete:
                ledger.saw(file.path, file.version, fingerprint, "landed", self.now)

        self.batch.entries.append(entry)

    # Files that are not read

    def _seen(self, file: InboxFile, fingerprint: str) -> None:
        self.batch.entries.append(
            lambda ledger: ledger.saw(file.path, file.version, fingerprint, "landed", self.now)
        )

    def note(self, file: InboxFile, text: str) -> None:
        self.report.source(file.source).note(f"{file.name} {text}")

    def _refuse(
        self,
        file: InboxFile,
        handle: BinaryIO,
        refusal: Refusal,
        fingerprint: str,
        *,
        count_lines: bool = True,
    ) -> None:
        """Quarantine a file as a whole, until it or its source's entry changes."""
        lines = _count_lines(handle) if count_lines else 1
        self.note(file, refusal.reason)
        part = self.part(file, self.sources.source(file.source), Reading("refused"))
        part.quarantined[refusal.reason.partition(" (")[0].partition(":")[0]] += lines
        part.spool.add(source=file.source, file=file.path, line=0, reason=refusal.reason, raw="")
        part.spool.name(_refused_name(file))
        self.report.source(file.source).files += 1
        self.batch.entries.append(
            lambda ledger: ledger.saw(file.path, file.version, fingerprint, "refused", self.now)
        )

    def accepted(self, file: InboxFile) -> None:
        """A file that was refused before is read now: its quarantine entry goes."""
        if self.ledger.was_refused(file.path):
            path = self.home.quarantine / file.source / f"{_refused_name(file)}.jsonl"
            self.batch.replaced.append(path.relative_to(self.home.root).as_posix())

    def say(self, text: str) -> None:
        self._progress(text)


class _LineIntake:
    """One file of lines: its chunks, its parts of batches, its unfinished last line."""

    def __init__(
        self,
        intake: Intake,
        file: InboxFile,
        handle: BinaryIO,
        head: Head,
        landed: Landed | None,
        reading: Reading,
        source: Source,
        young: bool,
    ) -> None:
        self.intake = intake
        self.file = file
        self.handle = handle
        self.head_digest = head.digest
        self.landed = landed
        self.reading = reading
        self.source = source
        self.young = young
        self.position = landed.resume if landed else Position()
        self.before = self.position
        self.waits = False
        self.open_line: str | None = None
        self.open_spool: Spool | None = None

    def run(self, fingerprint: str) -> None:
        intake = self.intake
        reader = reader_for(self.reading)
        content, blocks = content_from(self.handle, self.position.byte_count)
        found = ahead(
            chunks(
                blocks,
                self.position,
                max_line=intake.sources.max_line_mib << 20,
                take_open_end=lambda: self._take_open_end(content),
                cut=reader.cut,
                finished=reader.finished,
                headers=int(reader.is_header(1)),
            ),
            CHUNKS_AHEAD,
        )
        part = intake.part(self.file, self.source, self.reading)
        start_line = self.position.line_count
        said = self.position.byte_count
        brought = 0
        twin: bool | None = None
        again = self._line_to_complete()
        try:
            for chunk in found:
                if twin is None and chunk.after.first_line is not None:
                    twin = intake.is_twin(chunk.after.first_line, self.landed)
                part.twin = bool(twin)
                known = again is not None and not again.startswith("quarantined")
                again = None
                self._stage(part, reader, chunk.without_first() if known else chunk, content)
                self.position = chunk.after
                if not chunk.open_end:
                    self.before = chunk.after
                intake.batch.log_bytes += chunk.after.byte_count - chunk.before.byte_count
                if self.position.byte_count - said > PROGRESS_BYTES:
                    said = self.position.byte_count
                    intake.say(f"{self.file.name}: {self.position.line_count:,} lines read")
                if intake.staging.rows >= intake.sources.batch_rows and not chunk.open_end:
                    brought += part.lines
                    self._finish(part, start_line, fingerprint, complete=False)
                    intake.flush()
                    part = intake.part(self.file, self.source, self.reading)
                    start_line = self.position.line_count
        finally:
            close(found)
            close(blocks)
        if content.problem:
            intake.note(self.file, f"{content.problem}: what could be read has landed")
        brought += part.lines
        self._finish(part, start_line, fingerprint, complete=not self.waits)
        about = intake.describe(self.file, self.reading)
        if brought:
            about.files += 1
        if intake.staging.rows >= intake.sources.batch_rows or len(intake.batch.parts) >= MAX_PARTS:
            intake.flush()

    def _line_to_complete(self) -> str | None:
        """What became of the unfinished line that reading begins with again, if there is one.

        What was quarantined of it is taken back when the batch is committed.
        """
        if self.landed is None or self.landed.mark.open_line is None:
            return None
        mark = self.landed.mark
        if mark.open_line_quarantine:
            self.intake.batch.replaced.append(mark.open_line_quarantine)
        return mark.open_line

    def _take_open_end(self, content: Content) -> bool:
        """Whether a last line without a line end is finished."""
        still = content.problem == ENDS_EARLY if content.compressed else True
        self.waits = self.young and still
        return not self.waits

    def _stage(
        self, part: FilePart, reader: LineReader, chunk: LineChunk, content: Content
    ) -> None:
        if not len(chunk):
            return
        if not chunk.open_end:
            self.intake.staging.add_lines(part, reader, chunk)
            return
        usual, before = part.spool, (part.rows, part.skipped.total())
        part.spool = self.open_spool = self.intake.spool(self.file.source)
        if content.problem:
            part.quarantine(chunk.first_line, content.problem, chunk.text(0))
            reason = content.problem
        else:
            known = set(part.quarantined)
            counts = dict(part.quarantined)
            self.intake.staging.add_lines(part, reader, chunk)
            reason = next(
                (
                    name
                    for name, count in part.quarantined.items()
                    if name not in known or count > counts[name]
                ),
                "",
            )
        part.spool = usual
        if part.rows > before[0]:
            self.open_line = "row"
        elif part.skipped.total() > before[1]:
            self.open_line = "skipped"
        else:
            self.open_line = f"quarantined {reason}"
        name = f"{self.position.digest[:16]}-{chunk.first_line}-open"
        self.open_spool.name(name)

    def _finish(self, part: FilePart, start_line: int, fingerprint: str, *, complete: bool) -> None:
        """Close the file's part of the batch, with the ledger's entry for it."""
        intake = self.intake
        intake.check_clock(self.file, part)
        position = self.position
        part.spool.name(f"{position.digest[:16]}-{start_line + 1}-{position.line_count}")
        mark = None
        if position.byte_count and (
            self.landed is None or position.byte_count > self.landed.mark.byte_count
        ):
            spool = self.open_spool
            mark = mark_at(
                position,
                dump_reading(self.reading, fingerprint),
                self.file.source,
                resume=self.before if self.open_line else None,
                open_line=self.open_line,
                open_line_quarantine=(
                    spool.path.relative_to(intake.home.root).as_posix()
                    if spool is not None and spool.lines
                    else None
                ),
            )
        intake.enter(self.file, fingerprint, mark, self.head_digest, complete=complete)


def _refused_name(file: InboxFile) -> str:
    return f"refused-{xxhash.xxh3_64_hexdigest(file.path.encode())}"


def _is_compressed(handle: BinaryIO) -> bool:
    handle.seek(0)
    return open_content(handle).compressed


def _count_lines(handle: BinaryIO) -> int:
    """Lines of a content, the unfinished last one too; one for what cannot be read at all."""
    _, blocks = content_from(handle, 0)
    lines, last = 0, b"\n"
    for block in blocks:
        lines += block.count(b"\n")
        last = block[-1:] or last
    return max(lines + (last != b"\n"), 1)
