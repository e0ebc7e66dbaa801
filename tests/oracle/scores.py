"""Scores, smoothing, bands and owners (DESIGN sections 6 and 7)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import pandas as pd

from .baselines import POINTS_20, TOLERANCE, Baseline, Row, denied, with_periods
from .numbers import Numbers
from .routes import diagnosis_of, remaining

SIGNALS = ("hard_block", "challenge", "soft_block", "latency")

SCORE_COLUMNS = (
    "site",
    "window_start",
    "window_end",
    "window_minutes",
    "score",
    "unscored_reason",
    "smoothed_score",
    "served_share",
    "smoothed_served_share",
    "band",
    "reasons",
    "hard_block_penalty",
    "challenge_penalty",
    "soft_block_penalty",
    "latency_penalty",
    "hard_block_rate",
    "challenge_rate",
    "soft_block_rate",
    "p95_latency_ms",
    "base_hard_block_rate",
    "base_challenge_rate",
    "base_soft_block_rate",
    "base_p95_latency_ms",
    "baseline_requests",
    "baseline_days",
    "delivery_share",
    "base_delivery_share",
    "parser_health",
    "cost_ratio",
    "diagnosis",
    "owner",
)

HEALTHY_FROM = 80
DEGRADED_FROM = 50
SERVED_BASE_LIMIT = 0.8
DAY = timedelta(hours=24)


def site_scores(
    windows: Sequence[Row],
    numbers: Numbers,
    routes: Sequence[Row] = (),
    extractions: Sequence[Row] = (),
) -> list[Row]:
    """Rows of ``site_scores`` for rows of ``site_windows``, by site and time.

    ``routes`` are rows of ``route_windows``, ``extractions`` of ``extraction_windows``.
    ``config_version`` is not given.
    """
    by_route: dict[tuple[str, datetime], dict[tuple[str, str], Row]] = defaultdict(dict)
    for row in routes:
        by_route[row["site"], row["window_start"]][row["dimension"], row["value"]] = row
    found = {
        (row["site"], row["window_start"]): (row["extractions"], row["valid"])
        for row in extractions
    }
    rows: list[Row] = []
    before: dict[str, list[Row]] = defaultdict(list)
    for window, _flag, baseline, period in with_periods(windows, numbers):
        before[window["site"]].append(window)
        diagnosis = diagnosis_of(window, baseline, before[window["site"]], period, by_route)
        judged = window if diagnosis is None else remaining(window, diagnosis, by_route)
        row = _measure(judged, baseline, numbers.of(window["site"]))
        if diagnosis is not None and judged["judged"] < numbers.of(window["site"]).min_requests:
            row["delivery_share"] = row["p95_latency_ms"] = None
        row["route"] = diagnosis
        least = numbers.of(window["site"]).min_requests
        _extraction(row, window, baseline, period, found, least)
        rows.append(row)
    for site in sorted({row["site"] for row in rows}):
        own = [row for row in rows if row["site"] == site]
        for index, row in enumerate(own):
            _smooth(row, own[: index + 1])
        for index, row in enumerate(own):
            _judge(row, own[:index], numbers.of(site))
            _blame(row, numbers.of(site))
    return [{column: row[column] for column in SCORE_COLUMNS} for row in rows]


def _extraction(
    row: Row,
    window: Row,
    baseline: Baseline,
    period: Sequence[Row],
    found: Mapping[tuple[str, datetime], tuple[int, int]],
    least: int,
) -> None:
    """Fills parser_health and cost_ratio, which are of all of the window's fetches."""
    row["excess_invalid"] = 0.0
    if not baseline.enough:
        return

    def counts(of: Row) -> tuple[int, int]:
        return found.get((of["site"], of["window_start"]), (0, 0))

    tried, valid = counts(window)
    base_tried = sum(counts(old)[0] for old in period)
    base_valid = sum(counts(old)[1] for old in period)
    # AMBIGUOUS: "null below 20 extractions": neither now nor in the base. Alternative: only now.
    if tried >= 20 and base_tried >= 20:
        rise = (1 - valid / tried) - (1 - base_valid / base_tried)
        row["parser_health"] = 100 * (1 - min(1, max(0, rise / 0.20)))
        row["excess_invalid"] = tried * rise

    # AMBIGUOUS: where nothing is extracted, a record is a page that came; a site that began to
    # extract, or stopped, has no ratio. Alternative: null without extractions. And no ratio of
    # fewer than min_requests judged fetches.
    if (tried > 0) != (base_tried > 0) or window["judged"] < least:
        return

    def records(of: Row) -> int:
        return counts(of)[1] if counts(of)[0] > 0 else int(of["ok"])

    priced = [old for old in period if old["credits"] is not None]
    base_credits = sum(old["credits"] for old in priced)
    base_priced = sum(records(old) for old in priced)
    if window["credits"] is not None and base_credits > 0 and base_priced > 0:
        now, base = window["credits"], base_credits / base_priced
    else:
        total = sum(records(old) for old in period)
        if total == 0:
            return
        now, base = window["attempts"], sum(old["attempts"] for old in period) / total
    if records(window) > 0:
        row["cost_ratio"] = now / records(window) / base


