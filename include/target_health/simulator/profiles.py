"""A simulated site's nature: its volume, its normal failures, its pages, its routes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from target_health.simulator.pages import SITE_KINDS
from target_health.simulator.rhythm import Rhythm

GATEWAYS = ("gw-a", "gw-b", "gw-c")
COUNTRIES = ("de", "us", "gb", "fr")
POOLS = ("datacenter", "residential", "mobile")
SESSIONS = ("rotating", "sticky")
EXITS_PER_POOL = 20
EXITS = tuple(f"exit-{number:03d}" for number in range(1, len(POOLS) * EXITS_PER_POOL + 1))
ROUTE_VALUES: dict[str, tuple[str, ...]] = {
    "gateway": GATEWAYS,
    "country": COUNTRIES,
    "pool": POOLS,
    "session": SESSIONS,
    "exit": EXITS,
}
ROUTE = {dimension: pd.CategoricalDtype(list(values)) for dimension, values in ROUTE_VALUES.items()}
CREDITS_PER_ATTEMPT = {"datacenter": 1, "residential": 5, "mobile": 20}
VENDORS = ("cloudflare", "datadome", "akamai", "perimeterx")

# Where normal rates lie, by outcome: lowest and highest share of all fetches.
NORMAL_RATES: dict[str, tuple[float, float]] = {
    "not_modified": (0.0, 0.02),
    "forbidden": (0.004, 0.025),
    "rate_limited": (0.001, 0.008),
    "reset": (0.0005, 0.004),
    "challenge": (0.003, 0.02),
    "soft_block_marked": (0.001, 0.006),
    "soft_404": (0.002, 0.01),
    "not_found": (0.01, 0.04),
    "gone": (0.0005, 0.003),
    "bad_request": (0.0005, 0.002),
    "server_error": (0.003, 0.015),
    "redirect": (0.004, 0.02),
    "timeout": (0.004, 0.02),
    "dns": (0.0001, 0.001),
    "tls": (0.0001, 0.001),
    "proxy": (0.001, 0.006),
}


@dataclass(frozen=True)
class Profile:
    """A site's normal. Shares of routes and page types add up to 1; rates are of all fetches.

    ``concentration`` is the Dirichlet concentration of the outcomes of a 15-minute window: the
    lower, the more the windows' rates stray from the site's. ``burstiness`` is the gamma shape of
    the windows' volumes likewise.
    """

    name: str
    kind: str
    rhythm: Rhythm
    rates: Mapping[str, float]
    page_types: Mapping[str, float]
    routes: Mapping[str, Mapping[str, float]]
    latency_ms: float = 600.0
    latency_sigma: float = 0.45
    bytes: int = 60_000
    pages: int = 2_000
    vendor: str = "cloudflare"
    www: bool = False
    credits_known: bool = True
    redirected_share: float = 0.03
    incomplete_items: Mapping[str, float] = field(
        default_factory=lambda: {"partial": 0.015, "none": 0.008}
    )
    concentration: float = 80.0
    burstiness: float = 15.0


def site_rng(seed: int, site_index: int, *more: int) -> np.random.Generator:
    """Randomness of one site for one purpose, whatever other sites and purposes there are."""
    return np.random.default_rng([seed, site_index, *more])


def draw_profile(
    site_index: int,
    name: str,
    *,
    seed: int,
    kind: str | None = None,
    rhythm: Rhythm | None = None,
) -> Profile:
    """A plausible site; the same for the same seed and index, whatever the size of the fleet.

    Without ``rhythm`` volumes are spread evenly in their logarithm over a hundredfold: 5 to 500
    fetches an hour.
    """
    rng = site_rng(seed, site_index)
    drawn_kind = str(rng.choice(list(SITE_KINDS)))
    kind = kind or drawn_kind
    peak_hour = float(rng.uniform(8, 22))
    drawn_rhythm = Rhythm(
        fetches_per_hour=float(5 * 100 ** rng.random()),
        peak_hour=peak_hour,
        swing=float(rng.uniform(0.3, 0.8)),
        weekend=float(rng.uniform(0.7, 1.2)),
        night_hour=(peak_hour + 12) % 24,
        slow_night=float(rng.uniform(0.1, 0.5)),
    )
    rates = {
        outcome: float(rng.uniform(low, high)) for outcome, (low, high) in NORMAL_RATES.items()
    }
    paywalled = float(rng.uniform(0.05, 0.15))
    if "article" in SITE_KINDS[kind]:
        rates["paywalled"] = paywalled
    gateways = _shares(rng, GATEWAYS)
    countries = _shares(rng, rng.permutation(COUNTRIES)[: rng.integers(2, 5)])
    pools = _shares(rng, POOLS[: rng.integers(2, 4)])
    return Profile(
        name=name,
        kind=kind,
        rhythm=rhythm or drawn_rhythm,
        rates=rates,
        page_types=SITE_KINDS[kind],
        routes={
            "gateway": gateways,
            "country": countries,
            "pool": pools,
            "session": _shares(rng, SESSIONS),
        },
        latency_ms=float(rng.uniform(250, 1_200)),
        latency_sigma=float(rng.uniform(0.35, 0.55)),
        bytes=int(rng.uniform(25_000, 150_000)),
        pages=int(rng.uniform(500, 20_000)),
        vendor=str(rng.choice(VENDORS)),
        www=bool(rng.random() < 0.3),
        credits_known=bool(rng.random() < 0.7),
        redirected_share=float(rng.uniform(0.0, 0.05)),
        concentration=float(rng.uniform(60, 120)),
        burstiness=float(rng.uniform(10, 25)),
    )


def _shares(rng: np.random.Generator, values: tuple[str, ...] | np.ndarray) -> dict[str, float]:
    """Random shares of values, none of them tiny."""
    weights = rng.uniform(0.5, 1.5, len(values))
    return {
        str(value): float(weight / weights.sum())
        for value, weight in zip(values, weights, strict=True)
    }
