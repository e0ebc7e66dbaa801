"""The fetches of a site in a normal time: one frame, one row a fetch.

Columns: ``site_index, ts`` (datetime64[ms], end of the fetch), ``page_type, page, gateway,
country, pool, session, exit, outcome, latency_ms`` (were it answered in full)``, redirects,
attempts, item`` (what extraction makes of the page, if it is served)``, salt`` (a random number
for all that varies without meaning). ``native_log`` turns it into the log's own fields.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from target_health.simulator.outcomes import OUTCOME, OUTCOME_NAMES, OUTCOMES
from target_health.simulator.pages import (
    ITEM_STATE,
    ITEM_STATES,
    PAGE_TYPE,
    PAGE_TYPE_NAMES,
    PAGE_TYPES,
)
from target_health.simulator.profiles import EXITS_PER_POOL, ROUTE, ROUTE_VALUES, Profile
from target_health.simulator.rhythm import WINDOW_MS

_ATTEMPTS = np.array([outcome.attempts for outcome in OUTCOMES], dtype=np.int16)
_HAS_PAYWALL = np.array([page_type.paywall for page_type in PAGE_TYPES])
_OK = OUTCOME_NAMES.index("ok")
_PAYWALLED = OUTCOME_NAMES.index("paywalled")


def draw_counts(
    profile: Profile, window_starts: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Fetches of each 15-minute window: Poisson around a gamma-distributed rate."""
    load = rng.gamma(profile.burstiness, 1 / profile.burstiness, len(window_starts))
    return rng.poisson(profile.rhythm.expected_fetches(window_starts) * load)


def draw_fetches(
    site_index: int,
    profile: Profile,
    window_starts: np.ndarray,
    counts: np.ndarray,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """``counts`` fetches in each 15-minute window, in order of time.

    A window's outcomes are Dirichlet-multinomial around the site's rates, its latency is
    lognormal around the site's median, times the hour's and the window's own load.
    """
    fetches = int(counts.sum())
    window = np.repeat(np.arange(len(window_starts)), counts)
    # Each window's times lie within it, so sorting them all keeps every fetch in its window.
    ts = np.sort(window_starts[window] + rng.integers(0, WINDOW_MS, fetches))
    page_type = _choose(rng, fetches, profile.page_types, PAGE_TYPE_NAMES)
    outcome = _draw_outcomes(profile, len(window_starts), window, rng)
    outcome[(outcome == _PAYWALLED) & ~_HAS_PAYWALL[page_type]] = _OK
    load = profile.rhythm.latency_factor(window_starts) * rng.gamma(40, 1 / 40, len(window_starts))
    latency_ms = (
        profile.latency_ms
        * load[window]
        * np.exp(profile.latency_sigma * rng.standard_normal(fetches))
    )
    # A fetch that came needed one attempt mostly; one that failed was tried as often as usual.
    retries = np.searchsorted([0.93, 0.985], rng.random(fetches)).astype(np.int16)
    pool = _choose(rng, fetches, profile.routes["pool"], ROUTE_VALUES["pool"])
    return pd.DataFrame(
        {
            "site_index": np.full(fetches, site_index, dtype=np.int32),
            "ts": ts.astype("datetime64[ms]"),
            "page_type": pd.Categorical.from_codes(page_type, dtype=PAGE_TYPE),
            # Some pages are visited far more often than others.
            "page": (profile.pages * rng.random(fetches) ** 1.7).astype(np.int32) + 1,
            **{
                dimension: pd.Categorical.from_codes(
                    _choose(rng, fetches, profile.routes[dimension], ROUTE_VALUES[dimension]),
                    dtype=ROUTE[dimension],
                )
                for dimension in ("gateway", "country", "session")
            },
            "pool": pd.Categorical.from_codes(pool, dtype=ROUTE["pool"]),
            "exit": pd.Categorical.from_codes(
                pool.astype(np.int16) * EXITS_PER_POOL + rng.integers(0, EXITS_PER_POOL, fetches),
                dtype=ROUTE["exit"],
            ),
            "outcome": pd.Categorical.from_codes(outcome, dtype=OUTCOME),
            "latency_ms": latency_ms,
            "redirects": (rng.random(fetches) < profile.redirected_share).astype(np.int16),
            "attempts": np.maximum(_ATTEMPTS[outcome], 1 + retries).astype(np.int16),
            "item": pd.Categorical.from_codes(
                _choose(
                    rng,
                    fetches,
                    {
                        "complete": 1 - sum(profile.incomplete_items.values()),
                        **profile.incomplete_items,
                    },
                    ITEM_STATES,
                ),
                dtype=ITEM_STATE,
            ),
            "salt": rng.integers(0, 2**31, fetches),
        }
    )


def _choose(
    rng: np.random.Generator, size: int, shares: Mapping[str, float], values: Sequence[str]
) -> np.ndarray:
    """Codes into ``values``, drawn by shares."""
    cumulative = np.cumsum([shares.get(value, 0.0) for value in values])
    drawn = np.searchsorted(cumulative / cumulative[-1], rng.random(size), side="right")
    return drawn.astype(np.int8)


def _draw_outcomes(
    profile: Profile, windows: int, window: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Outcome codes; each window draws its own rates first."""
    rates = np.array([profile.rates.get(name, 0.0) for name in OUTCOME_NAMES])
    rates[_OK] = 1.0 - rates.sum()
    weights = rng.gamma(rates * profile.concentration, size=(windows, len(rates)))
    cumulative = np.cumsum(weights, axis=1)
    cumulative /= cumulative[:, -1:]
    drawn = rng.random(len(window))
    return (drawn[:, None] >= cumulative[window]).sum(axis=1).astype(np.int8)
