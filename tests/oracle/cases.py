"""Adversarial histories with which the models and the oracle are compared.

Each case is made from its own seed and holds either fetches (columns of ``crawl_log``; an ``item``
key that is missing was not attempted) or rows of ``site_windows``. Only the loading of a case is
different for the two; everything after ``site_windows`` is the same.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from .numbers import Numbers

START = datetime(2025, 2, 20)  # crosses the end of a February
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


@dataclass(frozen=True)
class Case:
    """One history. Exactly one of ``fetches`` and ``windows`` is filled.

    ``routes`` and ``extractions`` are rows of ``route_windows`` and ``extraction_windows``.
    """

    name: str
    numbers: Numbers
    sites: tuple[str, ...]
    until: datetime
    fetches: list[dict[str, Any]] = field(default_factory=list)
    windows: list[dict[str, Any]] = field(default_factory=list)
    routes: list[dict[str, Any]] = field(default_factory=list)
    extractions: list[dict[str, Any]] = field(default_factory=list)
    about: str = ""


# ---- building blocks -------------------------------------------------------------------------


def window(  # one argument a count
    site: str,
    start: datetime,
    minutes: int = 60,
    judged: int = 100,
    *,
    hard: int = 0,
    challenge: int = 0,
    soft: int = 0,
    soft_404: int = 0,
    paywalled: int = 0,
    server: int = 0,
    client: int = 0,
    not_found: int = 0,
    unknown: int = 0,
    redirects: int = 0,
    p95: float | None = 400.0,
) -> dict[str, Any]:
    """A row of ``site_windows``; what is judged and nothing else is ok."""
    ok = judged - hard - challenge - soft - soft_404 - paywalled - server - client - not_found
    assert ok >= 0, (site, start, judged)
    requests = judged + unknown + redirects
    return {
        "site": site,
        "window_start": start,
        "window_end": start + minutes * MINUTE,
        "window_minutes": minutes,
        "requests": requests,
        "judged": judged,
        "ok": ok,
        "hard_blocks": hard,
        "challenges": challenge,
        "soft_blocks": soft,
        "soft_404s": soft_404,
        "paywalled": paywalled,
        "unknown": unknown,
        "server_errors": server,
        "client_errors": client,
        "not_found": not_found,
        "redirects": redirects,
        "p95_latency_ms": p95 if ok else None,
        "attempts": requests,
        "bytes": 1000 * ok,
        "credits": None,
        "items": ok,
    }


def steps(start: datetime, end: datetime, minutes: int) -> Iterator[datetime]:
    """Window starts of a length that tile [start, end)."""
    while start < end:
        yield start
        start += minutes * MINUTE


def calm(
    rng: random.Random,
    site: str,
    start: datetime,
    end: datetime,
    minutes: int = 60,
    judged: int = 100,
    denied: float = 0.02,
) -> list[dict[str, Any]]:
    """Windows of a site as it normally is: noisy counts, a few of every verdict."""
    rows = []
    for at in steps(start, end, minutes):
        count = max(1, round(rng.gauss(judged, judged / 10)))
        bad = sum(rng.random() < denied for _ in range(count))
        kinds = [rng.choice(("hard", "hard", "challenge", "soft")) for _ in range(bad)]
        rows.append(
            window(
                site,
                at,
                minutes,
                count,
                hard=kinds.count("hard"),
                challenge=kinds.count("challenge"),
                soft=kinds.count("soft"),
                server=int(count - bad > 20 and rng.random() < 0.3),
                unknown=rng.randrange(4),
                redirects=rng.randrange(6),
                p95=round(rng.lognormvariate(6, 0.15), 1),
            )
        )
    return rows


def _case(
    name: str, windows: list[dict[str, Any]], numbers: Numbers | None = None, about: str = ""
) -> Case:
    return Case(
        name=name,
        numbers=numbers or Numbers(),
        sites=tuple(sorted({row["site"] for row in windows})),
        until=max(row["window_end"] for row in windows),
        windows=windows,
        about=about,
    )


# ---- histories of windows --------------------------------------------------------------------


def steady_site() -> Case:
    rng = random.Random(1)
    rows = calm(rng, "steady.example", START, START + 17 * DAY, 30)
    return _case("steady_site", rows, about="nothing happens for 17 days")


def refusal_lasting_40_days() -> Case:
    rng = random.Random(2)
    site, turn = "refusing.example", START + 16 * DAY
    rows = calm(rng, site, START, turn, 120)
    for at in steps(turn, turn + 40 * DAY, 120):
        rows.append(window(site, at, 120, 100, hard=rng.randrange(45, 70), p95=380.0))
    rows += calm(rng, site, turn + 40 * DAY, turn + 43 * DAY, 120)
    return _case("refusal_lasting_40_days", rows, about="never becomes normal; then recovers")


def paused_for_weeks() -> Case:
    rng = random.Random(3)
    rows = []
    for site, away in (("back.example", 30), ("late.example", 57), ("gone.example", 75)):
        rows += calm(rng, site, START + 8 * DAY, START + 12 * DAY)
        back = START + (12 + away) * DAY
        rows += calm(rng, site, back, back + 1.5 * DAY, denied=0.3)
        rows += calm(rng, site, back + 1.5 * DAY, back + 4 * DAY)
    return _case("paused_for_weeks", rows, about="the period is stretched to 60 days, or too old")


def weekly_bursts() -> Case:
    rng = random.Random(4)
    site, rows = "weekly.example", []
    for week in range(11):
        at = START + week * 7 * DAY + 9 * HOUR
        bad = {7: 0.5, 9: 0.15}.get(week, 0.01)
        rows += calm(rng, site, at, at + 4 * HOUR, 30, 150, denied=bad)
    return _case("weekly_bursts", rows, about="two days in 14, so every period is stretched")


def all_flagged_period() -> Case:
    rng = random.Random(5)
    site, turn = "sunk.example", START + 5 * DAY
    rows = calm(rng, site, START, turn, 120)
    for at in steps(turn, turn + 16 * DAY, 120):
        rows.append(window(site, at, 120, 90, challenge=rng.randrange(50, 90)))
        if at.hour == 4:  # too small for a flag, and so a baseline of its own kind
            rows[-1] = window(site, at, 120, 49, challenge=30)
    rows += calm(rng, site, turn + 16 * DAY, turn + 20 * DAY, 120)
    numbers = Numbers(baseline_days=6, baseline_max_days=8)
    return _case(
        "all_flagged_period",
        rows,
        numbers,
        "once only flagged windows of that size are left, every new one is flagged too",
    )


def baseline_used_up() -> Case:
    rng = random.Random(6)
    site, turn = "used-up.example", START + 6 * DAY
    rows = calm(rng, site, START, turn, 240)
    for at in steps(turn, turn + 66 * DAY, 240):
        rows.append(window(site, at, 240, 120, hard=rng.randrange(60, 110)))
    rows += calm(rng, site, turn + 66 * DAY, turn + 68 * DAY, 240)
    accepted = [dict(row, site="accepted.example") for row in rows]
    numbers = Numbers(sites={"accepted.example": {"baseline_from": START + 40 * DAY + 11 * HOUR}})
    return _case(
        "baseline_used_up",
        rows + accepted,
        numbers,
        "the normal is older than 60 days; a human accepts the new one for the second site",
    )


def mostly_unknown() -> Case:
    rng = random.Random(7)
    rows = []
    for at in steps(START, START + 5 * DAY, 60):
        # Base unknown share 0 and 3/5; unknown in parts of the fetches.
        rows.append(window("clear.example", at, 60, 100))
        rows.append(window("murky.example", at, 60, 80, unknown=120))
        rows.append(window("half.example", at, 60, 60, unknown=20))
    late = START + 5 * DAY
    pairs = [(100, 100), (99, 101), (60, 140), (40, 160), (39, 161), (1, 48), (1, 49), (0, 50)]
    pairs += [(0, 49), (80, 120), (50, 51), (50, 50), (49, 51), (200, 0), (20, 30), (24, 26)]
    for hour, (judged, unknown) in enumerate(pairs):
        for site in ("clear.example", "murky.example", "half.example"):
            rows.append(window(site, late + hour * HOUR, 60, judged, unknown=unknown))
    # A site that never gets a baseline: unknown from its first hour.
    for hour in range(48):
        rows.append(
            window("young.example", START + hour * HOUR, 60, 60, unknown=rng.choice((40, 61, 90)))
        )
    return _case("mostly_unknown", rows, about="at, below and above one half and 20 points")


def one_terrible_window() -> Case:
    rng = random.Random(8)
    rows = []
    for site, minutes in (("quarter.example", 15), ("hour.example", 60), ("thirty.example", 30)):
        bad = START + 4 * DAY + 10 * HOUR
        rows += calm(rng, site, START, bad, minutes, denied=0.01)
        rows.append(window(site, bad, minutes, 100, hard=60, challenge=40))
        rows += calm(rng, site, bad + minutes * MINUTE, bad + 5 * HOUR, minutes, denied=0.01)
    return _case("one_terrible_window", rows, about="15 minutes change no band, an hour does")


def sudden_collapse() -> Case:
    rng = random.Random(9)
    rows = []
    for site, counts in (
        ("all-403.example", {"hard": 100}),
        ("mixed.example", {"hard": 40, "challenge": 30, "soft": 25}),
        ("slow.example", {"p95": 1500.0}),
        ("mild.example", {"challenge": 18, "p95": 900.0}),
        ("half.example", {"hard": 51}),
    ):
        turn = START + 4 * DAY + 6 * HOUR
        rows += calm(rng, site, START, START + 4 * DAY, 60, denied=0.01)
        rows += calm(rng, site, START + 4 * DAY, turn, 15, denied=0.01)
        for at in steps(turn, turn + 3 * HOUR, 15):
            rows.append(window(site, at, 15, 100, **counts))  # type: ignore[arg-type]
        rows += calm(rng, site, turn + 3 * HOUR, turn + 7 * HOUR, 15, denied=0.01)
    return _case("sudden_collapse", rows, about="how fast bands fall, and how they come back")


def changing_lengths() -> Case:
    rng = random.Random(10)
    site, rows = "changing.example", []
    for day in range(24):
        minutes = rng.choice((5, 10, 20, 15, 30, 60, 120, 240, 480, 1440)[3 if day < 20 else 0 :])
        at = START + day * DAY
        if minutes < 15:
            rows += calm(rng, site, at, at + 6 * HOUR, minutes, 60, denied=0.04)
        else:
            rows += calm(rng, site, at, at + DAY, minutes, 45 + minutes // 4, denied=0.04)
        if day in (17, 19, 21):
            for row in rows[-3:]:
                hard = row["ok"] * 3 // 4
                row.update(hard_blocks=row["hard_blocks"] + hard, ok=row["ok"] - hard)
    return _case("changing_lengths", rows, about="periods cut through longer windows")


def score_ties() -> Case:
    rows = []
    for at in steps(START, START + 4 * DAY, 120):
        rows.append(window("ties.example", at, 120, 200, p95=500.0))
        rows.append(window("ties-over-base.example", at, 120, 200, challenge=20, hard=10))
    late = START + 4 * DAY
    for number in range(40):
        at = late + number * 2 * HOUR
        # challenge n/250 costs n/2 points, hard n/200 costs 7n/8: many exact halves
        rows.append(window("ties.example", at, 120, 250, challenge=number, p95=500.0))
        rows.append(window("ties-over-base.example", at, 120, 200, challenge=20, hard=10 + number))
    for number in range(24):
        at = late + (40 + number) * 2 * HOUR
        # latency: 500 + 500·n/15 costs n/2 points; equal costs of two and three signals
        rows.append(window("ties.example", at, 120, 200, p95=500 + 500 * number / 15))
        rows.append(
            window(
                "ties-over-base.example", at, 120, 200, challenge=20 + number, hard=10, soft=number
            )
        )
    return _case("score_ties", rows, about="exact halves, equal costs, costs of exactly one point")


def served_share_edges() -> Case:
    rows = []
    bases = {"base-0": 0, "base-80": 160, "base-81": 161, "base-50": 100, "base-100": 200}
    for name, bad in bases.items():
        site = f"{name}.example"
        rows += [window(site, at, 30, 200, hard=bad) for at in steps(START, START + 4 * DAY, 240)]
        for number, now in enumerate((100, 100, 100, 101, 101, 150, 150, 150, 160, 180, 200, 0)):
            at = START + 4 * DAY + number * 30 * MINUTE
            rows.append(window(site, at, 30, 200, hard=now))
    numbers = Numbers(
        sites={
            "base-0.example": {"weights": {"hard_block": 0}},
            "base-50.example": {"pause_below_served_share": None},
        }
    )
    return _case("served_share_edges", rows, numbers, "exactly one half, base exactly 0.8, off")


def null_p95() -> Case:
    rows = []
    for at in steps(START, START + 4 * DAY, 60):
        rows.append(window("no-latency.example", at, 60, 100, p95=None))
        rows.append(window("some.example", at, 60, 100, p95=None if at.hour % 2 else 0.4))
    for hour in range(12):
        at = START + 4 * DAY + hour * HOUR
        late = None if hour % 3 == 0 else 0.5 * hour
        rows.append(window("no-latency.example", at, 60, 100, p95=late))
        rows.append(window("some.example", at, 60, 100, p95=late))
        rows.append(window("nothing-ok.example", at, 60, 100, hard=100))
    return _case("null_p95", rows, about="no latency now, in the base, in both; a base under 1 ms")


def few_ok_fetches() -> Case:
    rng = random.Random(13)
    rows = []
    for number, at in enumerate(steps(START, START + 5 * DAY, 60)):
        # Windows below 20 ok are slow; small.example has only such windows.
        few = number % 3 == 0
        rows.append(
            window(
                "mixed.example",
                at,
                60,
                19 if few else 20 + number % 4,
                p95=3000.0 if few else 300.0 + rng.randrange(50),
            )
        )
        rows.append(window("small.example", at, 60, 12, p95=200.0 + rng.randrange(400)))
        rows.append(window("few-ok.example", at, 60, 60, not_found=41, p95=250.0 + number))
    for hour in range(6):
        at = START + 5 * DAY + hour * HOUR
        for site in ("mixed.example", "small.example", "few-ok.example"):
            rows.append(window(site, at, 60, 60, p95=700.0))
    return _case("few_ok_fetches", rows, about="p95 of windows with fewer than 20 ok fetches")


def silent_nights() -> Case:
    rng = random.Random(14)
    site, rows = "night.example", []
    for day in range(18):
        for at in steps(START + day * DAY + 6 * HOUR, START + day * DAY + 22 * HOUR, 60):
            judged = 100 if 8 <= at.hour < 20 else 8
            rows += calm(rng, site, at, at + HOUR, 60, judged)
            if day == 16 and at.hour == 19:
                rows[-1] = window(site, at, 60, 100, hard=100)
    return _case("silent_nights", rows, about="nights without a fetch, low at the last full hour")


def unscored_runs() -> Case:
    rng = random.Random(15)
    rows = []
    for site, minutes, bad in (
        ("standing.example", 60, {"hard": 100}),
        ("degraded.example", 60, {"challenge": 60, "soft": 20, "p95": 700.0}),
        ("well.example", 30, {}),
        ("long.example", 240, {"hard": 90}),
    ):
        turn = START + 5 * DAY
        rows += calm(rng, site, START, turn, minutes)
        for at in steps(turn, turn + 8 * HOUR, minutes):
            rows.append(window(site, at, minutes, 100, **bad))  # type: ignore[arg-type]
        for at in steps(turn + 8 * HOUR, turn + 40 * HOUR, minutes):
            rows.append(window(site, at, minutes, rng.randrange(1, 50), unknown=rng.randrange(3)))
        rows += calm(rng, site, turn + 40 * HOUR, turn + 44 * HOUR, minutes)
    for hour in range(30):
        rows.append(window("never.example", START + hour * HOUR, 60, 90, hard=90))
    return _case("unscored_runs", rows, about="the band stands for a day and a window, not longer")


def low_bursts_days_apart() -> Case:
    rng = random.Random(16)
    rows = []
    for site, lows in (("bursts.example", 4), ("two.example", 2)):
        rows += calm(rng, site, START, START + 4 * DAY, 60)
        for number in range(lows):
            at = START + (6 + 3 * number) * DAY + 5 * HOUR
            rows.append(window(site, at, 15, 80, hard=80))
            rows.append(window(site, at + 15 * MINUTE, 15, 20, hard=20))  # no score
        at = START + 20 * DAY
        rows.append(window(site, at, 15, 80))
        rows.append(window(site, at + 15 * MINUTE, 15, 80, hard=80))
    return _case("low_bursts_days_apart", rows, about="the third low scored window in a row counts")


def whole_days() -> Case:
    rng = random.Random(17)
    rows = calm(rng, "daily.example", START, START + 70 * DAY, 1440, 55)
    for day in (30, 31, 45, 60, 61, 62, 63):
        rows[day] = window("daily.example", START + day * DAY, 1440, 60, hard=35, challenge=10)
    for day in range(0, 70, 3):
        rows += calm(rng, "third.example", START + day * DAY, START + (day + 1) * DAY, 1440, 140)
    return _case("whole_days", rows, about="1440-minute windows: no score but its own in 24 hours")


def delivery_falls() -> Case:
    rows = []
    for at in steps(START, START + 4 * DAY, 60):
        rows.append(window("down.example", at, 60, 100))
        rows.append(window("gone.example", at, 60, 90, not_found=10, redirects=10, unknown=10))
    for number, lost in enumerate((0, 19, 20, 21, 60, 100, 40, 0)):
        at = START + 4 * DAY + number * HOUR
        rows.append(window("down.example", at, 60, 100, server=lost))
        rows.append(window("gone.example", at, 60, 100, not_found=lost, redirects=10))
    at = START + 5 * DAY
    rows.append(window("down.example", at, 60, 100, server=30, challenge=30, p95=900.0))
    rows.append(window("down.example", at + HOUR, 60, 40, server=40))
    rows.append(window("gone.example", at, 60, 0, redirects=80))
    return _case("delivery_falls", rows, about="errors and dead pages: a reason, never a penalty")


def flag_edges() -> Case:
    rows = []
    for site, usual in (("edge-0.example", 0), ("edge-10.example", 20), ("edge-30.example", 60)):
        for at in steps(START, START + 4 * DAY, 120):
            rows.append(window(site, at, 120, 200, hard=usual))
        for number, more in enumerate((39, 40, 41, 60, 40, 140)):
            at = START + 4 * DAY + number * 2 * HOUR
            rows.append(window(site, at, 120, 200, hard=usual + more))
            rows.append(window(site, at + 12 * HOUR, 120, 49, challenge=49))
        for at in steps(START + 5 * DAY, START + 20 * DAY, 240):
            rows.append(window(site, at, 120, 200, soft=usual + 40 + at.day % 2))
    return _case("flag_edges", rows, about="exactly 20 points above the median is no flag")


def creeping_refusal() -> Case:
    rng = random.Random(20)
    site, rows = "creeping.example", []
    for day in range(45):
        share = min(0.9, 0.02 + 0.02 * day)
        rows += calm(rng, site, START + day * DAY, START + (day + 1) * DAY, 240, 120, denied=share)
    return _case("creeping_refusal", rows, about="two points a day")


def first_days() -> Case:
    rng = random.Random(21)
    rows = []
    for site, judged in (("busy.example", 200), ("slow.example", 7), ("499.example", 0)):
        if judged:
            rows += calm(rng, site, START, START + 6 * DAY, 60, judged)
    for day in range(3):  # 499, then 500 judged on three days; then two days of many
        rows.append(window("499.example", START + day * DAY, 60, (167, 166, 166)[day]))
        rows.append(window("500.example", START + day * DAY, 60, (167, 167, 166)[day]))
        rows.append(window("two-days.example", START + (day % 2) * DAY + day * HOUR, 60, 900))
    for site in ("499.example", "500.example", "two-days.example"):
        rows.append(window(site, START + 4 * DAY, 60, 50, hard=5))
        rows.append(window(site, START + 4 * DAY + HOUR, 60, 49, hard=5))
    # Days count only with judged fetches, and with all fetches unknown there are none.
    for day in range(4):
        rows.append(
            window("blind.example", START + day * DAY, 60, 0 if day == 1 else 300, unknown=30)
        )
    rows.append(window("blind.example", START + 4 * DAY, 60, 100))
    return _case("first_days", rows, about="499 and 500 fetches, two days and three")


def accepted_normal() -> Case:
    rng = random.Random(22)
    site, rows = "accepted.example", []
    turn = START + 10 * DAY
    rows += calm(rng, site, START, turn, 60)
    for at in steps(turn, turn + 12 * DAY, 60):
        rows.append(window(site, at, 60, 100, challenge=rng.randrange(35, 50)))
    own = [dict(row, site="own.example") for row in rows]
    numbers = Numbers(
        sites={
            site: {"baseline_from": turn + 3 * DAY + 90 * MINUTE},
            "own.example": {"min_requests": 95, "full_rate": 0.4, "baseline_gap_days": 2},
        }
    )
    return _case("accepted_normal", rows + own, numbers, "baseline_from in the middle of a window")


def anything(seed: int, days: int = 22) -> Case:
    """Random sites that change mood, length and size every few hours."""
    rng = random.Random(seed)
    rows: list[dict[str, Any]] = []
    for number in range(4):
        site = f"random-{number}.example"
        mood = (0.02, 0.0, 0.0)
        for day in range(days):
            if rng.random() < 0.12:
                continue
            minutes = rng.choice((60, 60, 120, 240, 30))
            for at in steps(START + day * DAY, START + (day + 1) * DAY, minutes):
                if rng.random() < 0.3:
                    continue
                if rng.random() < 0.08:
                    bad = rng.choice((0.0, 0.0, 0.1, 0.3, 0.8)) if day > 4 else 0.02
                    mood = (bad, rng.random(), rng.choice((0.0, 0.0, 0.7)))
                judged = rng.choice((0, 5, 30, 50, 60, 90, 150))
                bad_count = sum(rng.random() < mood[0] for _ in range(judged))
                hard = round(bad_count * mood[1])
                challenge = rng.randrange(bad_count - hard + 1)
                rows.append(
                    window(
                        site,
                        at,
                        minutes,
                        judged,
                        hard=hard,
                        challenge=challenge,
                        soft=bad_count - hard - challenge,
                        server=rng.randrange(judged - bad_count + 1) if rng.random() < 0.05 else 0,
                        unknown=round(rng.random() * mood[2] * 200),
                        redirects=rng.randrange(10),
                        p95=rng.choice((None, 200.0, 250.0, 300.0, 900.0)),
                    )
                )
    return _case(f"anything_{seed}", [row for row in rows if row["requests"] > 0])


# ---- fetch logs ------------------------------------------------------------------------------


def fetch(site: str, ts: datetime, number: int, **columns: Any) -> dict[str, Any]:
    """A fetch that went well; ``columns`` replace or add."""
    return {
        "event_id": f"{site}-{number}",
        "ts": ts,
        "site": site,
        "url": f"https://{site}/page/{number}",
        "page_type": "article",
        "status": 200,
        "error": None,
        "latency_ms": 300.0,
        "bytes": 20_000,
        "evidence": [],
        **columns,
    }


def _log(name: str, fetches: list[dict[str, Any]], numbers: Numbers, about: str) -> Case:
    last = max(row["ts"] for row in fetches)
    midnight = datetime(last.year, last.month, last.day) + DAY
    sites = tuple(sorted({row["site"] for row in fetches}))
    return Case(name, numbers, sites, midnight, fetches=fetches, about=about)


def auto_lengths() -> Case:
    rng = random.Random(31)
    rows = []
    number = 0
    # Fetches an hour by phase of the log: from one quarter-hour a window to one day, and back.
    for site, phases, hours in (
        ("varying.example", ((3, 400), (3, 30), (3, 8), (3, 120), (4, 2)), range(24)),
        ("daytime.example", ((5, 60), (5, 25), (6, 90)), range(9, 13)),
        ("exact.example", ((16, 100),), range(6, 8)),
        ("rare.example", ((16, 1),), range(12, 13)),
    ):
        day = 0
        for length, rate in phases:
            for _ in range(length):
                for hour in hours:
                    for _ in range(rate):
                        number += 1
                        spread = rng.randrange(3_600_000)
                        if site == "exact.example":
                            spread = number % 100 * 36_000
                        at = START + day * DAY + hour * HOUR + timedelta(milliseconds=spread)
                        kind = rng.random() if site != "exact.example" else 0.5
                        columns: dict[str, Any] = {"latency_ms": round(rng.lognormvariate(6, 0.4))}
                        if kind < 0.02:
                            columns["status"] = 403
                        elif kind < 0.04:
                            columns.update(status=None, error="timeout")
                        elif kind < 0.06:
                            columns["status"] = 301
                        rows.append(fetch(site, at, number, **columns))
                day += 1
    return _log("auto_lengths", rows, Numbers(), "rates that change from day to day, zero nights")


def verdict_zoo() -> Case:
    rng = random.Random(32)
    site = "zoo.example"
    statuses = [None, 100, 199, 200, 200, 200, 204, 226, 299, 300, 301, 304, 308, 399, 400, 401]
    statuses += [403, 404, 407, 410, 418, 429, 451, 499, 500, 503, 599, 600, 998, 999]
    errors = [None, None, None, "connection_reset", "timeout", "dns", "tls", "proxy", "aborted"]
    errors += ["other"]
    marks: list[list[str] | None] = [
        [],
        [],
        [],
        ["challenge:cloudflare"],
        ["soft_block:block_page"],
        ["soft_404:title"],
    ]
    marks += [["paywalled:schema_org"], ["soft_404:looks", "soft_block:block_page"]]
    marks += [["paywalled:schema_org", "soft_404:title"], None]
    items: list[dict[str, Any]] = [
        {},
        {},
        {"item": None},
        {"item": {}},
        {"item": []},
        {"item": {"title": None, "price": ""}},
        {"item": {"title": "A", "price": None}},
        {"item": [{"title": None}]},
        {"item": {"price": 0}},
    ]
    rows = []
    for number in range(6000):
        at = START + number * 90 * timedelta(seconds=1)
        columns = {
            "status": rng.choice(statuses),
            "error": rng.choice(errors),
            "evidence": rng.choice(marks),
            **rng.choice(items),
            "page_type": rng.choice(("article", "list", None)),
            "bytes": rng.choice((None, 0, 20_000, 21_000, 19_000)),
            "latency_ms": rng.choice((None, 0.0, 120.0, 4000.5)),
            "attempts": rng.choice((None, 1, 3)),
            "credits": rng.choice((None, None, 0.5)),
        }
        if rng.random() < 0.03:
            columns["canary"] = "front-page"
        rows.append(fetch(site, at, number, **columns))
    numbers = Numbers(window_minutes=30, min_requests=10, min_baseline_requests=100)
    return _log("verdict_zoo", rows, numbers, "every status with every error, mark and item")


def _hours(site: str, days: int, an_hour: int) -> Iterator[tuple[int, datetime]]:
    """Numbers and times of evenly spaced fetches."""
    for number in range(days * 24 * an_hour):
        yield number, START + number * HOUR / an_hour


def soft_blocks_by_size() -> Case:
    rng = random.Random(33)
    rows = []
    for site, an_hour in (("size.example", 70), ("size-no-items.example", 70)):
        for number, at in _hours(site, 6, an_hour):
            page_type = ("article", "list")[number % 3 == 0]
            usual = 20_000 if page_type == "article" else 100_000
            columns: dict[str, Any] = {"page_type": page_type, "bytes": usual}
            if site == "size.example":
                columns["item"] = {"title": f"Page {number}"} if number % 10 else None
            if at >= START + 4.5 * DAY and rng.random() < 0.4:
                # Just below, at and above 30 %; lists are judged by lists.
                columns["bytes"] = usual * 3 // 10 + rng.choice((-1, 0, 1, -4000))
                if site == "size.example":
                    columns["item"] = rng.choice((None, {"title": ""}, {}, {"title": "Short"}))
                    if rng.random() < 0.2:
                        del columns["item"]
            elif number % 17 == 0:
                columns.update(status=304, bytes=0)
            rows.append(fetch(site, at, number, **columns))
    numbers = Numbers(window_minutes=60)
    return _log("soft_blocks_by_size", rows, numbers, "200s whose only sign is their size")


def soft_blocks_by_same_answer() -> Case:
    rng = random.Random(34)
    rows = []
    for site, share in (
        ("same.example", 0.0),
        ("same-94.example", 0.06),
        ("same-95.example", 0.05),
    ):
        for number, at in _hours(site, 6, 60):
            columns: dict[str, Any] = {
                "content_hash": f"hash-{site}-{number}",
                "final_url": f"https://{site}/page/{number}",
                # Exactly this share of the fetches has no item value, evenly.
                "item": None if share and number % 100 < round(share * 100) else {"price": number},
            }
            if at >= START + 4.5 * DAY:
                kind = rng.random()
                if kind < 0.05:
                    columns.update(item=None, content_hash=f"shell-{at.day % 2}")
                elif kind < 0.10:
                    columns.update(item={"price": ""}, final_url=f"https://{site}/login")
                elif kind < 0.12:  # the same answer for one URL again and again
                    columns.update(item=None, content_hash="again", url=f"https://{site}/one")
                elif kind < 0.13:
                    columns.update(item=None)
                elif kind < 0.15:
                    columns.update(content_hash=f"shell-{at.day % 2}")
                    del columns["item"]
            rows.append(fetch(site, at, number, **columns))
    numbers = Numbers(window_minutes=60)
    return _log(
        "soft_blocks_by_same_answer", rows, numbers, "200s whose only sign is the same answer"
    )


def items_of_all_kinds() -> Case:
    rng = random.Random(35)
    rows = []
    for number, at in _hours("items.example", 5, 60):
        columns: dict[str, Any] = {"content_hash": "same" if number % 7 == 0 else f"h{number}"}
        late = at >= START + 4 * DAY
        pick = number % (12 if late else 40)
        if pick == 0:
            columns["item"] = None
        elif pick == 1:
            columns["item"] = {}
        elif pick == 2 and late:
            columns["item"] = {"a": None, "b": ""}
        elif pick == 3 and late:
            columns["item"] = []
        elif pick == 4:
            pass
        elif pick == 5:
            columns["item"] = [{"a": "value"}]
        else:
            columns["item"] = {"a": "value", "b": None}
        columns["bytes"] = 5000 if late and rng.random() < 0.2 else 20_000
        columns["page_type"] = None
        rows.append(fetch("items.example", at, number, **columns))
    return _log(
        "items_of_all_kinds", rows, Numbers(window_minutes=60), "absent, null, empty, and lists"
    )


def edges_of_time() -> Case:
    rows = []
    number = 0
    for day in range(5):
        for hour in range(0, 24, 3):
            for offset in (
                timedelta(0),
                timedelta(microseconds=1),
                timedelta(milliseconds=999),
                15 * MINUTE - timedelta(microseconds=1),
                15 * MINUTE,
                HOUR - timedelta(microseconds=1),
            ):
                for _ in range(12):
                    number += 1
                    at = START + day * DAY + hour * HOUR + offset
                    status = 403 if day == 4 and number % 2 else 200
                    rows.append(fetch("edges.example", at, number, status=status))
    numbers = Numbers(window_minutes=15, min_requests=12, min_baseline_requests=200)
    case = _log("edges_of_time", rows, numbers, "on the bounds of windows")
    # Ends within the last day, in the middle of a window: that one has not ended.
    return Case(
        case.name,
        case.numbers,
        case.sites,
        START + 4 * DAY + 21 * HOUR + 20 * MINUTE,
        fetches=rows,
        about=case.about,
    )


def soft_blocks_flag_windows() -> Case:
    """Soft blocks by history flag windows, which moves later periods and so later history."""
    rng = random.Random(37)
    rows = []
    site = "circle.example"
    for number, at in _hours(site, 9, 55):
        columns: dict[str, Any] = {"item": {"title": "x"}, "bytes": 20_000 + number % 500}
        if START + 3 * DAY <= at < START + 7 * DAY and rng.random() < 0.7:
            columns.update(item=None, bytes=1500, content_hash="notice")
        rows.append(fetch(site, at, number, **columns))
    numbers = Numbers(window_minutes=120, baseline_days=4, baseline_max_days=8)
    return _log("soft_blocks_flag_windows", rows, numbers, "four days of small notices")


CASES: tuple[Callable[[], Case], ...] = (
    steady_site,
    refusal_lasting_40_days,
    paused_for_weeks,
    weekly_bursts,
    all_flagged_period,
    baseline_used_up,
    mostly_unknown,
    one_terrible_window,
    sudden_collapse,
    changing_lengths,
    score_ties,
    served_share_edges,
    null_p95,
    few_ok_fetches,
    silent_nights,
    unscored_runs,
    low_bursts_days_apart,
    whole_days,
    delivery_falls,
    flag_edges,
    creeping_refusal,
    first_days,
    accepted_normal,
    lambda: anything(23),
    lambda: anything(24),
    auto_lengths,
    verdict_zoo,
    soft_blocks_by_size,
    soft_blocks_by_same_answer,
    items_of_all_kinds,
    edges_of_time,
    soft_blocks_flag_windows,
)


def all_cases() -> Iterator[Case]:
    """Every case, made when it is asked for."""
    for make in CASES:
        yield make()
