"""Runs a plan: day by day, site by site, into log files and the truth beside them."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from target_health.errors import UsageError
from target_health.simulator.fetches import draw_counts, draw_fetches
from target_health.simulator.native_log import LogWriter
from target_health.simulator.plans import Plan, SitePlan
from target_health.simulator.profiles import draw_profile, site_rng
from target_health.simulator.rhythm import epoch_ms, window_starts
from target_health.simulator.story import story_plan
from target_health.simulator.troubles import apply_trouble
from target_health.simulator.truth import Tally, truth
from target_health.times import DAY, HOUR, floor_day, floor_hour, to_utc, utc_now

SOURCE = "crawler"
TRUTH = "truth.json"
# Streams of randomness of one site; 0 and 1 are its profile's and its part's.
_FETCHES, _TROUBLES = 2, 3

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Summary:
    """What a simulation wrote; ``files`` are rows by path relative to ``out``."""

    out: Path
    sites: int
    rows: int
    size_bytes: int
    start: datetime
    end: datetime
    files: dict[str, int]
    expected_bands: dict[str, str]


def simulate(
    sites: int,
    days: float,
    out: Path,
    *,
    seed: int = 0,
    end: datetime | None = None,
    fetches_per_hour: float | None = None,
    troubles: Collection[str] | None = None,
    progress: Progress | None = None,
) -> Summary:
    """Simulates the story's fleet for ``days`` up to ``end`` (UTC; default: the present hour).

    Writes ``out/crawler/crawl-YYYYMMDD.jsonl.gz`` for each whole day, ``…THH.jsonl.gz`` for each
    hour of the last one, and ``out/truth.json``. So ``out`` can be an inbox: logs lie under
    their source, the truth does not. The same arguments give the same bytes; an earlier
    simulation in ``out`` is replaced. ``fetches_per_hour`` scales the fleet's mean, ``troubles``
    keeps only these kinds (an empty collection: none), ``progress(done, of)`` counts days.
    Raises ``UsageError``.
    """
    moment = floor_hour(utc_now()) if end is None else to_utc(end)
    plan = story_plan(
        sites, days, moment, seed=seed, fetches_per_hour=fetches_per_hour, troubles=troubles
    )
    return simulate_plan(plan, out, progress=progress)


def simulate_plan(plan: Plan, out: Path, *, progress: Progress | None = None) -> Summary:
    """As ``simulate``, for a plan of one's own."""
    _clear(out)
    profiles = [site.profile for site in plan.sites]
    tally = Tally(len(plan.sites))
    files: dict[str, int] = {}
    size_bytes = 0
    days = list(_days(plan.start, plan.end))
    with LogWriter(profiles) as writer:
        for done, day in enumerate(days, start=1):
            frames = [
                _clip(day_fetches(plan, index, day), plan.start, plan.end)
                for index in range(len(plan.sites))
            ]
            for index, frame in enumerate(frames):
                tally.add(index, frame)
            fetches = _in_order(frames)
            for name, part in _files(fetches, day, plan.end):
                path = f"{SOURCE}/{name}"
                size_bytes += writer.write(out / path, part)
                files[path] = len(part)
            if progress is not None:
                progress(done, len(days))
    _write_truth(out, truth(plan, tally, files, SOURCE))
    return Summary(
        out=out,
        sites=len(plan.sites),
        rows=sum(files.values()),
        size_bytes=size_bytes,
        start=plan.start,
        end=plan.end,
        files=files,
        expected_bands={site.profile.name: site.expected_band for site in plan.sites},
    )


