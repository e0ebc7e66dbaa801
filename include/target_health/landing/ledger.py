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
        self._seen: dict[str, tuple[str, str, str]] = {
            path: (version, fingerprint, state)
            for path, version, fingerprint, state in connection.execute(
                "SELECT path, version, fingerprint, state FROM inbox_files"
            ).fetchall()
        }

    def unchanged(self, path: str, version: str, fingerprint: str) -> bool:
        """The file was dealt with as it is now; a refused one also under this configuration."""
        seen = self._seen.get(path)
        return (
            seen is not None
            and seen[0] == version
            and (seen[2] == "landed" or seen[1] == fingerprint)
        )

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
        """Contents that a file with this head may continue, longest first.

        Contents shorter than ``HEAD`` bytes are all candidates: their head is all they have.
        """
        rows = self._connection.execute(
            "SELECT byte_count, digest, resume_at, line_count, stretch, key, open_line, "
            "open_line_quarantine, first_line, reading, source FROM landed_contents "
            "WHERE (byte_count >= ? AND head_digest = ?) OR byte_count < ? "
            "ORDER BY byte_count DESC",
            [HEAD, head_digest, HEAD],
        ).fetchall()
        return [Mark(*row) for row in rows]

    def has_first_line(self, first_line: int) -> bool:
        """Whether another content begins with the same line."""
        rows = self._connection.execute(
            "SELECT 1 FROM landed_contents WHERE first_line = ? LIMIT 1", [first_line]
        ).fetchall()
        return bool(rows)

    def mark(
        self,
        position: Position,
        *,
        head_digest: str,
        resume: Position,
        open_line: str | None,
        open_line_quarantine: str | None,
        reading: Reading,
        fingerprint: str,
        source: str,
        now: datetime,
    ) -> None:
        """Inside a transaction: the content is landed up to ``position``."""
        self._connection.execute(
            "INSERT INTO landed_contents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                position.byte_count,
                position.digest,
                head_digest,
                resume.byte_count,
                resume.line_count,
                resume.stretch,
                resume.key,
                open_line,
                open_line_quarantine,
                position.first_line,
                dump_reading(reading, fingerprint),
                source,
                now,
            ],
        )


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
        name: Column(tuple(column["path"]), column["factor"])
        for name, column in content.pop("columns").items()
    }
    content["header"] = tuple(content["header"])
    content["notes"] = tuple(content["notes"])
    return Reading(columns=columns, **content)
