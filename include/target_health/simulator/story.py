"""A fleet with a story: the demo's sites, what happens to each, and where it should end."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from target_health.errors import UsageError
from target_health.simulator.plans import Plan, SitePlan, check_kinds
from target_health.simulator.profiles import Profile, draw_profile, site_rng
from target_health.simulator.rhythm import DAY_MS, EVERY_HOUR, Rhythm, epoch_ms, window_starts
from target_health.simulator.troubles import Trouble
from target_health.times import DAY, HOUR, floor_day, floor_hour

# The design's smallest baseline and window (50 judged), with room for what is not judged.
_BASELINE_FETCHES = 550
_BASELINE_DAYS = 3
_WINDOW_FETCHES = 65
# Of the sites beyond the story, so many have a trouble at the end.
_TROUBLED_SHARE = 0.25
# And so many are crawled in bursts, from daily to weekly.
_BURSTY_SHARE = 0.08


def story_plan(
    sites: int,
    days: float,
    end: datetime,
    *,
    seed: int = 0,
    fetches_per_hour: float | None = None,
    troubles: Collection[str] | None = None,
) -> Plan:
    """A fleet with a story: the first sixteen sites have parts, the rest are drawn.

    At the end some sites resist, some are degraded, some recovered days ago, one is too new to
    score. ``fetches_per_hour`` scales the whole fleet's mean to it. ``troubles`` keeps only these
    kinds (none at all: an empty collection).
    """
    if sites < 1:
        raise UsageError("--sites has to be at least 1")
    if days <= 0:
        raise UsageError("--days has to be more than 0")
    if troubles is not None:
        check_kinds(troubles)
    start = end - timedelta(days=days)
    digits = max(2, len(str(sites)))
    planned = [
        _part(index, digits, end, seed) if index < len(_PARTS) else _drawn(index, digits, end, seed)
        for index in range(sites)
    ]
    fleet: tuple[Trouble, ...] = (
        _moved(
            _ago("dead_gateway", 6 * 24 + 5, until=6 * 24, route=("gateway", "gw-b")),
            end,
        ),
    )
    if troubles is not None:
        planned = [
            replace(site, troubles=tuple(t for t in site.troubles if t.kind in troubles))
            for site in planned
        ]
        fleet = tuple(trouble for trouble in fleet if trouble.kind in troubles)
    if fetches_per_hour is not None:
        planned = _scaled(planned, start, end, fetches_per_hour)
    return Plan(
        seed=seed,
        start=start,
        end=end,
        sites=tuple(
            _with_honest_expectation(_clipped(site, start), start, end) for site in planned
        ),
        fleet_troubles=tuple(t for t in fleet if t.end is None or t.end > start),
    )


@dataclass(frozen=True)
class _Part:
    """A part in the story; hours are before the end."""

    kind: str
    fetches_per_hour: float
    active_hours: int = 24
    swing: float = 0.4
    troubles: tuple[Trouble, ...] = ()
    since_hours: int | None = None
    burst_every_hours: int | None = None


# Troubles of parts have their times as distances from this moment, which stands for the end.
_END = datetime(2000, 1, 1)


def _ago(kind: str, hours: float, until: float | None = None, **more: Any) -> Trouble:
    end = None if until is None else _END - until * HOUR
    return replace(Trouble(kind, _END - hours * HOUR, end), **more)


# Volumes decide how long the windows are (auto): 500 an hour make 15 minutes, 125 an hour, 55 two
# hours, 30 four, 5 a day. Those of 15 minutes are crawled for some hours a day only, so that
# three weeks of a dozen sites stay near 300,000 fetches. Troubles have lasted a few windows.
_PARTS: tuple[_Part, ...] = (
    _Part("shop", 125, troubles=(_ago("gradual_challenges", 30, ramp=26 * HOUR),)),
    _Part(
        "news",
        125,
        active_hours=14,
        swing=0.2,
        troubles=(_ago("challenged_country", 8, route=("country", "us")),),
    ),
    _Part(
        "market",
        500,
        active_hours=5,
        swing=0.2,
        troubles=(_ago("bad_window", 5 * 24 + 2.5, until=5 * 24 + 2.25), _ago("sudden_403s", 2.25)),
    ),
    _Part("outlet", 55, troubles=(_ago("soft_blocks", 16, strength=0.38),)),
    _Part("shop", 55, troubles=(_ago("throttling", 18, strength=4.0), _ago("rate_limiting", 18))),
    _Part(
        "market",
        500,
        active_hours=4,
        swing=0.2,
        troubles=(
            _ago("bad_window", 9 * 24 + 3, until=9 * 24 + 2.75),
            _ago("bad_window", 3 * 24 + 2, until=3 * 24 + 1.75),
            _ago("bad_window", 24 + 1.5, until=24 + 1.25),
        ),
    ),
    _Part("outlet", 30, troubles=(_ago("sudden_403s", 4 * 24 + 9, until=4 * 24),)),
    _Part("shop", 30, troubles=(_ago("quiet_mix", 26, ramp=4 * HOUR),)),
    _Part("magazine", 300, swing=0.0, burst_every_hours=80),
    _Part("news", 60, since_hours=50),
    _Part(
        "magazine",
        5,
        swing=0.7,
        troubles=(_ago("gradual_challenges", 9 * 24, until=7 * 24, ramp=12 * HOUR),),
    ),
    _Part("shop", 30, troubles=(_ago("redesign", 22, page_type="product"),)),
    _Part(
        "outlet",
        130,
        active_hours=12,
        swing=0.2,
        troubles=(_ago("broken_pool", 7, route=("pool", "datacenter")),),
    ),
    _Part("market", 55, troubles=(_ago("doubled_retries", 30),)),
    _Part("shop", 60, troubles=(_ago("site_down", 7),)),
    _Part(
        "outlet", 60, troubles=(_ago("login_redirects", 14, strength=0.7, expected="resisting"),)
    ),
)


def _name(kind: str, index: int, digits: int) -> str:
    return f"{kind}-{index + 1:0{digits}d}.example"


def _part(index: int, digits: int, end: datetime, seed: int) -> SitePlan:
    """The site that plays the story's part of this index."""
    part = _PARTS[index]
    last_hour = floor_hour(end - timedelta(microseconds=1))
    hours = (last_hour.hour - np.arange(part.active_hours)) % 24
    peak_hour = (
        (last_hour.hour - part.active_hours / 2 + 1) % 24
        if part.active_hours < 24
        else (last_hour.hour - 3) % 24
    )
    rhythm = Rhythm(
        fetches_per_hour=part.fetches_per_hour,
        active_hours=tuple(sorted(hours.tolist())) if part.active_hours < 24 else EVERY_HOUR,
        peak_hour=float(peak_hour),
        swing=part.swing,
        weekend=0.95,
        night_hour=float((peak_hour + 12) % 24),
        slow_night=0.35,
        since=None if part.since_hours is None else last_hour - part.since_hours * HOUR,
        burst_at=last_hour - 7 * HOUR if part.burst_every_hours else None,
        burst_every_hours=part.burst_every_hours or 0,
        burst_hours=1 if part.burst_every_hours else 0,
    )
    profile = draw_profile(
        index, _name(part.kind, index, digits), seed=seed, kind=part.kind, rhythm=rhythm
    )
    routes = {
        **profile.routes,
        **{
            trouble.route[0]: _fair_shares(profile, trouble.route)
            for trouble in part.troubles
            if trouble.route
        },
    }
    return SitePlan(
        profile=replace(profile, routes=routes),
        troubles=tuple(_moved(trouble, end) for trouble in part.troubles),
    )