def simulate_hour(
    sites: int,
    fetches: int,
    out: Path,
    *,
    seed: int = 0,
    end: datetime,
) -> Summary:
    """Exactly ``fetches`` rows of the full hour before ``end``, of a fleet without troubles, in one
    file (``out``, compressed where it ends in ``.gz``), without a truth. For benchmarks.
    """
    moment = floor_hour(to_utc(end))
    digits = max(2, len(str(sites)))
    profiles = [
        draw_profile(index, f"site-{index + 1:0{digits}d}.example", seed=seed)
        for index in range(sites)
    ]
    starts = window_starts(moment - HOUR, moment)
    expected = np.array([profile.rhythm.expected_fetches(starts) for profile in profiles])
    counts = (
        site_rng(seed, sites, _FETCHES)
        .multinomial(fetches, (expected / expected.sum()).ravel())
        .reshape(expected.shape)
    )
    frames = [
        draw_fetches(
            index, profile, starts, counts[index], site_rng(seed, index, _FETCHES, epoch_ms(moment))
        )
        for index, profile in enumerate(profiles)
    ]
    with LogWriter(profiles) as writer:
        size_bytes = writer.write(out, _in_order(frames))
    return Summary(
        out=out,
        sites=sites,
        rows=fetches,
        size_bytes=size_bytes,
        start=moment - HOUR,
        end=moment,
        files={out.name: fetches},
        expected_bands={profile.name: "healthy" for profile in profiles},
    )


def day_fetches(plan: Plan, site_index: int, day: datetime) -> pd.DataFrame:
    """One site's fetches of one UTC day, with its troubles and the fleet's, in order of time.

    The whole day, whatever the plan's range: so a plan with a later end goes on where an earlier
    one ended.
    """
    site: SitePlan = plan.sites[site_index]
    starts = window_starts(day, day + DAY)
    rng = site_rng(plan.seed, site_index, _FETCHES, epoch_ms(day))
    counts = draw_counts(site.profile, starts, rng)
    fetches = draw_fetches(site_index, site.profile, starts, counts, rng)
    for number, trouble in enumerate((*site.troubles, *plan.fleet_troubles)):
        fetches = apply_trouble(
            fetches, trouble, site_rng(plan.seed, site_index, _TROUBLES, number, epoch_ms(day))
        )
    return fetches


def _days(start: datetime, end: datetime) -> Iterator[datetime]:
    day = floor_day(start)
    while day < end:
        yield day
        day += DAY


def _clip(fetches: pd.DataFrame, start: datetime, end: datetime) -> pd.DataFrame:
    first, last = np.searchsorted(
        fetches["ts"].to_numpy(), np.array([start, end], dtype="datetime64[ms]")
    )
    return fetches.iloc[first:last]


def _in_order(frames: list[pd.DataFrame]) -> pd.DataFrame:
    """All sites' fetches, in order of time."""
    fetches = pd.concat(frames, ignore_index=True)
    return fetches.iloc[np.argsort(fetches["ts"].to_numpy(), kind="stable")]


def _files(
    fetches: pd.DataFrame, day: datetime, end: datetime
) -> Iterator[tuple[str, pd.DataFrame]]:
    """Names and rows: one file for a whole day of history, one an hour for the last day."""
    if day + DAY < end:
        if len(fetches):
            yield f"crawl-{day:%Y%m%d}.jsonl.gz", fetches
        return
    for hour in range(24):
        start = day + timedelta(hours=hour)
        part = _clip(fetches, start, start + HOUR)
        if len(part):
            yield f"crawl-{start:%Y%m%dT%H}.jsonl.gz", part


def _clear(out: Path) -> None:
    """Removes what an earlier simulation wrote here, as its truth names it."""
    if out.exists() and not out.is_dir():
        raise UsageError(f"--out {out} is a file; name a directory")
    path = out / TRUTH
    if not path.exists():
        return
    try:
        files = list(json.loads(path.read_text())["files"])
    except (ValueError, KeyError, TypeError):
        raise UsageError(f"{path} is not a simulation's; choose another --out") from None
    for name in files:
        earlier = (out / name).resolve()
        if earlier.is_relative_to((out / SOURCE).resolve()):
            earlier.unlink(missing_ok=True)
    path.unlink()


def _write_truth(out: Path, content: dict[str, Any]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    partial = out / f".{TRUTH}.partial"
    partial.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    partial.replace(out / TRUTH)
