"""What one validation of items came to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class ExtractionReport:
    """Windows validated, extractions in them and valid ones, and what could not be validated.

    ``unchecked`` counts the items of page types whose suite is broken; ``notes`` says why, one line
    each. ``data_docs`` is the page to open, None when nothing went through Great Expectations.
    """

    windows: int = 0
    extractions: int = 0
    valid: int = 0
    unchecked: int = 0
    notes: tuple[str, ...] = ()
    data_docs: Path | None = None

    def lines(self) -> list[str]:
        """For people: one line for all, one a note."""
        if self.windows == 0:
            return ["No items to validate: every window has its checks", *self.notes]
        told = [
            f"Validated {self.extractions:,} extractions of {self.windows:,} windows: "
            f"{self.valid:,} valid"
        ]
        if self.data_docs:
            told.append(f"Data Docs: {self.data_docs.as_uri()}")
        return [*told, *self.notes]

    def as_json(self) -> dict[str, Any]:
        return {
            "windows": self.windows,
            "extractions": self.extractions,
            "valid": self.valid,
            "unchecked": self.unchecked,
            "notes": list(self.notes),
            "data_docs": self.data_docs.as_uri() if self.data_docs else None,
        }
