"""What a landing says it did."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any


@dataclass
class SourceReport:
    """One source's part. ``columns`` says which column was taken for what;
    ``remarks`` count what is to be said of single lines; ``copies`` are files passed over."""

    format: str = ""
    files: int = 0
    rows: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    quarantined: Counter[str] = field(default_factory=Counter)
    columns: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    remarks: Counter[str] = field(default_factory=Counter)
    copies: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    @property
    def all_notes(self) -> list[str]:
        """The notes, how often each remark was made on a line, and the copies passed over."""
        said = self.notes + [f"{count:,} × {text}" for text, count in self.remarks.items()]
        if self.copies:
            more = f" and {len(self.copies) - 3:,} more" if len(self.copies) > 3 else ""
            said.append(f"landed before, nothing new in it: {', '.join(self.copies[:3])}{more}")
        return said

    def as_json(self) -> dict[str, Any]:
        return {
            "format": self.format,
            "files": self.files,
            "rows": self.rows,
            "skipped": dict(sorted(self.skipped.items())),
            "quarantined": dict(sorted(self.quarantined.items())),
            "columns": self.columns,
            "notes": self.all_notes,
        }


@dataclass
class LandingReport:
    """Counts of one landing. ``files`` counts those that brought lines; ``skipped`` and
    ``quarantined`` count lines; their reasons stand with the sources."""

    sources: dict[str, SourceReport] = field(default_factory=dict)

    def source(self, name: str) -> SourceReport:
        return self.sources.setdefault(name, SourceReport())

    @property
    def files(self) -> int:
        return sum(source.files for source in self.sources.values())

    @property
    def rows(self) -> int:
        return sum(source.rows for source in self.sources.values())

    @property
    def skipped(self) -> int:
        return sum(source.skipped.total() for source in self.sources.values())

    @property
    def quarantined(self) -> int:
        return sum(source.quarantined.total() for source in self.sources.values())

    def as_json(self) -> dict[str, Any]:
        """``{files, rows, skipped, quarantined, sources}``: totals, and the reasons by source."""
        return {
            "files": self.files,
            "rows": self.rows,
            "skipped": self.skipped,
            "quarantined": self.quarantined,
            "sources": {name: self.sources[name].as_json() for name in sorted(self.sources)},
        }

    def lines(self) -> list[str]:
        """For people: one line for all, then each source with its reasons, columns and notes."""
        shown = [
            f"Landed {self.rows:,} fetches from {self.files:,} files; {self.skipped:,} lines "
            f"skipped, {self.quarantined:,} quarantined."
        ]
        for name in sorted(self.sources):
            source = self.sources[name]
            shown.append(
                f"{name} ({source.format or 'not read'}): {source.rows:,} fetches from "
                f"{source.files:,} files"
                + _reasons("skipped", source.skipped)
                + _reasons("quarantined", source.quarantined)
            )
            if source.columns:
                taken = ", ".join(
                    f"{field} from {column}" for field, column in source.columns.items()
                )
                shown.append(f"  columns: {taken}")
            shown += [f"  note: {note}" for note in source.all_notes]
        return shown


def _reasons(outcome: str, counts: Counter[str]) -> str:
    if not counts:
        return ""
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in counts.most_common())
    return f"; {outcome}: {reasons}"