def _blame(row: Row, numbers: Numbers) -> None:
    """Fills diagnosis and owner, once the band stands."""
    hostile = row["band"] in ("degraded", "resisting")
    if row["route"] is not None:
        row["diagnosis"], row["owner"] = str(row["route"]), "route"
        return
    # AMBIGUOUS: "with less data: null" is a window without a score. Alternative: also site while
    # the band stands without one.
    if hostile and row["score"] is not None:
        row["diagnosis"] = "site"
    # AMBIGUOUS: what a fall of parser health is. Here: below the healthy 80, and ten invalid items
    # more than usual. It is the crawl's where the window's hostility is low as well.
    parser = (
        row["parser_health"] is not None
        and row["parser_health"] < HEALTHY_FROM
        and row["excess_invalid"] >= 10 - TOLERANCE
    )
    low = row["score"] is not None and _is_low(row, numbers)
    if hostile or (parser and low):
        row["owner"] = "crawl"
    elif parser:
        row["owner"] = "parser"


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def unscored_reason(window: Row, baseline: Baseline, numbers: Numbers) -> str | None:
    """Why a window has no honest score; null where it has one."""
    requests, unknown = window["requests"], window["unknown"]
    if requests >= numbers.min_requests and unknown * 2 > requests:
        # AMBIGUOUS: "more than 20 points" is taken to 1e-9, as with flags: exactly 20 points are
        # not more, whatever floats say. Alternative: the plain comparison.
        share = unknown / requests
        if (
            not baseline.enough
            or baseline.unknown_share is None
            or share - baseline.unknown_share > POINTS_20 + TOLERANCE
        ):
            # Holds also where judged >= min_requests: the reason makes the score null.
            return "mostly unknown"
    if window["judged"] < numbers.min_requests or window["judged"] == 0:
        return "not enough requests"
    if baseline.enough:
        return None
    return "baseline used up" if baseline.enough_with_flagged else "no baseline yet"


def _rate_penalty(now: float, base: float, full_rate: float) -> float:
    return min(1, max(0, (now - base) / full_rate))


def _latency_penalty(now: float | None, base: float | None, full_factor: float) -> float:
    if now is None or base is None:
        return 0
    return min(1, max(0, (now / max(base, 1) - 1) / (full_factor - 1)))


def _measure(window: Row, baseline: Baseline, numbers: Numbers) -> Row:
    judged = window["judged"]
    row: dict[str, Any] = dict.fromkeys(SCORE_COLUMNS)
    for column in ("site", "window_start", "window_end", "window_minutes", "p95_latency_ms"):
        row[column] = window[column]
    # AMBIGUOUS: rates and delivery_share are measured also where there is no score, base columns
    # wherever there is a baseline; penalties only with a score. Alternative: null without a score.
    row["hard_block_rate"] = _share(window["hard_blocks"], judged)
    row["challenge_rate"] = _share(window["challenges"], judged)
    row["soft_block_rate"] = _share(window["soft_blocks"], judged)
    row["delivery_share"] = _share(window["ok"], window["requests"] - window["redirects"])
    row["base_hard_block_rate"] = baseline.hard_block_rate
    row["base_challenge_rate"] = baseline.challenge_rate
    row["base_soft_block_rate"] = baseline.soft_block_rate
    row["base_p95_latency_ms"] = baseline.p95_latency_ms
    row["base_delivery_share"] = baseline.delivery_share
    row["baseline_requests"] = baseline.requests
    row["baseline_days"] = baseline.days

    row["unscored_reason"] = unscored_reason(window, baseline, numbers)
    if row["unscored_reason"] is not None:
        return row

    weights = numbers.weights
    for signal in SIGNALS[:3]:
        penalty = _rate_penalty(
            row[f"{signal}_rate"], row[f"base_{signal}_rate"], numbers.full_rate
        )
        row[f"{signal}_penalty"] = weights[signal] * penalty
    row["latency_penalty"] = weights["latency"] * _latency_penalty(
        row["p95_latency_ms"], row["base_p95_latency_ms"], numbers.full_latency_factor
    )
    cost = (
        row["hard_block_penalty"]
        + row["challenge_penalty"]
        + row["soft_block_penalty"]
        + row["latency_penalty"]
    )
    row["score"] = round(100 - cost)  # Python rounds half to even

    assert baseline.denied_share is not None
    if baseline.denied_share <= SERVED_BASE_LIMIT:
        served = (1 - denied(window) / judged) / (1 - baseline.denied_share)
        row["served_share"] = min(1, served)
    return row


