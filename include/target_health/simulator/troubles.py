"""Troubles: small pure functions over the frame of a site's fetches.

Each takes the fetches, the trouble and its own randomness, and returns the fetches as they are
under it; rows outside its span and its part of the site stay as they were. Register another with
``@trouble(...)``; the plan names it by its function's name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
import pandas as pd

from target_health.simulator.outcomes import OUTCOME, OUTCOME_NAMES
from target_health.simulator.pages import PAGE_TYPES
from target_health.simulator.rhythm import DAY_MS, WINDOW_MS, epoch_ms

# Beta concentration of a trouble's strength from one 15-minute window to the next.
_STEADINESS = 150.0
_EXTRACTING = frozenset(page_type.name for page_type in PAGE_TYPES if page_type.extracts)


@dataclass(frozen=True, slots=True)
class Trouble:
    """One trouble of one site, or of the whole fleet.

    ``strength`` is the share of fetches that it strikes (of the route or page type that it is
    limited to), except where the kind says otherwise. It is reached after ``ramp`` (at once
    where zero). ``end`` is exclusive, None: still going on. ``route`` is ``(dimension, value)``.
    ``expected`` is the band once the trouble has lasted, by the design's whole rules (a route's
    trouble is not the site's); None: what is usual for the kind.
    """

    kind: str
    start: datetime
    end: datetime | None = None
    strength: float | None = None
    ramp: timedelta = timedelta()
    route: tuple[str, str] | None = None
    page_type: str | None = None
    expected: str | None = None


Apply = Callable[[pd.DataFrame, Trouble, np.random.Generator], pd.DataFrame]


@dataclass(frozen=True, slots=True)
class TroubleKind:
    """``owner``: crawl, parser, route or none; ``moves``: the columns that it may change.

    ``by_route``: the route dimension that a trouble of this kind has to name.
    """

    name: str
    apply: Apply
    owner: str
    expected: str
    strength: float
    moves: tuple[str, ...]
    by_route: str | None
    what: str


KINDS: dict[str, TroubleKind] = {}


def trouble(
    *,
    owner: str,
    expected: str,
    strength: float,
    moves: tuple[str, ...] = ("outcome",),
    by_route: str | None = None,
) -> Callable[[Apply], Apply]:
    """Registers a kind of trouble; ``strength`` is its usual one."""

    def register(apply: Apply) -> Apply:
        name = apply.__name__
        what = (apply.__doc__ or "").strip().splitlines()[0]
        KINDS[name] = TroubleKind(name, apply, owner, expected, strength, moves, by_route, what)
        return apply

    return register


def apply_trouble(
    fetches: pd.DataFrame, trouble: Trouble, rng: np.random.Generator
) -> pd.DataFrame:
    """The fetches under a trouble; a frame that it does not reach comes back as it is."""
    if fetches.empty or not _in_span(fetches, trouble).any():
        return fetches
    return KINDS[trouble.kind].apply(fetches, trouble, rng)


def strength_of(trouble: Trouble) -> float:
    return KINDS[trouble.kind].strength if trouble.strength is None else trouble.strength


def expected_of(trouble: Trouble) -> str:
    """The band once the trouble has lasted."""
    return trouble.expected or KINDS[trouble.kind].expected


@trouble(owner="crawl", expected="resisting", strength=0.65)
def gradual_challenges(
    fetches: pd.DataFrame, trouble: Trouble, rng: np.random.Generator
) -> pd.DataFrame:
    """More and more fetches get a vendor's challenge page."""
    return _turn(fetches, struck(fetches, trouble, rng), rng, {"challenge": 1.0})


@trouble(owner="crawl", expected="resisting", strength=0.92)
def sudden_403s(fetches: pd.DataFrame, trouble: Trouble, rng: np.random.Generator) -> pd.DataFrame:
    """From one minute to the next the site answers 403."""
    return _turn(fetches, struck(fetches, trouble, rng), rng, {"forbidden": 1.0})


@trouble(owner="crawl", expected="degraded", strength=0.16)
def rate_limiting(
    fetches: pd.DataFrame, trouble: Trouble, rng: np.random.Generator
) -> pd.DataFrame:
    """The site answers 429 to a share of the fetches."""
    return _turn(fetches, struck(fetches, trouble, rng), rng, {"rate_limited": 1.0})


