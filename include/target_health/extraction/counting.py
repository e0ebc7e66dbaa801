"""Counting failing rows back to where they came from: plain arrays, no Great Expectations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from target_health.extraction.rules import HOLDS_A_VALUE, WHOLE_ITEM


@dataclass(frozen=True, slots=True)
class Outcome:
    """One expectation on one field over the rows of a frame.

    ``failed`` are the numbers of the rows that fail; ``is_checked`` says of each row whether it was
    looked at, None: every one.
    """

    field: str
    expectation: str
    failed: np.ndarray
    is_checked: np.ndarray | None = None


@dataclass(frozen=True, slots=True)
class CheckCounts:
    """One expectation on one field of a page type, in some windows: arrays of the same length."""

    page_type: str
    field: str
    expectation: str
    windows: np.ndarray
    checked: np.ndarray
    failed: np.ndarray


@dataclass(slots=True)
class Tally:
    """What was counted so far, by numbers of windows. A window may stand in several entries."""

    checks: list[CheckCounts] = field(default_factory=list)
    extractions: list[pd.DataFrame] = field(default_factory=list)
    unchecked: list[tuple[int, str, int]] = field(default_factory=list)

    def add_extractions(
        self, windows: np.ndarray, extractions: np.ndarray, valid: np.ndarray
    ) -> None:
        self.extractions.append(
            pd.DataFrame({"number": windows, "extractions": extractions, "valid": valid})
        )

    @property
    def size(self) -> int:
        """Rows of checks that are held."""
        return sum(len(counts.windows) for counts in self.checks)

    def check_rows(self) -> pd.DataFrame:
        """Every count of a check, a row each."""
        return pd.concat(
            [
                pd.DataFrame(
                    {
                        "number": counts.windows,
                        "page_type": counts.page_type,
                        "field": counts.field,
                        "expectation": counts.expectation,
                        "checked": counts.checked,
                        "failed": counts.failed,
                    }
                )
                for counts in self.checks
            ]
        )


def count_back(
    tally: Tally,
    page_type: str,
    windows: np.ndarray,
    outcomes: Sequence[Outcome],
    *,
    lost: Mapping[int, int],
    empty: np.ndarray,
) -> None:
    """Count one page type's outcomes back to its windows.

    ``windows`` gives each row's window; ``lost`` how many extractions a window has beside them
    that brought no record; ``empty`` the numbers of rows whose record holds no value.
    """
    own, place = np.unique(np.append(windows, list(lost)).astype(np.int64), return_inverse=True)
    place = place[: len(windows)]
    size = len(own)
    without_record = np.array([lost.get(int(window), 0) for window in own], dtype=np.int64)
    records = np.bincount(place, minlength=size)
    is_valid = np.ones(len(windows), dtype=bool)
    is_valid[empty] = False
    for outcome in outcomes:
        is_valid[outcome.failed] = False
    extractions = records + without_record
    tally.add_extractions(own, extractions, np.bincount(place[is_valid], minlength=size))
    tally.checks.append(
        CheckCounts(
            page_type,
            WHOLE_ITEM,
            HOLDS_A_VALUE,
            own,
            extractions,
            without_record + np.bincount(place[empty], minlength=size),
        )
    )
    has_records = records > 0
    for outcome in outcomes:
        checked = (
            records
            if outcome.is_checked is None
            else np.bincount(place[outcome.is_checked], minlength=size)
        )
        failed = np.bincount(place[outcome.failed], minlength=size)
        tally.checks.append(
            CheckCounts(
                page_type,
                outcome.field,
                outcome.expectation,
                own[has_records],
                checked[has_records],
                failed[has_records],
            )
        )
