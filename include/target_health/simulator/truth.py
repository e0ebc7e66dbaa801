"""``truth.json``: what was simulated, so that a verdict on it can be judged."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd

from target_health.simulator.outcomes import OUTCOMES, verdict_counts
from target_health.simulator.pages import PAGE_TYPES
from target_health.simulator.plans import Plan, SitePlan
from target_health.simulator.troubles import KINDS, Trouble, expected_of, strength_of
from target_health.times import iso

# What a band makes the system do, where nothing else tells it to.
_ACTIONS = {"healthy": "none", "degraded": "slow_down", "resisting": "pause", "unscored": "none"}


class Tally:
    """Counts the fetches that were written, by site and outcome."""

    def __init__(self, sites: int) -> None:
        self.fetches = np.zeros((sites, len(OUTCOMES)), dtype=np.int64)
        self._first: list[datetime | None] = [None] * sites
        self._last: list[datetime | None] = [None] * sites

    def add(self, site_index: int, fetches: pd.DataFrame) -> None:
        """Fetches of one site, in order of time, after all that were added before."""
        if fetches.empty:
            return
        self.fetches[site_index] += np.bincount(
            fetches["outcome"].cat.codes, minlength=len(OUTCOMES)
        )
        self._first[site_index] = self._first[site_index] or _moment(fetches["ts"].iloc[0])
        self._last[site_index] = _moment(fetches["ts"].iloc[-1])

    def of_site(self, site_index: int) -> dict[str, Any]:
        fetches, first, last = (
            self.fetches[site_index],
            self._first[site_index],
            self._last[site_index],
        )
        return {
            "rows": int(fetches.sum()),
            "first_fetch_at": first and iso(first),
            "last_fetch_at": last and iso(last),
            "verdicts": verdict_counts(fetches),
            "verdicts_at_landing": verdict_counts(fetches, at_landing=True),
        }


def truth(plan: Plan, tally: Tally, files: Mapping[str, int], source: str) -> dict[str, Any]:
    """What ``truth.json`` holds.

    ``files``: rows by path, relative to the simulation's directory. Times are ISO 8601, UTC; an
    ``end`` of null: still going on. ``verdicts`` are final, ``verdicts_at_landing`` are what
    evidence shows without history.
    """
    return {
        "seed": plan.seed,
        "start": iso(plan.start),
        "end": iso(plan.end),
        "source": source,
        "rows": int(tally.fetches.sum()),
        "files": dict(files),
        "fleet_troubles": [_trouble(trouble) for trouble in plan.fleet_troubles],
        "sites": {
            site.profile.name: {**_site(site), **tally.of_site(index)}
            for index, site in enumerate(plan.sites)
        },
    }


def _site(site: SitePlan) -> dict[str, Any]:
    profile = site.profile
    rhythm = profile.rhythm
    current = [trouble for trouble in site.troubles if trouble.end is None]
    down = any(trouble.kind == "site_down" for trouble in current)
    unscored = site.expected_band == "unscored"
    owners = {KINDS[trouble.kind].owner for trouble in current} - {"none"}
    return {
        "kind": profile.kind,
        "expected_band": site.expected_band,
        # A collapsed delivery acts like degraded, whatever the band.
        "expected_action": "slow_down" if down and not unscored else _ACTIONS[site.expected_band],
        # When several owners have a trouble, hostility is looked at first.
        "expected_owner": None
        if unscored
        else next((owner for owner in ("crawl", "route", "parser") if owner in owners), None),
        "fetches_per_hour": round(rhythm.fetches_per_hour, 3),
        "active_hours_utc": list(rhythm.active_hours),
        "peak_hour_utc": round(rhythm.peak_hour, 2),
        "slow_night_hour_utc": round(rhythm.night_hour, 2),
        "burst_every_hours": rhythm.burst_every_hours or None,
        "rates": {name: round(rate, 6) for name, rate in profile.rates.items()},
        "page_types": {
            page_type.name: {
                "share": profile.page_types[page_type.name],
                "extracts": page_type.extracts,
                "median_bytes": round(profile.bytes * page_type.size),
            }
            for page_type in PAGE_TYPES
            if page_type.name in profile.page_types
        },
        "latency_ms": round(profile.latency_ms, 1),
        "routes": {
            dimension: {value: round(share, 4) for value, share in shares.items()}
            for dimension, shares in profile.routes.items()
        },
        "challenge_vendor": profile.vendor,
        "credits_known": profile.credits_known,
        "troubles": [
            _trouble(trouble) for trouble in site.troubles if trouble.kind != "bad_window"
        ],
        "single_bad_windows": [
            iso(trouble.start) for trouble in site.troubles if trouble.kind == "bad_window"
        ],
    }


def _trouble(trouble: Trouble) -> dict[str, Any]:
    kind = KINDS[trouble.kind]
    return {
        "kind": trouble.kind,
        "what": kind.what,
        "start": iso(trouble.start),
        "end": trouble.end and iso(trouble.end),
        "owner": kind.owner,
        "expected": expected_of(trouble),
        "strength": strength_of(trouble),
        "ramp_hours": trouble.ramp.total_seconds() / 3600,
        "route": trouble.route and dict(zip(("dimension", "value"), trouble.route, strict=True)),
        "page_type": trouble.page_type,
    }


def _moment(timestamp: pd.Timestamp) -> datetime:
    return timestamp.to_pydatetime()
