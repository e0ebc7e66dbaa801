"""How a page says it: reasons, numbers and ages in words that need no manual."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from target_health.times import iso

BANDS = ("resisting", "degraded", "healthy", "unscored")
STATES = ("paused", "slowed", "stopped", "active")
# Beside each colour stands a sign, as colours alone do not tell everybody.
BAND_SIGNS = {"resisting": "■", "degraded": "▲", "healthy": "●", "unscored": "○"}
STATE_SIGNS = {"active": "▸", "slowed": "◐", "paused": "‖", "stopped": "×"}
BAND_MEANINGS = {
    "resisting": "plainly refusing: paused, and a person decides",
    "degraded": "getting worse: crawled more slowly",
    "healthy": "as its own normal",
    "unscored": "no honest score",
}

REASONS = {
    "refusal": "serves less than half",
    "hard_block": "more refusals",
    "challenge": "more challenges",
    "soft_block": "more block pages",
    "latency": "slower",
    "delivery": "fewer pages arrive",
    "parser": "records fail validation",
    "cost": "records cost more",
    "human": "a person’s word",
    "fuse": "many sites at once",
}
SIGNALS = {
    "hard_block": "Refused",
    "challenge": "Challenged",
    "soft_block": "Soft-blocked",
    "latency": "Slow (p95)",
}
RATE_SENTENCES = {
    "hard_block": "{} of fetches are refused (403, 429 and the like)",
    "challenge": "{} of fetches meet a challenge",
    "soft_block": "{} of fetches get a block page that calls itself fine",
}
ACTIONS = {
    "slow_down": "slowed down",
    "pause": "paused",
    "restore": "restored a step",
    "fuse": "fuse: slowed instead of paused",
    "human_pause": "paused by a person",
    "human_resume": "resumed by a person",
    "human_stop": "stopped by a person",
}
NONE = "–"


def reasons_text(row: dict[str, Any]) -> str:
    """The reasons of a row in words, or why it has no score."""
    said = [reason_word(reason) for reason in row["reasons"] or ()]
    if row.get("unscored_reason"):
        said.append(f"no score: {row['unscored_reason']}")
    return ", ".join(said)


def explanations(row: dict[str, Any]) -> list[str]:
    """Each reason of a site with the numbers behind it, as a sentence."""
    said = []
    for reason in row["reasons"] or ():
        if reason == "refusal":
            share = percent(row["smoothed_served_share"])
            said.append(f"It serves {share} of what it normally serves.")
        elif reason in RATE_SENTENCES:
            now, base = percent(row[f"{reason}_rate"]), percent(row[f"base_{reason}_rate"])
            said.append(f"{RATE_SENTENCES[reason].format(now)}; its normal is {base}.")
        elif reason == "latency":
            now, base = (
                milliseconds(row["p95_latency_ms"]),
                milliseconds(row["base_p95_latency_ms"]),
            )
            said.append(f"The slowest 5 % of answers take over {now}; its normal is {base}.")
        elif reason == "delivery":
            now, base = percent(row["delivery_share"]), percent(row["base_delivery_share"])
            said.append(f"{now} of fetches bring the page; its normal is {base}.")
        else:
            said.append(f"{reason_word(reason).capitalize()}.")
    if row.get("unscored_reason"):
        said.append(f"No honest score for the newest window: {row['unscored_reason']}.")
    return said


def reason_word(reason: str) -> str:
    return REASONS.get(reason, reason.replace("_", " "))


def action_word(kind: str) -> str:
    return ACTIONS.get(kind, kind.replace("_", " "))


def points(value: float | None) -> str:
    return NONE if missing(value) else f"{value:.0f}"


def points_1(value: float | None) -> str:
    return NONE if missing(value) else f"{value:.1f}"


def percent(value: float | None) -> str:
    """A share as percent: one digit below ten, none above."""
    if missing(value):
        return NONE
    assert value is not None
    hundredth = 100 * value
    return f"{hundredth:.1f} %" if 0 < abs(hundredth) < 10 else f"{hundredth:.0f} %"


def times_normal(value: float | None) -> str:
    return NONE if missing(value) else f"{value:.2g}×"


def milliseconds(value: float | None) -> str:
    if missing(value):
        return NONE
    assert value is not None
    return f"{value / 1000:.1f} s" if value >= 10_000 else f"{value:,.0f} ms"


def count(value: float | None) -> str:
    return NONE if missing(value) else f"{value:,.0f}"


def missing(value: float | None) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def age(since: datetime | None, now: datetime) -> str:
    """How long ago: ``25 min``, ``5 h``, ``3 d``."""
    if since is None:
        return NONE
    span = max(now - since, timedelta())
    if span < timedelta(minutes=1):
        return "just now"
    if span < timedelta(hours=2):
        return f"{span // timedelta(minutes=1)} min"
    if span < timedelta(days=2):
        return f"{span // timedelta(hours=1)} h"
    return f"{span // timedelta(days=1)} d"


def moment(value: datetime | None) -> str:
    """To the minute, UTC."""
    return NONE if value is None else f"{value:%Y-%m-%d %H:%M}"


def moment_iso(value: datetime | None) -> str:
    return "" if value is None else iso(value)


def state_text(row: dict[str, Any]) -> str:
    return f"slowed, step {row['step']}" if row["state"] == "slowed" else str(row["state"])


def route_text(diagnosis: str | None) -> str:
    """``route:gateway=eu`` as ``gateway eu``."""
    if not diagnosis:
        return NONE
    return diagnosis.removeprefix("route:").replace("=", " ", 1)


def sparkline(values: Sequence[float | None], width: int = 120, height: int = 28) -> str:
    """SVG path data for points from 0 to 100; gaps are bridged, as crawls come in bursts."""
    step = width / max(1, len(values) - 1)
    known = [
        (place * step, 2 + (height - 4) * (1 - min(100.0, max(0.0, value)) / 100))
        for place, value in enumerate(values)
        if value is not None and not missing(value)
    ]
    if len(known) == 1:
        # A point alone still shows, as a short stroke.
        return f"M{max(0.0, known[0][0] - 2):.1f} {known[0][1]:.1f}h2"
    points = [f"{x:.1f} {y:.1f}" for x, y in known]
    return f"M{'L'.join(points)}" if points else ""


def spark_text(values: Sequence[float | None]) -> str:
    """What a sparkline shows, for those who do not see it."""
    known = [value for value in values if value is not None and not missing(value)]
    if not known:
        return "no scores in seven days"
    return f"seven days: from {known[0]:.0f} to {known[-1]:.0f}, lowest {min(known):.0f}"
