"""Items on their way to be validated, page type by page type."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from target_health.extraction.counting import CheckCounts, Tally
from target_health.extraction.items import (
    Record,
    fields_with_value,
    getter,
    holds_a_value,
    records_of,
)
from target_health.extraction.rules import HOLDS_A_VALUE, LEARNED, WHOLE_ITEM
from target_health.extraction.suites import Suite

# Records that are held whole: column by column is faster than record by record.
READ_AT_ONCE, READ_AT_ONCE_BYTES = 500, 4_000_000


class SuiteItems:
    """The items of a page type with a suite: one value a field of the suite, one row a record."""

    def __init__(self, suite: Suite) -> None:
        self.suite = suite
        self._getters = {name: getter(name) for name in suite.fields}
        self.clear()

    def clear(self) -> None:
        """Hold nothing."""
        self.windows: list[int] = []
        self.empty: list[int] = []
        self.lost: Counter[int] = Counter()
        self.text_bytes = 0
        self._columns: dict[str, list[Any]] = {name: [] for name in self._getters}
        self._unread: list[Record] = []
        self._unread_bytes = 0

    @property
    def count(self) -> int:
        """Extractions that are held."""
        return len(self.windows) + self.lost.total()

    @property
    def columns(self) -> dict[str, list[Any]]:
        """The values of each field, one a record."""
        self._read()
        return self._columns

    def add(self, window: int, text: str) -> None:
        """The extractions of one fetch."""
        self.text_bytes += len(text)
        self._unread_bytes += len(text)
        for record in records_of(text):
            if record is None:
                self.lost[window] += 1
                continue
            if not holds_a_value(record):
                self.empty.append(len(self.windows))
            self.windows.append(window)
            self._unread.append(record)
        if len(self._unread) >= READ_AT_ONCE or self._unread_bytes >= READ_AT_ONCE_BYTES:
            self._read()

    def _read(self) -> None:
        """Keep the suite's fields of the newest records, and let go of the rest of them."""
        for name, get in self._getters.items():
            self._columns[name].extend(map(get, self._unread))
        self._unread, self._unread_bytes = [], 0


@dataclass(slots=True)
class WindowCoverage:
    """What a window's records of one page type hold, and how they stand to what was learned."""

    extractions: int = 0
    records: int = 0
    held: int = 0
    valid: int = 0
    fields: Counter[str] = field(default_factory=Counter)
    missing: Counter[str] = field(default_factory=Counter)


class LearnedItems:
    """The items of page types without a suite, against the fields that were always there."""

    def __init__(self, required: dict[tuple[str, str], frozenset[str]]) -> None:
        """``required``: the learned fields by site and page type."""
        self._required = required
        self.coverage: dict[tuple[int, str], WindowCoverage] = {}
        self._asked: dict[tuple[int, str], frozenset[str]] = {}

    def add(self, window: int, site: str, page_type: str, text: str) -> None:
        """The extractions of one fetch."""
        key = (window, page_type)
        counts = self.coverage.get(key)
        if counts is None:
            counts = self.coverage[key] = WindowCoverage()
            self._asked[key] = self._required.get((site, page_type), frozenset())
        required = self._asked[key]
        for record in records_of(text):
            counts.extractions += 1
            if record is None:
                continue
            counts.records += 1
            present = fields_with_value(record)
            missing = required - present
            counts.fields.update(present)
            counts.missing.update(missing)
            if present or holds_a_value(record):
                counts.held += 1
                counts.valid += not missing

    def count_into(self, tally: Tally) -> None:
        """Extractions, valid ones and missing fields, by window."""
        by_check: dict[tuple[str, str], list[tuple[int, int, int]]] = {}
        extractions = []
        for (window, page_type), counts in self.coverage.items():
            extractions.append((window, counts.extractions, counts.valid))
            whole = (window, counts.extractions, counts.extractions - counts.held)
            by_check.setdefault((page_type, WHOLE_ITEM), []).append(whole)
            if counts.records:
                for name in self._asked[window, page_type]:
                    row = (window, counts.records, counts.missing[name])
                    by_check.setdefault((page_type, name), []).append(row)
        if not extractions:
            return
        tally.add_extractions(*np.array(extractions, dtype=np.int64).T)
        for (page_type, name), rows in by_check.items():
            expectation = HOLDS_A_VALUE if name == WHOLE_ITEM else LEARNED
            tally.checks.append(
                CheckCounts(page_type, name, expectation, *np.array(rows, dtype=np.int64).T)
            )

    def coverage_rows(self, fields_kept: int) -> pd.DataFrame:
        """Rows of ``field_coverage`` by window number; the most common fields of each window."""
        return pd.DataFrame(
            [
                (window, page_type, name, records)
                for (window, page_type), counts in self.coverage.items()
                for name, records in [
                    (WHOLE_ITEM, counts.held),
                    *most_common(counts.fields.items(), fields_kept),
                ]
            ],
            columns=["number", "page_type", "field", "records"],
        ).astype({"number": "int64", "records": "int64"})


def most_common(counts: Iterable[tuple[str, int]], kept: int) -> list[tuple[str, int]]:
    """The largest counts; names decide between equal ones."""
    return sorted(counts, key=lambda pair: (-pair[1], pair[0]))[:kept]