def _ewm_last(values: list[float], times: list[Any]) -> float | None:
    if not values:
        return None
    return float(
        pd.Series(values, dtype="float64")
        .ewm(halflife="50min", times=pd.Series(times, dtype="datetime64[ns]"))  # type: ignore
        .mean()
        .iloc[-1]
    )


def _smooth(row: Row, until_now: Sequence[Row]) -> None:
    """Fills the smoothed values; ``until_now``: the site's rows up to and with this one.

    For a row without a score these are the means of what lies in its 24 hours: the weights are
    relative, so the mean at the last value is the mean at this row's time.
    """
    after = row["window_start"] - DAY
    recent = [old for old in until_now if old["window_start"] > after]
    for column in ("score", "served_share"):
        chosen = [old for old in recent if old[column] is not None]
        row[f"smoothed_{column}"] = _ewm_last(
            [old[column] for old in chosen], [old["window_start"] for old in chosen]
        )


def _is_low(row: Row, numbers: Numbers) -> bool:
    """A scored window with a score below 80 or a served share below the pause threshold."""
    # AMBIGUOUS: the text says "served share below 0.5"; taken as pause_below_served_share (off
    # where that is null) with the same 1e-9 as the smoothed one. Alternative: always 0.5, plain.
    limit = numbers.pause_below_served_share
    served = row["served_share"]
    return row["score"] < HEALTHY_FROM or (
        limit is not None and served is not None and served < limit - TOLERANCE
    )


def _judge(row: Row, older: Sequence[Row], numbers: Numbers) -> None:
    """Fills band and reasons; ``older``: the site's judged rows before this one."""
    scored = [old for old in older if old["score"] is not None]
    if row["score"] is None:
        row["band"], row["reasons"] = _standing(row, scored)
        return

    score = round(row["smoothed_score"])
    if score >= HEALTHY_FROM:
        band = "healthy"
    elif score >= DEGRADED_FROM:
        band = "degraded"
    else:
        band = "resisting"
    limit = numbers.pause_below_served_share
    served = row["smoothed_served_share"]
    refused = limit is not None and served is not None and served < limit - TOLERANCE
    if refused:
        band = "resisting"

    # "Ended in the last three hours": end in (this end - 3 h, this end].
    # AMBIGUOUS: the bound at exactly three hours; half-open as everywhere else in the text.
    # A window's whole length counts, also what lies before the three hours. A low window of an
    # hour or more is so "long enough by itself" for as long as it is among those windows.
    # AMBIGUOUS: alternatively the sentence means that no cap holds at all where this window has
    # an hour or more, be it low or not.
    scored_now = [*scored, row]
    after = row["window_end"] - timedelta(hours=3)
    low_minutes = sum(
        old["window_minutes"]
        for old in scored_now
        if old["window_end"] > after and _is_low(old, numbers)
    )
    # The last three scored windows, this one among them, however long ago; two are not three.
    last_three = scored_now[-3:]
    in_bursts = len(last_three) == 3 and all(_is_low(old, numbers) for old in last_three)
    if not in_bursts:
        if low_minutes < 30:
            band = "healthy"
        elif low_minutes < 60 and band == "resisting":
            band = "degraded"

    reasons = []
    if refused and band == "resisting":
        reasons.append("refusal")
    # AMBIGUOUS: "at least 1 point" and "most first" compare the plain floats, as the score does.
    costs = [(row[f"{signal}_penalty"], signal) for signal in SIGNALS]
    costs = [(points, signal) for points, signal in costs if points >= 1]
    reasons += [signal for _points, signal in sorted(costs, key=lambda pair: -pair[0])]
    now, base = row["delivery_share"], row["base_delivery_share"]
    if now is not None and base is not None and base - now >= POINTS_20 - TOLERANCE:
        reasons.append("delivery")
    row["band"], row["reasons"] = band, reasons


def _standing(row: Row, scored: Sequence[Row]) -> tuple[str, list[str]]:
    """Band and reasons of a window without a score."""
    if not scored:
        return "unscored", []
    last = scored[-1]
    # AMBIGUOUS: "one window length" is this window's. Alternative: the last scored window's.
    length = timedelta(minutes=row["window_minutes"])
    if row["window_end"] - last["window_end"] > DAY + length:
        return "unscored", []
    return last["band"], [reason for reason in last["reasons"] if reason == "refusal"]
