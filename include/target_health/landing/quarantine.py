"""Lines that could not be read, kept as they came with the reason, file and line."""

from __future__ import annotations

import json
import os
import uuid
from contextlib import suppress
from pathlib import Path
from typing import IO

from target_health.landing.redact import Redaction


class Spool:
    """Quarantined lines of one file in one batch; nothing is there until ``keep``."""

    def __init__(self, directory: Path, drafts: Path, redaction: Redaction) -> None:
        self._directory = directory
        self._drafts = drafts
        self._redaction = redaction
        self._file: IO[str] | None = None
        self.draft = drafts / f"{uuid.uuid4().hex}.jsonl"
        self.path = directory / self.draft.name
        self.lines = 0

    def name(self, name: str) -> None:
        """Decide the final name: by content and lines, so that a repeat replaces itself."""
        self.path = self._directory / f"{name}.jsonl"

    def add(self, *, source: str, file: str, line: int, reason: str, raw: str) -> None:
        if self._file is None:
            self._drafts.mkdir(parents=True, exist_ok=True)
            self._file = self.draft.open("w", encoding="utf-8", errors="replace")
        record = {
            "source": source,
            "file": file,
            "line": line,
            "reason": reason,
            "raw": self._redaction.text(raw),
        }
        self._file.write(json.dumps(record, ensure_ascii=False) + "\n")
        self.lines += 1

    def keep(self) -> bool:
        """Make the lines durable under their final name; False when there are none."""
        if self._file is None:
            return False
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._directory.mkdir(parents=True, exist_ok=True)
        os.replace(self.draft, self.path)
        return True

    def drop(self) -> None:
        if self._file is not None:
            with suppress(OSError):  # a full disk fails once more here
                self._file.close()
            self.draft.unlink(missing_ok=True)
            self._file = None
            self.lines = 0