def _fair_shares(profile: Profile, route: tuple[str, str]) -> dict[str, float]:
    """The site's shares of a route dimension with this value taking 35 % of its fetches."""
    dimension, value = route
    others = {v: share for v, share in profile.routes[dimension].items() if v != value}
    total = sum(others.values())
    return {value: 0.35, **{v: 0.65 * share / total for v, share in others.items()}}


def _moved(trouble: Trouble, end: datetime) -> Trouble:
    """A part's trouble at its real time, on the 15-minute grid."""
    anchor = floor_hour(end)
    return replace(
        trouble,
        start=anchor - (_END - trouble.start),
        end=None if trouble.end is None else anchor - (_END - trouble.end),
    )


# What strikes drawn sites; each is plain to see for a site of an ordinary volume.
_DRAWN_TROUBLES = (
    "gradual_challenges",
    "sudden_403s",
    "soft_blocks",
    "rate_limiting",
    "throttling",
    "quiet_mix",
    "redesign",
    "doubled_retries",
    "site_down",
)


def _drawn(index: int, digits: int, end: datetime, seed: int) -> SitePlan:
    """A site beyond the story: as it comes, mostly healthy."""
    rng = site_rng(seed, index, 1)
    profile = draw_profile(index, "", seed=seed)
    profile = replace(profile, name=_name(profile.kind, index, digits))
    if rng.random() < _BURSTY_SHARE:
        every_hours = int(rng.choice([24, 48, 84, 168]))
        return SitePlan(
            replace(
                profile,
                rhythm=Rhythm(
                    fetches_per_hour=float(rng.uniform(150, 400)),
                    burst_at=floor_hour(end) - int(rng.integers(3, 20)) * HOUR,
                    burst_every_hours=every_hours,
                    burst_hours=int(rng.integers(1, 3)),
                ),
            )
        )
    if rng.random() >= _TROUBLED_SHARE:
        return SitePlan(profile)
    kind = str(rng.choice(_DRAWN_TROUBLES))
    if kind in {"soft_blocks", "redesign"} and "product" not in profile.page_types:
        kind = "sudden_403s"
    # Long enough for the windows of any volume, daily ones too.
    trouble = Trouble(kind, floor_hour(end) - int(rng.integers(54, 70)) * HOUR)
    return SitePlan(profile, (trouble,))


