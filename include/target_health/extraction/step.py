"""Validating the items of every window that has no checks for what it holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import numpy as np

from target_health.config import Configuration
from target_health.extraction.collecting import LearnedItems, SuiteItems
from target_health.extraction.counting import Outcome, Tally, count_back
from target_health.extraction.fetches import items_of, pieces_of_day
from target_health.extraction.learned import (
    later_learned_days,
    learn_day,
    learned_of_day,
    store_coverage,
)
from target_health.extraction.report import ExtractionReport
from target_health.extraction.storage import (
    PROGRESS,
    add_pending_windows,
    find_pending_windows,
    store_tally,
)
from target_health.extraction.suites import Suites
from target_health.modelling.progress import modelled_until, set_modelled_until
from target_health.paths import Home
from target_health.warehouse.transactions import transaction

if TYPE_CHECKING:
    from target_health.extraction.validation import Validation

Progress = Callable[[str], None]

# Rows of checks that are held before they are stored.
MOST_CHECKS = 200_000


def validate_items(
    connection: duckdb.DuckDBPyConnection,
    home: Home,
    configuration: Configuration,
    suites: Suites,
    start: datetime,
    *,
    now: datetime,
    progress: Progress = lambda message: None,
) -> ExtractionReport:
    """Validate the items of ok fetches: from ``start`` on, since the last time, and late ones.

    A window whose fetches are what they were keeps its checks. A page type whose suite cannot be
    used is left out and counted, the others go on. A killed run leaves whole windows.
    """
    made = modelled_until(connection, "windows")
    if made is None:
        return ExtractionReport()
    run = Run(connection, home, configuration, suites, now, progress)
    if find_pending_windows(connection, suites, start):
        run.validate_days()
    with transaction(connection):
        set_modelled_until(connection, PROGRESS, made)
    return run.report()


@dataclass(slots=True)
class Run:
    """One validation: what is held on its way, and what it came to."""

    connection: duckdb.DuckDBPyConnection
    home: Home
    configuration: Configuration
    suites: Suites
    now: datetime
    progress: Progress
    held: dict[str, SuiteItems] = field(default_factory=dict)
    tally: Tally = field(default_factory=Tally)
    done: list[int] = field(default_factory=list)
    # By page type: why its items are not checked, and the digest of its suite.
    reasons: dict[str, tuple[str, str]] = field(default_factory=dict)
    unchecked: Counter[str] = field(default_factory=Counter)
    windows: int = 0
    extractions: int = 0
    valid: int = 0
    validations: list[Validation] = field(default_factory=list)
    data_docs: Path | None = None
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        for page_type, broken in self.suites.broken.items():
            self.reasons[page_type] = (broken.reason, broken.digest)

    def validate_days(self) -> None:
        """Day by day, because what is learned comes from earlier days."""
        rows = self.connection.execute(
            "SELECT DISTINCT day_start FROM pending_windows ORDER BY day_start"
        ).fetchall()
        days = {day for (day,) in rows}
        touched: set[str] = set()
        while days:
            day_start = min(days)
            days.remove(day_start)
            changed = learn_day(self.connection, self.configuration, day_start, touched)
            if changed:
                add_pending_windows(self.connection, day_start, changed)
            self.progress(f"items: {day_start:%Y-%m-%d}")
            touched |= self.validate_day(day_start)
            days |= set(later_learned_days(self.connection, day_start, touched))
        self.settle()
        self.write_docs()

    def validate_day(self, day_start: datetime) -> set[str]:
        """The pending windows of a UTC day; returns the sites whose coverage changed."""
        learned = LearnedItems(learned_of_day(self.connection, day_start))
        touched: set[str] = set()
        for piece in pieces_of_day(
            self.connection, day_start, 2 * self.configuration.extraction.items_per_run
        ):
            for rows in items_of(self.connection, self.home, self.configuration, piece):
                for number, site, page_type, item in rows:
                    self.take(number, site, page_type, item, learned)
                if self.is_full():
                    self.run_suites()
            learned.count_into(self.tally)
            coverage = learned.coverage_rows(self.configuration.extraction.fields_kept)
            touched |= set(store_coverage(self.connection, coverage))
            learned.coverage.clear()
            self.done += piece.numbers
            if self.tally.size >= MOST_CHECKS:
                self.settle()
        return touched

    def take(
        self, number: int, site: str, page_type: str, item: str, learned: LearnedItems
    ) -> None:
        """One fetch's item, to where it is validated."""
        if page_type in self.reasons:
            self.leave(number, page_type, 1)
            return
        held = self.held.get(page_type)
        if held is None:
            suite = self.suites.good.get(page_type)
            if suite is None:
                learned.add(number, site, page_type, item)
                return
            held = self.held[page_type] = SuiteItems(suite)
        held.add(number, item)

    def leave(self, number: int, page_type: str, items: int) -> None:
        self.tally.unchecked.append((number, page_type, items))
        self.unchecked[page_type] += items

    def is_full(self) -> bool:
        limits = self.configuration.extraction
        return (
            max((held.count for held in self.held.values()), default=0) >= limits.items_per_run
            or sum(held.text_bytes for held in self.held.values())
            >= limits.item_megabytes_per_run * 1_000_000
        )

    def run_suites(self) -> None:
        """Validate all that is held, each page type in one run of Great Expectations."""
        from target_health.extraction.validation import CannotValidate, frame_of, validate

        for page_type, held in list(self.held.items()):
            if not held.count:
                continue
            outcomes: tuple[Outcome, ...] = ()
            if held.windows:
                self.progress(f"items: {len(held.windows):,} of page type {page_type or '(none)'}")
                try:
                    validation = validate(held.suite, frame_of(held.columns))
                except (CannotValidate, ImportError) as problem:
                    self.reasons[page_type] = (
                        f"{held.suite.name}: {problem}",
                        held.suite.digest if isinstance(problem, CannotValidate) else "unavailable",
                    )
                    for number, items in (Counter(held.windows) + held.lost).items():
                        self.leave(number, page_type, items)
                    del self.held[page_type]
                    continue
                outcomes = validation.outcomes
                self.validations.append(validation)
            count_back(
                self.tally,
                page_type,
                np.array(held.windows, dtype=np.int64),
                outcomes,
                lost=held.lost,
                empty=np.array(held.empty, dtype=np.int64),
            )
            held.clear()
        if len(self.validations) > self.configuration.extraction.data_docs_runs_kept:
            self.write_docs()

    def settle(self) -> None:
        """Store what the windows that are done came to."""
        self.run_suites()
        extractions, valid = store_tally(self.connection, self.tally, self.done, self.reasons)
        self.windows += len(self.done)
        self.extractions += extractions
        self.valid += valid
        self.tally, self.done = Tally(), []

    def write_docs(self) -> None:
        """Data Docs of this run; without them the checks stand all the same."""
        if not self.validations:
            return
        from target_health.extraction.data_docs import write_data_docs

        try:
            self.data_docs = write_data_docs(
                self.home.data_docs,
                self.home.data_docs_store,
                self.validations,
                run_name=f"{self.now:%Y%m%dT%H%M%SZ}",
                now=self.now,
                runs_kept=self.configuration.extraction.data_docs_runs_kept,
            )
        except Exception as problem:
            self.notes.append(f"Data Docs were not written: {problem}")
        self.validations.clear()

    def report(self) -> ExtractionReport:
        broken = [
            f"Not validated: page type {page_type or '(none)'}"
            f" ({self.unchecked[page_type]:,} items): {reason}"
            for page_type, (reason, _) in sorted(self.reasons.items())
        ]
        return ExtractionReport(
            self.windows,
            self.extractions,
            self.valid,
            self.unchecked.total(),
            (*broken, *self.notes),
            self.data_docs,
        )