@trouble(owner="crawl", expected="degraded", strength=0.35)
def soft_blocks(fetches: pd.DataFrame, trouble: Trouble, rng: np.random.Generator) -> pd.DataFrame:
    """200s without the content, on pages that yield items: marked, small, or the same for all.

    A quarter carries a block page's mark; the rest is seen by the rules that need history only.
    """
    mask = struck(fetches, trouble, rng) & fetches["page_type"].isin(_EXTRACTING).to_numpy()
    return _turn(
        fetches,
        mask,
        rng,
        {"soft_block_marked": 0.25, "soft_block_small": 0.4, "soft_block_same": 0.35},
    )


@trouble(owner="crawl", expected="degraded", strength=0.35)
def login_redirects(
    fetches: pd.DataFrame, trouble: Trouble, rng: np.random.Generator
) -> pd.DataFrame:
    """Pages that yield items lead to the same log-in page, with status 200."""
    mask = struck(fetches, trouble, rng) & fetches["page_type"].isin(_EXTRACTING).to_numpy()
    return _turn(fetches, mask, rng, {"soft_block_login": 1.0})


@trouble(owner="crawl", expected="healthy", strength=2.5, moves=("latency_ms",))
def throttling(fetches: pd.DataFrame, trouble: Trouble, rng: np.random.Generator) -> pd.DataFrame:
    """Answers take longer, ``strength`` times as long; latency alone changes no band."""
    mask = _in_reach(fetches, trouble)
    factor = 1.0 + (strength_of(trouble) - 1.0) * _grown(fetches, trouble)
    return fetches.assign(
        latency_ms=np.where(
            mask, fetches["latency_ms"].to_numpy() * factor, fetches["latency_ms"].to_numpy()
        )
    )


@trouble(owner="crawl", expected="degraded", strength=0.22, moves=("outcome", "latency_ms"))
def quiet_mix(fetches: pd.DataFrame, trouble: Trouble, rng: np.random.Generator) -> pd.DataFrame:
    """Each signal a little: none of them would be noticed by itself; together they are.

    ``strength`` is split between 403s, challenges and marked soft blocks; latency rises to
    1 + 2 × ``strength`` times its normal.
    """
    mask = struck(fetches, trouble, rng)
    slower = 1.0 + 2.0 * strength_of(trouble) * _grown(fetches, trouble)
    latency_ms = fetches["latency_ms"].to_numpy()
    turned = _turn(
        fetches, mask, rng, {"forbidden": 0.36, "challenge": 0.34, "soft_block_marked": 0.30}
    )
    return turned.assign(
        latency_ms=np.where(_in_reach(fetches, trouble), latency_ms * slower, latency_ms)
    )


@trouble(owner="none", expected="healthy", strength=0.97)
def bad_window(fetches: pd.DataFrame, trouble: Trouble, rng: np.random.Generator) -> pd.DataFrame:
    """One terrible stretch, over as soon as it came; of 15 minutes it changes no band."""
    return _turn(
        fetches,
        struck(fetches, trouble, rng),
        rng,
        {"forbidden": 0.5, "challenge": 0.3, "rate_limited": 0.1, "timeout": 0.1},
    )


@trouble(owner="route", expected="healthy", strength=0.9, by_route="pool")
def broken_pool(fetches: pd.DataFrame, trouble: Trouble, rng: np.random.Generator) -> pd.DataFrame:
    """One pool of exits fails, on this site: refused or without an answer."""
    return _turn(
        fetches,
        struck(fetches, trouble, rng),
        rng,
        {"forbidden": 0.5, "timeout": 0.3, "proxy": 0.2},
    )


@trouble(owner="route", expected="healthy", strength=0.97, by_route="gateway")
def dead_gateway(fetches: pd.DataFrame, trouble: Trouble, rng: np.random.Generator) -> pd.DataFrame:
    """A gateway answers nothing but proxy errors; a trouble of the whole fleet."""
    return _turn(fetches, struck(fetches, trouble, rng), rng, {"proxy": 0.9, "timeout": 0.1})


@trouble(owner="route", expected="healthy", strength=0.85, by_route="country")
def challenged_country(
    fetches: pd.DataFrame, trouble: Trouble, rng: np.random.Generator
) -> pd.DataFrame:
    """The site challenges what comes from one country."""
    return _turn(fetches, struck(fetches, trouble, rng), rng, {"challenge": 1.0})


