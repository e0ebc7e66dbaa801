from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import numpy as np
import pandas as pd
import pytest

from target_health.errors import UsageError
from target_health.simulator import KINDS, Plan, SitePlan, Trouble
from target_health.simulator.profiles import ROUTE_VALUES
from tests.simulator.conftest import DAY, NOON

END = NOON + timedelta(hours=6)
DayOf = Callable[..., pd.DataFrame]


def trouble(kind: str, **more: object) -> Trouble:
    dimension = KINDS[kind].by_route
    route = (dimension, ROUTE_VALUES[dimension][0]) if dimension else None
    return Trouble(**{"kind": kind, "start": NOON, "end": END, "route": route, **more})


def changed(before: pd.DataFrame, after: pd.DataFrame) -> pd.DataFrame:
    """Cells that differ, as booleans."""
    assert list(before.columns) == list(after.columns)
    return before.astype(object).ne(after.astype(object))


def shares(fetches: pd.DataFrame) -> pd.Series:
    return fetches["outcome"].value_counts(normalize=True)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_trouble_moves_what_it_says_where_it_says_and_nothing_else(
    kind: str, day_of: DayOf
) -> None:
    before, after = day_of(), day_of(trouble(kind))
    assert (before.dtypes == after.dtypes).all()
    cells = changed(before, after)
    assert set(cells.columns[cells.any()]) == set(KINDS[kind].moves)
    struck = before[cells.any(axis=1)]
    assert struck["ts"].between(NOON, END, inclusive="left").all()
    if KINDS[kind].by_route:
        dimension = KINDS[kind].by_route
        assert set(struck[dimension]) == {ROUTE_VALUES[dimension][0]}
    assert len(struck) > 50


@pytest.mark.parametrize(
    ("kind", "outcomes"),
    [
        ("sudden_403s", {"forbidden": 0.92}),
        ("gradual_challenges", {"challenge": 0.65}),
        ("rate_limiting", {"rate_limited": 0.16}),
        ("quiet_mix", {"forbidden": 0.079, "challenge": 0.075, "soft_block_marked": 0.066}),
        ("site_down", {"server_error": 0.7125, "timeout": 0.2375}),
    ],
)
def test_strength_is_the_share_that_a_trouble_strikes(
    kind: str, outcomes: dict[str, float], day_of: DayOf
) -> None:
    span = slice(NOON, END)
    before = shares(day_of().set_index("ts").loc[span])
    after = shares(day_of(trouble(kind)).set_index("ts").loc[span])
    left = 1 - sum(outcomes.values())
    for outcome, share in outcomes.items():
        assert after[outcome] == pytest.approx(before[outcome] * left + share, abs=0.02)


def test_a_ramp_grows_evenly(day_of: DayOf) -> None:
    after = day_of(trouble("gradual_challenges", strength=0.8, ramp=timedelta(hours=6)))
    hourly = (after["outcome"] == "challenge").groupby(after["ts"].dt.hour).mean().loc[12:17]
    assert hourly.to_list() == pytest.approx([0.8 * (h + 0.5) / 6 for h in range(6)], abs=0.06)


@pytest.mark.parametrize(
    ("kind", "route"),
    [("broken_pool", "pool"), ("dead_gateway", "gateway"), ("challenged_country", "country")],
)
def test_a_route_trouble_leaves_other_routes_as_they_were(
    kind: str, route: str, day_of: DayOf
) -> None:
    value = ROUTE_VALUES[route][0]
    during = day_of(trouble(kind)).set_index("ts").loc[NOON:END]
    ok = (during["outcome"] == "ok").groupby(during[route], observed=True).mean()
    assert ok[value] < 0.2
    assert (ok.drop(value) > 0.8).all()


def test_soft_blocks_without_a_mark_outnumber_those_with_one(day_of: DayOf) -> None:
    during = day_of(trouble("soft_blocks")).set_index("ts").loc[NOON:END]
    counts = during["outcome"].value_counts()
    assert counts["soft_block_marked"] < counts["soft_block_small"]
    assert counts["soft_block_marked"] < counts["soft_block_same"]
    assert set(during.loc[during["outcome"] == "soft_block_small", "page_type"]) == {
        "product",
        "listing",
    }


def test_throttling_and_retries_are_factors(day_of: DayOf) -> None:
    before = day_of()
    during = before["ts"].between(NOON, END, inclusive="left")
    slow = day_of(trouble("throttling", strength=3.0))
    assert np.allclose(slow["latency_ms"][during], 3.0 * before["latency_ms"][during])
    retried = day_of(trouble("doubled_retries"))
    assert (retried["attempts"][during] == 2 * before["attempts"][during]).all()


def test_a_redesign_breaks_one_page_type(day_of: DayOf) -> None:
    after = day_of(trouble("redesign", page_type="product"))
    broken = after[after["item"] == "broken"]
    assert set(broken["page_type"]) == {"product"}
    during = after[after["ts"].between(NOON, END) & (after["page_type"] == "product")]
    assert len(broken) / len(during) == pytest.approx(0.9, abs=0.02)


def test_a_trouble_without_an_end_goes_on(day_of: DayOf) -> None:
    after = day_of(trouble("sudden_403s", end=None))
    assert (after["outcome"] == "forbidden").groupby(after["ts"].dt.hour).mean().loc[23] > 0.85


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (Trouble("earthquake", NOON), "unknown trouble 'earthquake'; there are .*sudden_403s"),
        (Trouble("broken_pool", NOON), "needs a route"),
        (Trouble("broken_pool", NOON, route=("gateway", "gw-a")), "needs a route"),
        (Trouble("broken_pool", NOON, route=("pool", "no-such")), "no simulated fetch"),
    ],
)
def test_a_wrong_trouble_is_refused(wrong: Trouble, message: str, shop: object) -> None:
    with pytest.raises(UsageError, match=message):
        SitePlan(shop, (wrong,))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=message):
        Plan(0, DAY, NOON, (), fleet_troubles=(wrong,))
