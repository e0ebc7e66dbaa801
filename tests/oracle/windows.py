"""Windows: how long they are, and what they count (DESIGN section 5)."""

from __future__ import annotations

import statistics
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from fractions import Fraction
from typing import Any

import pandas as pd

from .baselines import Row, baseline_of, is_flagged
from .numbers import Numbers
from .routes import values_of
from .verdicts import (
    NO_HISTORY,
    Fetch,
    History,
    brought_no_item,
    final_verdict,
    has_value,
    is_2xx,
    landing_verdict,
)

AUTO_MINUTES = (15, 30, 60, 120, 240, 480, 1440)

COUNTS = {
    "ok": "ok",
    "hard_block": "hard_blocks",
    "challenge": "challenges",
    "soft_block": "soft_blocks",
    "soft_404": "soft_404s",
    "paywalled": "paywalled",
    "unknown": "unknown",
    "server_error": "server_errors",
    "client_error": "client_errors",
    "not_found": "not_found",
    "redirect": "redirects",
}

WINDOW_COLUMNS = (
    "site",
    "window_start",
    "window_end",
    "window_minutes",
    "requests",
    "judged",
    *COUNTS.values(),
    "p95_latency_ms",
    "attempts",
    "bytes",
    "credits",
    "items",
)

ROUTE_COLUMNS = (
    *WINDOW_COLUMNS[:4],
    "dimension",
    "value",
    *WINDOW_COLUMNS[4:],
    "rest_p95_latency_ms",
)

Factors = Mapping[tuple[str, date], float]
# A window with its start, its end and those of its fetches that the history rules learn from.
Good = tuple[datetime, datetime, list[Fetch]]


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time())


def _stretch_start(moment: datetime, minutes: int) -> datetime:
    """Start of the stretch, aligned to UTC midnight, that holds the moment."""
    midnight = _midnight(moment.date())
    return midnight + (moment - midnight) // timedelta(minutes=minutes) * timedelta(minutes=minutes)


def is_judged(fetch: Fetch) -> bool:
    """All but unknown and redirect; history moves no fetch over this line."""
    return landing_verdict(fetch) not in ("unknown", "redirect")


def _of_site(fetches: Sequence[Fetch], site: str) -> list[Fetch]:
    """The site's fetches in time order, without canaries'."""
    own = (fetch for fetch in fetches if fetch["site"] == site and fetch.get("canary") is None)
    return sorted(own, key=lambda fetch: fetch["ts"])


def window_minutes(
    fetches: Sequence[Fetch],
    site: str,
    day: date,
    numbers: Numbers,
    factors: Factors | None = None,
) -> int:
    """Window length of a site on a UTC day.

    ``factors`` gives the concurrency factor at the day's start where it is not 1.
    """
    judged = [fetch["ts"] for fetch in _of_site(fetches, site) if is_judged(fetch)]
    factor = (factors or {}).get((site, day), 1)
    return _minutes_of_day(judged, day, numbers.of(site), factor)


def _minutes_of_day(judged: Sequence[datetime], day: date, numbers: Numbers, factor: float) -> int:
    """``judged``: times of the site's judged fetches in order; ``numbers``: the site's own."""
    if numbers.window_minutes != "auto":
        return int(numbers.window_minutes)
    # AMBIGUOUS: 14 days and 1 day are the text's own here, not baseline_days and
    # baseline_gap_days. Alternative: they follow those two numbers.
    start, end = _midnight(day) - timedelta(days=14), _midnight(day) - timedelta(days=1)
    seen = judged[bisect_left(judged, start) : bisect_left(judged, end)]
    if not seen:
        return 15
    wanted = 2 * numbers.min_requests
    for minutes in AUTO_MINUTES:
        # Under an hour: mean a non-empty clock hour × length / 60. From an hour on: mean a
        # non-empty stretch of that length.
        stretch = max(minutes, 60)
        stretches = {_stretch_start(moment, stretch) for moment in seen}
        mean = Fraction(len(seen), len(stretches))
        expected = mean * minutes / stretch * Fraction(factor)
        if expected >= wanted:
            return minutes
    return 1440


def site_windows(
    fetches: Sequence[Fetch],
    numbers: Numbers,
    until: datetime,
    factors: Factors | None = None,
) -> list[Row]:
    """Rows of ``site_windows`` for all windows that ended by ``until``, by site and time.

    AMBIGUOUS: a window without any fetch has no row. Alternative: rows of zeros. (They would
    change no score: no judged fetches, no p95, no score of their own.)
    """
    return [row for row, _, _ in _counted_windows(fetches, numbers, until, factors)]


