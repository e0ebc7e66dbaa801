"""Routes: what windows count by route, and whether the site or a route fails (DESIGN 5 and 6)."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from .baselines import TOLERANCE, Baseline, Row, denied
from .verdicts import Fetch

DIMENSIONS = ("gateway", "country", "pool", "session", "exit")
BUSIEST = 20
OTHER = "other"
HOUR = timedelta(minutes=60)
FIVE_POINTS = 0.05
TEN = 10
MOST_OF_THE_EXCESS = 0.80
REST_JUDGED = 50
CONTRAST = 2.5

# Counts of route values by (site, window_start): (dimension, value) -> the counts.
Routes = Mapping[tuple[str, datetime], Mapping[tuple[str, str], Row]]


@dataclass(frozen=True)
class Diagnosis:
    """A window's failures are one route's."""

    dimension: str
    value: str

    def __str__(self) -> str:
        return f"route:{self.dimension}={self.value}"


def values_of(fetches: Sequence[Fetch]) -> dict[tuple[str, str], list[int]]:
    """Which of a window's fetches (by index) took each value that is kept apart."""
    members: dict[tuple[str, str], list[int]] = defaultdict(list)
    for dimension in DIMENSIONS:
        taken = [fetch.get(f"route_{dimension}") for fetch in fetches]
        often = Counter(value for value in taken if value is not None)
        # AMBIGUOUS: ties of busyness. Here by name. Exits beyond the busiest have no row at all,
        # session patterns beyond them are `other`.
        ranked = sorted(often, key=lambda value: (-often[value], value))
        kept = set(ranked[:BUSIEST])
        for index, value in enumerate(taken):
            if value is None:
                continue
            if value in kept:
                members[dimension, value].append(index)
            elif dimension == "session":
                members[dimension, OTHER].append(index)
    return members


def failures(row: Row) -> int:
    """Denied, unknown and server errors."""
    return denied(row) + int(row["unknown"]) + int(row["server_errors"])


def pages(row: Row) -> int:
    return int(row["requests"]) - int(row["redirects"])


def _rises(now_failures: int, now_pages: int, base: float) -> bool:
    """By at least five points and ten in number over the base."""
    if now_pages == 0:
        return False
    return (
        now_failures / now_pages - base >= FIVE_POINTS - TOLERANCE
        and now_failures - now_pages * base >= TEN - TOLERANCE
    )


def diagnosis_of(
    window: Row,
    baseline: Baseline,
    windows: Sequence[Row],
    period: Sequence[Row],
    routes: Routes,
) -> Diagnosis | None:
    """The route that explains a window's failures.

    ``windows``: the site's windows up to this one; ``period``: the unflagged ones of its baseline
    period.
    """
    if not baseline.enough:
        return None
    base_pages = sum(pages(row) for row in period)
    if base_pages == 0:
        return None
    base = sum(failures(row) for row in period) / base_pages
    if not _rises(failures(window), pages(window), base):
        return None
    hour = [
        row
        for row in windows
        if row["window_end"] <= window["window_end"]
        and (
            row["window_start"] >= window["window_end"] - HOUR
            or row["window_start"] == window["window_start"]
        )
    ]
    if window["window_minutes"] > 60:
        hour = [window]
    all_failures = sum(failures(row) for row in hour)
    all_pages = sum(pages(row) for row in hour)
    if not _rises(all_failures, all_pages, base):
        return None
    excess = all_failures - all_pages * base

    def counts(key: tuple[str, str], rows: Sequence[Row], of: Any) -> int:
        found = (routes.get((row["site"], row["window_start"]), {}).get(key, None) for row in rows)
        return sum(of(row) for row in found if row is not None)

    keys = {key for row in hour for key in routes.get((row["site"], row["window_start"]), {})} - {
        ("session", OTHER)
    }  # is no one route
    named = []
    for key in keys:
        own_pages, own_failures = counts(key, hour, pages), counts(key, hour, failures)
        if own_failures - own_pages * base < MOST_OF_THE_EXCESS * excess - TOLERANCE:
            continue
        judged = sum(row["judged"] for row in hour) - counts(key, hour, lambda row: row["judged"])
        if judged < REST_JUDGED:
            continue
        rest_base_pages = base_pages - counts(key, period, pages)
        if rest_base_pages == 0:
            continue
        rest_base_failures = sum(failures(row) for row in period) - counts(key, period, failures)
        rest_base = rest_base_failures / rest_base_pages
        rest = (all_failures - own_failures) / (all_pages - own_pages)
        # AMBIGUOUS: "within 5 points of the rest's own base" bounds a rise; a rest that fails less
        # than usual is well.
        if rest - rest_base > FIVE_POINTS + TOLERANCE:
            continue
        # Beyond the text: a value that takes four fifths of the fetches holds four fifths of any
        # rise. Its failures must have risen by clearly more than the rest's.
        own_base_pages = counts(key, period, pages)
        own_base = counts(key, period, failures) / own_base_pages if own_base_pages else base
        share = all_failures / all_pages
        error = math.sqrt(share * (1 - share) * (1 / own_pages + 1 / (all_pages - own_pages)))
        rise = own_failures / own_pages - own_base
        if rise - (rest - rest_base) < CONTRAST * error - TOLERANCE:
            continue
        named.append((own_pages, DIMENSIONS.index(key[0]), key[1], key[0]))
    if not named:
        return None
    _, _, value, dimension = min(named)
    return Diagnosis(dimension, value)


def remaining(window: Row, diagnosis: Diagnosis, routes: Routes) -> Row:
    """The window's counts without what took the route; p95 is that of the remaining fetches."""
    key = (window["site"], window["window_start"])
    taken = routes.get(key, {}).get((diagnosis.dimension, diagnosis.value))
    if taken is None:
        return window
    rest = dict(window)
    for column, count in window.items():
        if isinstance(count, int) and column not in ("window_minutes",):
            rest[column] = count - (taken[column] or 0)
    rest["p95_latency_ms"] = taken["rest_p95_latency_ms"]
    return rest
