"""Taking files in: each is matched with the ledger, read from where it was left, and judged."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import BinaryIO

import duckdb
import xxhash

from target_health.config.sites import Sites
from target_health.config.sources import Source, Sources
from target_health.landing import lake
from target_health.landing.batch import Batch, commit
from target_health.landing.bodies import Bodies
from target_health.landing.files import Landed, count_lines, find_landed, read_head
from target_health.landing.inbox import InboxFile
from target_health.landing.ledger import (
    HEAD,
    Ledger,
    Mark,
    dump_reading,
    load_reading,
    mark_at,
    read_under,
)
from target_health.landing.line_intake import LineIntake
from target_health.landing.normalise import Rules
from target_health.landing.parquet_intake import open_parquet
from target_health.landing.quarantine import Spool
from target_health.landing.read_again import lines_again, records_again
from target_health.landing.redact import Redaction
from target_health.landing.report import LandingReport, SourceReport
from target_health.landing.staging import FilePart, Staging
from target_health.landing.streaming import Streaming
from target_health.paths import Home
from target_health.readers.lines import Position
from target_health.readers.parquet import MAGIC
from target_health.readers.raw import Reading, Refusal
from target_health.readers.recognise import recognise
from target_health.readers.streams import ENDS_EARLY, open_content

#: Say how far a large file is, every so many bytes.
PROGRESS_BYTES = 256 << 20
UNREADABLE = "cannot be read"
#: Saved pages by their names, and by how they begin. They are no logs, whatever is in them.
PAGE_NAME = re.compile(r"\.x?html?(\.gz)?$", re.IGNORECASE)
IS_PAGE = re.compile(rb"(?i)\s*(?:\xef\xbb\xbf)?\s*<(?:!doctype html|html|head|body)\b")
NO_LOG = "saved page that no log names so far: not landed"
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
        bodies: Bodies,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        self.home = home
        self.warehouse = warehouse
        self.sources = sources
        self.now = now
        self.bodies = bodies
        self.report = LandingReport()
        self.redaction = Redaction(sources.redact_parameters)
        self.ledger = Ledger(warehouse)
        self.staging = Staging(
            Rules(now, sources, self.redaction), sites, bodies, home.work / "spill"
        )
        self.streaming = Streaming(self.staging)
        self.batch = Batch()
        self._progress = progress or (lambda text: None)
        self._parts = 0
        self._undecided: list[InboxFile] = []
        self._last = False

    def close(self) -> None:
        for _, spool in self.batch.spools:
            spool.drop()
        for draft in self.batch.drafts:
            draft.path.unlink(missing_ok=True)
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

    def take(self, file: InboxFile, *, last: bool = False) -> None:
        """Take in what is new of one file.

        Saved pages and files in no known format wait for ``settle``, unless ``last``: a log may
        name them as bodies.
        """
        fingerprint = self.sources.fingerprint(file.source)
        if self.ledger.unchanged(file.path, file.version, fingerprint, file.source):
            if self.ledger.was_refused(file.path):
                self._undecided.append(file)
            return
        if not last and PAGE_NAME.search(file.name):
            self._undecided.append(file)
            return
        self._last = last
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

    def settle(self) -> None:
        """Decide on the files that waited: bodies that a log has named, or refused ones."""
        waiting, self._undecided = self._undecided, []
        for file in waiting:
            if self.bodies.has_read(file.path, local=file.local):
                self.accepted(file)
                self._seen(file, self.sources.fingerprint(file.source))
            else:
                self.take(file, last=True)

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
        source = self.sources.source(file.source)
        if landed is not None and read_under(landed.mark) != fingerprint:
            lines_again(self, file, handle, head, landed, source, fingerprint)
        if landed is not None and not landed.more:
            self._passed_over(file, fingerprint)
            return
        reading = load_reading(landed.mark.reading, fingerprint) if landed else None
        if reading is None:
            recognised = recognise(file.name, head.lines, source)
            if isinstance(recognised, Refusal) and not self._last:
                self._undecided.append(file)
                return
            if isinstance(recognised, Refusal) and IS_PAGE.match(head.data[:1024]):
                self.report.source(file.source).remarks[NO_LOG] += 1
                self._seen(file, fingerprint)
                return
            if isinstance(recognised, Refusal):
                self._refuse(file, handle, recognised, fingerprint)
                return
            reading = recognised
        self.accepted(file)
        LineIntake(self, file, handle, head, landed, reading, source, young).run(fingerprint)

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
        for draft in [draft for draft in self.batch.drafts if draft.part is part]:
            draft.path.unlink(missing_ok=True)
            self.batch.drafts.remove(draft)
        self.note(
            file,
            f"held back: {future:,} of {lines:,} lines are in the future; "
            "set its crawler's clock (or timezone: in sources.yaml) right",
        )
        raise Held

    def is_twin(self, first_line: int, landed: Landed | None) -> bool:
        """Whether a content that begins like this one was landed further than this one."""
        return self.ledger.goes_beyond(first_line, landed.mark.byte_count if landed else 0)

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
        marks = self.ledger.candidates(head_digest)
        landed = [mark for mark in marks if (mark.byte_count, mark.digest) == (size, digest)]
        again = landed and self.ledger.quarantined(file.source, fingerprint).get(digest[:16])
        if landed and not again:
            self._passed_over(file, fingerprint)
            return
        with open_parquet(file, handle, lake.drafts(self.home), source) as opened:
            if isinstance(opened, Refusal):
                if not young:
                    self._refuse(file, handle, opened, fingerprint, by_lines=False)
                return
            self.accepted(file)
            if landed:
                records_again(self, file, opened, source, landed[0], head_digest, fingerprint)
                self._passed_over(file, fingerprint)
                return
            chain = int(digest[:16], 16)
            position = Position(size, opened.rows, 0, chain, chain, hasher)
            step = self.sources.batch_rows
            for first in range(0, max(opened.rows, 1), step):
                last = min(first + step, opened.rows)
                part = self.part(file, source, opened.reading)
                part.twin = self.ledger.goes_beyond(chain, 0)
                if last > first:
                    self.staging.add_records(
                        part,
                        opened.raw_sql(first, last),
                        first + 1,
                        last,
                        chain,
                        opened.records_sql(first, last),
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

    def _passed_over(self, file: InboxFile, fingerprint: str) -> None:
        """All of the file was landed before, from it or from another."""
        if not self.ledger.has_seen(file.path):
            self.report.source(file.source).copies.append(file.name)
        self._seen(file, fingerprint)

    def note(self, file: InboxFile, text: str) -> None:
        self.report.source(file.source).note(f"{file.name} {text}")

    def _refuse(
        self,
        file: InboxFile,
        handle: BinaryIO,
        refusal: Refusal,
        fingerprint: str,
        *,
        by_lines: bool = True,
    ) -> None:
        """Quarantine a file as a whole, until it or its source's entry changes."""
        lines = count_lines(handle, refusal.reading) if by_lines else refusal.records
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


def _refused_name(file: InboxFile) -> str:
    return f"refused-{xxhash.xxh3_64_hexdigest(file.path.encode())}"


def _is_compressed(handle: BinaryIO) -> bool:
    handle.seek(0)
    return open_content(handle).compressed