@trouble(owner="parser", expected="healthy", strength=0.9, moves=("item",))
def redesign(fetches: pd.DataFrame, trouble: Trouble, rng: np.random.Generator) -> pd.DataFrame:
    """The site changed its pages: items lack fields that were always there. No hostility."""
    item = fetches["item"].copy()
    item[struck(fetches, trouble, rng)] = "broken"
    return fetches.assign(item=item)


@trouble(owner="none", expected="healthy", strength=2.0, moves=("attempts",))
def doubled_retries(
    fetches: pd.DataFrame, trouble: Trouble, rng: np.random.Generator
) -> pd.DataFrame:
    """Everything succeeds, at ``strength`` times the attempts and credits."""
    attempts = fetches["attempts"].to_numpy()
    more = np.round(attempts * strength_of(trouble)).astype(attempts.dtype)
    return fetches.assign(attempts=np.where(_in_reach(fetches, trouble), more, attempts))


@trouble(owner="none", expected="healthy", strength=0.95)
def site_down(fetches: pd.DataFrame, trouble: Trouble, rng: np.random.Generator) -> pd.DataFrame:
    """The site is down for everybody: 5xx, some timeouts. Delivery falls, hostility does not."""
    return _turn(
        fetches, struck(fetches, trouble, rng), rng, {"server_error": 0.75, "timeout": 0.25}
    )


def struck(fetches: pd.DataFrame, trouble: Trouble, rng: np.random.Generator) -> np.ndarray:
    """Which fetches a trouble strikes: a share of those in reach, wavering by the window."""
    ts = _epoch_ms(fetches)
    day = int(ts[0] // DAY_MS * DAY_MS)
    window = (ts - day) // WINDOW_MS
    share = strength_of(trouble) * _grown_at(
        np.arange(int(window[-1]) + 1) * WINDOW_MS + day + WINDOW_MS // 2, trouble
    )
    share = np.clip(share, 1e-9, 1 - 1e-9)
    share = rng.beta(share * _STEADINESS, (1 - share) * _STEADINESS)
    return _in_reach(fetches, trouble) & (rng.random(len(fetches)) < share[window])


def _turn(
    fetches: pd.DataFrame, mask: np.ndarray, rng: np.random.Generator, into: Mapping[str, float]
) -> pd.DataFrame:
    """The masked fetches come out otherwise, by the shares of ``into``."""
    shares = np.cumsum(list(into.values()))
    drawn = np.searchsorted(shares / shares[-1], rng.random(len(fetches)), side="right")
    codes = np.array([OUTCOME_NAMES.index(name) for name in into], dtype=np.int8)[drawn]
    outcome = fetches["outcome"].cat.codes.to_numpy()
    return fetches.assign(
        outcome=pd.Categorical.from_codes(np.where(mask, codes, outcome), dtype=OUTCOME)
    )


def _epoch_ms(fetches: pd.DataFrame) -> np.ndarray:
    return fetches["ts"].to_numpy().astype("datetime64[ms]").astype(np.int64)


def _in_span(fetches: pd.DataFrame, trouble: Trouble) -> np.ndarray:
    ts = _epoch_ms(fetches)
    inside = ts >= epoch_ms(trouble.start)
    return inside if trouble.end is None else inside & (ts < epoch_ms(trouble.end))


def _in_reach(fetches: pd.DataFrame, trouble: Trouble) -> np.ndarray:
    """In its span, and of its route and page type."""
    reach = _in_span(fetches, trouble)
    if trouble.route is not None:
        dimension, value = trouble.route
        reach &= (fetches[dimension] == value).to_numpy()
    if trouble.page_type is not None:
        reach &= (fetches["page_type"] == trouble.page_type).to_numpy()
    return reach


def _grown(fetches: pd.DataFrame, trouble: Trouble) -> np.ndarray:
    return _grown_at(_epoch_ms(fetches), trouble)


def _grown_at(ts: np.ndarray, trouble: Trouble) -> np.ndarray:
    """How far a trouble has grown, 0 to 1."""
    ramp_ms = trouble.ramp / timedelta(milliseconds=1)
    since = ts - epoch_ms(trouble.start)
    return np.clip(since / ramp_ms, 0.0, 1.0) if ramp_ms else np.ones(len(ts))