def _scaled(
    planned: list[SitePlan], start: datetime, end: datetime, fetches_per_hour: float
) -> list[SitePlan]:
    total = sum(_expected_fetches(site.profile.rhythm, start, end) for site in planned)
    factor = fetches_per_hour * ((end - start) / HOUR) / max(total, 1e-9)
    return [
        replace(
            site,
            profile=replace(
                site.profile,
                rhythm=replace(
                    site.profile.rhythm,
                    fetches_per_hour=site.profile.rhythm.fetches_per_hour * factor,
                ),
            ),
        )
        for site in planned
    ]


def _expected_fetches(rhythm: Rhythm, start: datetime, end: datetime) -> float:
    return float(rhythm.expected_fetches(window_starts(start, end)).sum())


def _clipped(site: SitePlan, start: datetime) -> SitePlan:
    """Without the troubles that were over before the simulation begins."""
    return replace(
        site,
        troubles=tuple(
            trouble for trouble in site.troubles if trouble.end is None or trouble.end > start
        ),
    )


def _with_honest_expectation(site: SitePlan, start: datetime, end: datetime) -> SitePlan:
    """Unscored where the last window's baseline period holds too little, whatever the trouble."""
    windows = window_starts(start, max(start, floor_day(end - DAY)))
    expected = site.profile.rhythm.expected_fetches(windows)
    days = np.bincount(windows // DAY_MS - epoch_ms(start) // DAY_MS, expected)
    days = days[days > 0]
    enough = (
        expected.sum() >= _BASELINE_FETCHES
        and len(days) >= _BASELINE_DAYS
        and days.max() >= _WINDOW_FETCHES
    )
    return replace(site, unscored=not enough)