def route_windows(
    fetches: Sequence[Fetch],
    numbers: Numbers,
    until: datetime,
    factors: Factors | None = None,
) -> list[Row]:
    """Rows of ``route_windows`` likewise, each with the p95 of the window's other fetches."""
    found: list[Row] = []
    for window, members, verdicts in _counted_windows(fetches, numbers, until, factors):
        for (dimension, value), chosen in values_of(members).items():
            taken = set(chosen)
            others = [index for index in range(len(members)) if index not in taken]
            row = _count([members[i] for i in chosen], [verdicts[i] for i in chosen])
            rest = _count([members[i] for i in others], [verdicts[i] for i in others])
            row.update(
                {name: window[name] for name in WINDOW_COLUMNS[:4]},
                dimension=dimension,
                value=value,
                rest_p95_latency_ms=rest["p95_latency_ms"],
            )
            found.append({column: row[column] for column in ROUTE_COLUMNS})
    return found


# A window's row, its fetches and their final verdicts.
Counted = tuple[Row, list[Fetch], list[str]]


def _counted_windows(
    fetches: Sequence[Fetch], numbers: Numbers, until: datetime, factors: Factors | None
) -> list[Counted]:
    found: list[Counted] = []
    for site in sorted({fetch["site"] for fetch in fetches}):
        found += _windows_of_site(site, _of_site(fetches, site), numbers.of(site), until, factors)
    return found


def _windows_of_site(
    site: str,
    fetches: list[Fetch],
    numbers: Numbers,
    until: datetime,
    factors: Factors | None,
) -> list[Counted]:
    judged = [fetch["ts"] for fetch in fetches if is_judged(fetch)]
    minutes_of: dict[date, int] = {}
    members: dict[datetime, list[Fetch]] = defaultdict(list)
    for fetch in fetches:
        day = fetch["ts"].date()
        if day not in minutes_of:
            factor = (factors or {}).get((site, day), 1)
            minutes_of[day] = _minutes_of_day(judged, day, numbers, factor)
        members[_stretch_start(fetch["ts"], minutes_of[day])].append(fetch)

    counted: list[Counted] = []
    rows: list[Row] = []
    flags: list[bool] = []
    good: list[Good] = []  # a window's fetches whose final verdict is ok, 304s left out
    for start in sorted(members):
        minutes = minutes_of[start.date()]
        end = start + timedelta(minutes=minutes)
        if end > until:
            continue
        _, unflagged, flagged = baseline_of(start, rows, flags, numbers)
        first, last = _history_period(judged, start.date(), numbers)
        verdicts = _final_verdicts(members[start], good, first, last)
        row = _count(members[start], verdicts)
        row.update(site=site, window_start=start, window_end=end, window_minutes=minutes)
        row = {column: row[column] for column in WINDOW_COLUMNS}
        flags.append(is_flagged(row, unflagged, flagged, numbers))
        rows.append(row)
        counted.append((row, members[start], verdicts))
        good.append(
            (
                start,
                end,
                [
                    fetch
                    for fetch, verdict in zip(members[start], verdicts, strict=True)
                    if verdict == "ok" and is_2xx(fetch)
                ],
            )
        )
    return counted


def _history_period(
    judged: Sequence[datetime], day: date, numbers: Numbers
) -> tuple[datetime, datetime]:
    """The baseline period of the two history rules: that of the window's UTC day.

    AMBIGUOUS: "the baseline period". Alternative: the window's own. Stretched where the site's
    judged fetches of the period are too few for a baseline, flagged or not.
    """
    midnight = _midnight(day)
    end = midnight - timedelta(days=numbers.baseline_gap_days)
    start = midnight - timedelta(days=numbers.baseline_days)
    seen = [moment for moment in judged if start <= moment < end]
    days = {moment.date() for moment in seen}
    if len(seen) < numbers.min_baseline_requests or len(days) < numbers.min_baseline_days:
        start = midnight - timedelta(days=numbers.baseline_max_days)
    if numbers.baseline_from is not None and midnight >= numbers.baseline_from:
        start = max(start, numbers.baseline_from)
    return start, end


