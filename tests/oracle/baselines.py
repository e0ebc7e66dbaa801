"""A window's baseline period, its flag and its baseline (DESIGN section 6).

Rows are ``site_windows`` rows of ONE site in order of ``window_start``.
"""

from __future__ import annotations

import statistics
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from .numbers import Numbers

Row = dict[str, Any]

POINTS_20 = 0.20
TOLERANCE = 1e-9
OK_FOR_P95 = 20


@dataclass(frozen=True)
class Baseline:
    """What a window's baseline period holds. Shares are 0..1, null without a baseline."""

    period_start: datetime
    period_end: datetime
    stretched: bool
    enough: bool  # there is a baseline
    enough_with_flagged: bool
    requests: int  # judged fetches of the unflagged windows
    days: int  # distinct UTC days with judged fetches of the unflagged windows
    hard_block_rate: float | None = None
    challenge_rate: float | None = None
    soft_block_rate: float | None = None
    denied_share: float | None = None
    unknown_share: float | None = None
    delivery_share: float | None = None
    p95_latency_ms: float | None = None


def denied(row: Row) -> int:
    return row["hard_blocks"] + row["challenges"] + row["soft_blocks"]


def _inside(rows: Sequence[Row], start: datetime, end: datetime) -> slice:
    """Which rows lie wholly in [start, end). Windows of a site do not overlap."""
    first = bisect_left(rows, start, key=lambda row: row["window_start"])
    stop = bisect_right(rows, end, key=lambda row: row["window_end"])
    return slice(first, max(first, stop))


def _amount(rows: Sequence[Row]) -> tuple[int, int]:
    """Judged fetches and distinct UTC days with judged fetches."""
    days = {row["window_start"].date() for row in rows if row["judged"] > 0}
    return sum(row["judged"] for row in rows), len(days)


def _is_enough(rows: Sequence[Row], numbers: Numbers) -> bool:
    requests, days = _amount(rows)
    return requests >= numbers.min_baseline_requests and days >= numbers.min_baseline_days


def _median_p95(rows: Sequence[Row]) -> float | None:
    """Median of the windows' p95, each window counting once."""
    # AMBIGUOUS: windows of 20 ok fetches or more whose p95 is null (no latency logged). They have
    # no p95 to count, so if only smaller windows have one, those are taken. Alternative: null.
    with_p95 = [row for row in rows if row["p95_latency_ms"] is not None]
    large = [row for row in with_p95 if row["ok"] >= OK_FOR_P95]
    chosen = large or with_p95
    return statistics.median(row["p95_latency_ms"] for row in chosen) if chosen else None


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def baseline_of(
    start: datetime, rows: Sequence[Row], flags: Sequence[bool], numbers: Numbers
) -> tuple[Baseline, list[Row], list[Row]]:
    """The baseline of a window that starts at ``start``; its period's unflagged and flagged rows.

    ``rows`` and ``flags`` must hold at least all windows wholly before the period's end.
    """
    end = start - timedelta(days=numbers.baseline_gap_days)

    def lower_bound(days: float) -> datetime:
        bound = start - timedelta(days=days)
        accepted = numbers.baseline_from
        if accepted is not None and start >= accepted:
            bound = max(bound, accepted)
        return bound

    def period(bound: datetime) -> tuple[list[Row], list[Row]]:
        where = _inside(rows, bound, end)
        pairs = list(zip(rows[where], flags[where], strict=True))
        return [row for row, flag in pairs if not flag], [row for row, flag in pairs if flag]

    bound = lower_bound(numbers.baseline_days)
    unflagged, flagged = period(bound)
    stretched = not _is_enough(unflagged, numbers)
    if stretched:
        # baseline_from bounds the stretched period too. A baseline_max_days shorter than
        # baseline_days would not stretch.
        bound = lower_bound(max(numbers.baseline_max_days, numbers.baseline_days))
        unflagged, flagged = period(bound)

    enough = _is_enough(unflagged, numbers)
    requests, days = _amount(unflagged)
    shares: dict[str, float | None] = {}
    if enough:
        judged = sum(row["judged"] for row in unflagged)
        fetches = sum(row["requests"] for row in unflagged)
        pages = sum(row["requests"] - row["redirects"] for row in unflagged)
        shares = {
            "hard_block_rate": _ratio(sum(row["hard_blocks"] for row in unflagged), judged),
            "challenge_rate": _ratio(sum(row["challenges"] for row in unflagged), judged),
            "soft_block_rate": _ratio(sum(row["soft_blocks"] for row in unflagged), judged),
            "denied_share": _ratio(sum(denied(row) for row in unflagged), judged),
            "unknown_share": _ratio(sum(row["unknown"] for row in unflagged), fetches),
            "delivery_share": _ratio(sum(row["ok"] for row in unflagged), pages),
            "p95_latency_ms": _median_p95(unflagged),
        }
    baseline = Baseline(
        period_start=bound,
        period_end=end,
        stretched=stretched,
        enough=enough,
        enough_with_flagged=_is_enough([*unflagged, *flagged], numbers),
        # AMBIGUOUS: without a baseline these two still say what the period holds, so that a user
        # sees how much is missing. Alternative: null (or 0) without a baseline.
        requests=requests,
        days=days,
        **shares,
    )
    return baseline, unflagged, flagged


def is_flagged(
    row: Row, unflagged: Sequence[Row], flagged: Sequence[Row], numbers: Numbers
) -> bool:
    """Whether a window is left out of every baseline, by the windows of its own period."""
    least = numbers.min_requests
    if row["judged"] < least or row["judged"] == 0:
        return False
    shares = [denied(old) / old["judged"] for old in unflagged if old["judged"] >= max(least, 1)]
    if shares:
        above = denied(row) / row["judged"] - statistics.median(shares)
        return above > POINTS_20 + TOLERANCE
    # None unflagged of that size: flagged if there are flagged ones (all flagged windows are of
    # that size), not flagged if there are none at all.
    return any(old["judged"] >= least for old in flagged)


def baselines(windows: Sequence[Row], numbers: Numbers) -> list[tuple[Row, bool, Baseline]]:
    """Every window of any number of sites with its flag and baseline, by site and time."""
    return [(row, flag, baseline) for row, flag, baseline, _ in with_periods(windows, numbers)]


def with_periods(
    windows: Sequence[Row], numbers: Numbers
) -> list[tuple[Row, bool, Baseline, list[Row]]]:
    """As ``baselines``, with the unflagged windows of the period."""
    found: list[tuple[Row, bool, Baseline, list[Row]]] = []
    for site in sorted({row["site"] for row in windows}):
        own = numbers.of(site)
        rows = sorted(
            (row for row in windows if row["site"] == site), key=lambda row: row["window_start"]
        )
        done: list[Row] = []
        flags: list[bool] = []
        for row in rows:
            baseline, unflagged, flagged = baseline_of(row["window_start"], done, flags, own)
            flag = is_flagged(row, unflagged, flagged, own)
            done.append(row)
            flags.append(flag)
            found.append((row, flag, baseline, unflagged))
    return found
