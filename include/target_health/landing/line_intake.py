"""One file of lines on its way: chunk by chunk into the batch, to where it can be read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

from target_health.config.sources import Source
from target_health.landing import lake, streaming
from target_health.landing.files import Head, Landed, close, content_from
from target_health.landing.inbox import InboxFile
from target_health.landing.ledger import dump_reading, mark_at
from target_health.landing.quarantine import Spool
from target_health.readers.lines import LineChunk, Position
from target_health.readers.raw import Reading
from target_health.readers.reader import LineReader
from target_health.readers.recognise import reader_for
from target_health.readers.streams import ENDS_EARLY, Content, ahead

if TYPE_CHECKING:
    from target_health.landing.intake import Intake

#: Say how far a large file is, every so many bytes.
PROGRESS_BYTES = 256 << 20
#: Chunks that are read while another is staged: one is enough to keep both sides busy.
CHUNKS_AHEAD = 1
#: Of a chunk, looked through for event ids.
HEAD_BYTES = 1 << 16
#: Files in a batch at most, so that very many small ones are made visible bit by bit.
MAX_PARTS = 1000
#: A line's bytes, from above, where the space for many of them is estimated.
BYTES_A_LINE = 1000


class Coming:
    """Chunks to come, of which the next one can be put back."""

    def __init__(self, chunks: Iterator[LineChunk]) -> None:
        self._chunks = chunks
        self._back: list[LineChunk] = []

    def next(self) -> LineChunk | None:
        return self._back.pop() if self._back else next(self._chunks, None)

    def put_back(self, chunk: LineChunk) -> None:
        self._back.append(chunk)


class LineIntake:
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
        self.twin: bool | None = None
        self.brought = 0
        self.said = self.position.byte_count
        self.start_line = 0
        self.full = False
        self.fingerprint = ""

    def run(self, fingerprint: str) -> None:
        intake = self.intake
        reader = reader_for(self.reading)
        content, blocks = content_from(self.handle, self.position.byte_count)
        found = ahead(
            reader.chunks(
                blocks,
                self.position,
                max_line=intake.sources.max_line_mib << 20,
                take_open_end=lambda: self._take_open_end(content),
            ),
            CHUNKS_AHEAD,
        )
        self.fingerprint = fingerprint
        again = self._line_to_complete()
        self._begin_part()
        coming = Coming(found)
        try:
            while (chunk := coming.next()) is not None:
                if self.twin is None and chunk.after.first_line is not None:
                    self.twin = intake.is_twin(chunk.after.first_line, self.landed)
                self.part.twin = bool(self.twin)
                if again is not None:
                    if not again.startswith("quarantined"):
                        chunk = chunk.without_first()
                    again = None
                if self._goes_straight(reader, chunk):
                    coming.put_back(chunk)
                    self._straight(reader, coming)
                else:
                    self._stage(reader, chunk, content)
                    self._took(chunk)
                if self.full:
                    self._finish(complete=False)
                    intake.flush()
                    self._begin_part()
        finally:
            close(found)
            close(blocks)
        if content.problem:
            intake.note(self.file, f"{content.problem}: what could be read has landed")
        self._finish(complete=not self.waits)
        about = intake.describe(self.file, self.reading)
        if self.brought:
            about.files += 1
        if intake.staging.rows >= intake.sources.batch_rows or len(intake.batch.parts) >= MAX_PARTS:
            intake.flush()

    def _begin_part(self) -> None:
        self.part = self.intake.part(self.file, self.source, self.reading)
        self.part.twin = bool(self.twin)
        self.start_line = self.position.line_count
        self.full = False

    def _took(self, chunk: LineChunk) -> None:
        """The chunk is read: move the positions, say how far we are."""
        batch = self.intake.batch
        batch.log_bytes += chunk.after.byte_count - chunk.before.byte_count
        self.position = chunk.after
        if not chunk.open_end:
            self.before = chunk.after
            self.full = self.intake.staging.rows >= self.intake.sources.batch_rows
        if self.position.byte_count - self.said > PROGRESS_BYTES:
            self.said = self.position.byte_count
            self.intake.say(f"{self.file.name}: {self.position.line_count:,} lines read")

    def _goes_straight(self, reader: LineReader, chunk: LineChunk) -> bool:
        """Whether the chunk's rows need not be compared with any others."""
        if chunk.open_end or self.twin or len(chunk.data) < streaming.STREAM_FROM:
            return False
        if reader.straight_relation() is None:
            return False
        given = self.reading.columns.get("event_id")
        # Crawlers give all of their rows an id or none; single ones are put aside.
        return given is None or f'"{given.path[-1]}"'.encode() not in chunk.data[:HEAD_BYTES]

    def _straight(self, reader: LineReader, coming: Coming) -> None:
        """Stream chunks into a draft until one must go the other way."""
        intake = self.intake
        bytes_at_most = min(self.file.size, streaming.STREAM_LINES * BYTES_A_LINE)
        lake.check_space(intake.home, bytes_at_most, intake.sources.free_space_factor)
        relation = reader.straight_relation()
        assert relation is not None

        def straight() -> Iterator[LineChunk]:
            while (chunk := coming.next()) is not None:
                if not self._goes_straight(reader, chunk):
                    coming.put_back(chunk)
                    return
                yield chunk

        draft = intake.streaming.run(
            self.part, reader, relation, straight(), lake.new_draft(intake.home), intake.now,
            self._took,
        )  # fmt: skip
        if draft is not None:
            intake.batch.drafts.append(draft)
        self.full = True

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

    def _stage(self, reader: LineReader, chunk: LineChunk, content: Content) -> None:
        if not len(chunk):
            return
        part = self.part
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

    def _finish(self, *, complete: bool) -> None:
        """Close the file's part of the batch, with the ledger's entry for it."""
        intake, position = self.intake, self.position
        self.brought += self.part.lines
        intake.check_clock(self.file, self.part)
        lines = f"{self.start_line + 1}-{position.line_count}"
        self.part.spool.name(f"{position.digest[:16]}-{lines}")
        mark = None
        if position.byte_count and (
            self.landed is None or position.byte_count > self.landed.mark.byte_count
        ):
            spool = self.open_spool
            mark = mark_at(
                position,
                dump_reading(self.reading, self.fingerprint),
                self.file.source,
                resume=self.before if self.open_line else None,
                open_line=self.open_line,
                open_line_quarantine=(
                    spool.path.relative_to(intake.home.root).as_posix()
                    if spool is not None and spool.lines
                    else None
                ),
            )
        intake.enter(self.file, self.fingerprint, mark, self.head_digest, complete=complete)