def _final_verdicts(
    fetches: Sequence[Fetch], good: Sequence[Good], start: datetime, end: datetime
) -> list[str]:
    """Final verdicts of one window's fetches; ``good``: the site's older `ok` fetches."""
    # The page types that history could turn; for the others nothing needs to be looked up.
    types = {f.get("page_type") for f in fetches if is_2xx(f) and brought_no_item(f)}
    histories = {page_type: _history(good, page_type, start, end) for page_type in types}
    urls_of: dict[tuple[str, str], set[str]] = defaultdict(set)
    for fetch in fetches:
        # AMBIGUOUS: "the same answer came for three or more URLs of that window" counts those that
        # were ok at landing and brought no item, of any page type. Alternative: all fetches.
        if landing_verdict(fetch) != "ok" or not is_2xx(fetch) or not brought_no_item(fetch):
            continue
        for answer in _answers(fetch):
            urls_of[answer].add(fetch["url"])
    return [
        final_verdict(
            fetch,
            histories.get(fetch.get("page_type"), NO_HISTORY),
            max((len(urls_of[answer]) for answer in _answers(fetch)), default=0),
        )
        for fetch in fetches
    ]


def _answers(fetch: Fetch) -> list[tuple[str, str]]:
    columns = ("content_hash", "final_url")
    return [(column, fetch[column]) for column in columns if fetch.get(column) is not None]


def _history(
    good: Sequence[Good], page_type: str | None, start: datetime, end: datetime
) -> History:
    """History of a page type (null is a page type of its own) from `ok` fetches.

    The windows wholly inside count, flagged or not. AMBIGUOUS: "the median of its `ok` fetches" is
    taken over the windows' medians, each with the weight of its fetches (the smaller one where two
    share the middle). Alternative: over all fetches, which no table keeps.
    """
    chosen = [
        [fetch for fetch in fetches if fetch.get("page_type") == page_type]
        for window_start, window_end, fetches in good
        if window_start >= start and window_end <= end
    ]
    sizes = [
        sorted(fetch["bytes"] for fetch in fetches if fetch.get("bytes") is not None)
        for fetches in chosen
    ]
    sizes = [of_window for of_window in sizes if of_window]
    weighted = sorted((statistics.median(of_window), len(of_window)) for of_window in sizes)
    total, seen, usual = sum(weight for _, weight in weighted), 0, None
    for median, weight in weighted:
        seen += weight
        if 2 * seen >= total:
            usual = median
            break
    # The 5th percentile of a window is the smallest size that at least 5 % are no larger than.
    low = [of_window[max(0, -(-len(of_window) // 20) - 1)] for of_window in sizes]
    return History(
        usual_bytes=usual,
        low_bytes=statistics.median(low) if low else None,
        ok_fetches=sum(len(fetches) for fetches in chosen),
        with_item_value=sum(
            has_value(fetch.get("item")) for fetches in chosen for fetch in fetches
        ),
    )


def _records(item: Any) -> int:
    """How many records with a value an item holds."""
    if isinstance(item, (list, tuple)):
        return sum(has_value(record) for record in item)
    return int(has_value(item))


def _count(fetches: Sequence[Fetch], verdicts: Sequence[str]) -> Row:
    row: Row = {
        column: sum(found == verdict for found in verdicts) for verdict, column in COUNTS.items()
    }
    row["requests"] = len(fetches)
    row["judged"] = len(fetches) - row["unknown"] - row["redirects"]
    latencies = [
        fetch["latency_ms"]
        for fetch, verdict in zip(fetches, verdicts, strict=True)
        if verdict == "ok" and fetch.get("latency_ms") is not None
    ]
    row["p95_latency_ms"] = float(pd.Series(latencies).quantile(0.95)) if latencies else None
    # AMBIGUOUS: a row without `attempts` is one attempt ("a crawler that logs every attempt writes
    # a row each"). Alternative: null or 0.
    row["attempts"] = sum(
        1 if fetch.get("attempts") is None else fetch["attempts"] for fetch in fetches
    )
    # AMBIGUOUS: bytes and credits are null where no fetch gave them. Alternative: 0.
    for column in ("bytes", "credits"):
        given = [fetch[column] for fetch in fetches if fetch.get(column) is not None]
        row[column] = sum(given) if given else None
    # AMBIGUOUS: `items` counts records with a value, a list item as many as it holds, of all
    # verdicts. Alternatives: fetches with an item value; fetches with extraction attempted; only
    # of ok fetches.
    row["items"] = sum(_records(fetch.get("item")) for fetch in fetches)
    return row
