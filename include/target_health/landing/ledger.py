"""What has been landed: contents by their bytes, files as last seen."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import datetime

import duckdb

from target_health.readers.lines import Position
from target_health.readers.raw import Column, Reading

#: Bytes whose digest finds the contents that a file may be the continuation of.
HEAD = 4096


@dataclass(frozen=True, slots=True)
class Mark:
    """A content landed up to here: its first ``byte_count`` bytes have this digest."""

    byte_count: int
    digest: str
    resume_at: int
    line_count: int
    stretch: int
    key: int
    open_line: str | None
    open_line_quarantine: str | None
    first_line: int | None
    reading: str | None
    source: str


class Ledger:
    """The ledger's tables; nothing is cached between landings."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._expected: list[tuple[str, Mark]] = []
        self._seen: dict[str, tuple[str, str, str]] = {
            path: (version, fingerprint, state)
            for path, version, fingerprint, state in connection.execute(
                "SELECT path, version, fingerprint, state FROM inbox_files"
            ).fetchall()
        }
        self._held: dict[str, list[str]] = {}
        for path, source in connection.execute(
            "SELECT path, source FROM quarantine_files WHERE path NOT LIKE '%/refused-%'"
        ).fetchall():
            self._held.setdefault(source, []).append(path)

    def unchanged(self, path: str, version: str, fingerprint: str, source: str) -> bool:
        """The file was dealt with as it is now; also under this configuration, if it matters.

        It does for a refused file, and for any while its source has lines in quarantine.
        """
        seen = self._seen.get(path)
        return (
            seen is not None
            and seen[0] == version
            and (seen[1] == fingerprint or (seen[2] == "landed" and source not in self._held))
        )

    def quarantined(self, source: str, fingerprint: str) -> dict[str, list[str]]:
        """The source's files of quarantined lines that were not read under this configuration.

        By the first 16 digits of the digest of the content that they are of.
        """
        found: dict[str, list[str]] = {}
        for path in self._held.get(source, ()):
            stem = path.rpartition("/")[2].removesuffix(".jsonl")
            if not stem.endswith(f"-again-{fingerprint}"):
                found.setdefault(stem[:16], []).append(path)
        return found

    def has_seen(self, path: str) -> bool:
        return path in self._seen

    def was_refused(self, path: str) -> bool:
        return path in self._seen and self._seen[path][2] == "refused"

    def saw(self, path: str, version: str, fingerprint: str, state: str, now: datetime) -> None:
        """Inside a transaction: the file is dealt with as it is now."""
        self._connection.execute(
            "INSERT OR REPLACE INTO inbox_files VALUES (?, ?, ?, ?, ?)",
            [path, version, fingerprint, state, now],
        )
        self._seen[path] = (version, fingerprint, state)

    def candidates(self, head_digest: str) -> list[Mark]:
        """Contents that a file with this head may continue.

        Contents shorter than ``HEAD`` bytes are all candidates: their head is all they have.
        """
        rows = self._connection.execute(
            "SELECT byte_count, digest, resume_at, line_count, stretch, key, open_line, "
            "open_line_quarantine, first_line, reading, source FROM landed_contents "
            "WHERE (byte_count >= ? AND head_digest = ?) OR byte_count < ?",
            [HEAD, head_digest, HEAD],
        ).fetchall()
        expected = [
            mark
            for digest, mark in self._expected
            if mark.byte_count < HEAD or digest == head_digest
        ]
        return expected + [Mark(*row) for row in rows]

    def goes_beyond(self, first_line: int, byte_count: int) -> bool:
        """Whether a content that begins with the same line was landed further than this."""
        if any(
            mark.first_line == first_line and mark.byte_count > byte_count
            for _, mark in self._expected
        ):
            return True
        rows = self._connection.execute(
            "SELECT 1 FROM landed_contents WHERE first_line = ? AND byte_count > ? LIMIT 1",
            [first_line, byte_count],
        ).fetchall()
        return bool(rows)

    def expect(self, mark: Mark, head_digest: str) -> None:
        """A content of the current batch: not landed yet, but not to be read twice either."""
        self._expected.append((head_digest, mark))

    def settled(self) -> None:
        """The batch is committed: what was expected stands in the tables now."""
        self._expected.clear()

    def is_expected(self, mark: Mark) -> bool:
        return any(expected is mark for _, expected in self._expected)

    def mark(self, mark: Mark, head_digest: str, now: datetime) -> None:
        """Inside a transaction: the content is landed up to here."""
        self._connection.execute(
            "DELETE FROM landed_contents WHERE byte_count = ? AND digest = ?",
            [mark.byte_count, mark.digest],
        )
        self._connection.execute(
            "INSERT INTO landed_contents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                mark.byte_count,
                mark.digest,
                head_digest,
                mark.resume_at,
                mark.line_count,
                mark.stretch,
                mark.key,
                mark.open_line,
                mark.open_line_quarantine,
                mark.first_line,
                mark.reading,
                mark.source,
                now,
            ],
        )


def mark_at(
    position: Position,
    reading: str,
    source: str,
    *,
    resume: Position | None = None,
    open_line: str | None = None,
    open_line_quarantine: str | None = None,
) -> Mark:
    """The mark of a content landed up to ``position``."""
    resume = resume or position
    return Mark(
        byte_count=position.byte_count,
        digest=position.digest,
        resume_at=resume.byte_count,
        line_count=resume.line_count,
        stretch=resume.stretch,
        key=resume.key,
        open_line=open_line,
        open_line_quarantine=open_line_quarantine,
        first_line=position.first_line,
        reading=reading,
        source=source,
    )


def read_under(mark: Mark) -> str | None:
    """The configuration of its source under which a content was read."""
    return None if mark.reading is None else str(json.loads(mark.reading)["fingerprint"])


def dump_reading(reading: Reading, fingerprint: str) -> str:
    return json.dumps({"fingerprint": fingerprint, **asdict(reading)})


def load_reading(text: str | None, fingerprint: str) -> Reading | None:
    """The reading of a mark, if it was made under the same configuration of its source."""
    if text is None:
        return None
    content = json.loads(text)
    if content.pop("fingerprint") != fingerprint:
        return None
    columns = {
        name: Column(tuple(column["path"]), column["factor"], tuple(column.get("clock", ())))
        for name, column in content.pop("columns").items()
    }
    content["header"] = tuple(content["header"])
    content["notes"] = tuple(content["notes"])
    return Reading(columns=columns, **content)
