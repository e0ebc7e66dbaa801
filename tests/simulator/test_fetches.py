from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import pytest

from target_health.simulator import Plan, Profile, Rhythm, SitePlan, draw_profile
from target_health.simulator.rhythm import WINDOW_MS, window_starts
from target_health.simulator.simulation import day_fetches
from tests.simulator.conftest import DAY

WEEK = [DAY + timedelta(days=day) for day in range(7)]


@pytest.fixture(scope="module")
def week(shop: Profile) -> pd.DataFrame:
    plan = Plan(5, WEEK[0], WEEK[-1] + timedelta(days=1), (SitePlan(shop),))
    return pd.concat([day_fetches(plan, 0, day) for day in WEEK])


def by_window(week: pd.DataFrame) -> pd.Series:
    return week["ts"].dt.floor("15min")


def test_every_fetch_lies_in_its_day_in_order(week: pd.DataFrame) -> None:
    assert week["ts"].is_monotonic_increasing
    assert week["ts"].between(WEEK[0], WEEK[-1] + timedelta(days=1), inclusive="left").all()
    assert len(week) / (7 * 24) == pytest.approx(800, rel=0.05)


def test_volumes_are_overdispersed(week: pd.DataFrame) -> None:
    """A Poisson count has a variance of its mean."""
    counts = week.groupby(by_window(week)).size()
    same_hour = counts.groupby(counts.index.hour)
    assert (same_hour.var() / same_hour.mean()).median() > 3


def test_rates_are_overdispersed_around_the_sites_own(week: pd.DataFrame, shop: Profile) -> None:
    """A binomial share has a variance of p (1 - p) / n; Dirichlet adds p (1 - p) / (c + 1)."""
    for outcome in ("forbidden", "not_found", "challenge"):
        hit = (week["outcome"] == outcome).groupby(by_window(week))
        share = shop.rates[outcome]
        assert hit.mean().mean() == pytest.approx(share, rel=0.25)
        expected = share * (1 - share) * (1 / 200 + 1 / (shop.concentration + 1))
        assert hit.mean().var() == pytest.approx(expected, rel=0.5)
        assert hit.mean().var() > 1.7 * share * (1 - share) / 200


def test_latency_is_lognormal_and_slow_at_night(week: pd.DataFrame, shop: Profile) -> None:
    logs = np.log(week["latency_ms"])
    assert abs(logs.skew()) < 0.15
    hourly = week.groupby(week["ts"].dt.hour)["latency_ms"].median()
    night = hourly[int(shop.rhythm.night_hour)]
    day = hourly[(int(shop.rhythm.night_hour) + 12) % 24]
    assert night / day == pytest.approx(1 + shop.rhythm.slow_night, rel=0.12)


def test_routes_and_page_types_keep_their_shares(week: pd.DataFrame, shop: Profile) -> None:
    for dimension, shares in {**shop.routes, "page_type": shop.page_types}.items():
        seen = week[dimension].value_counts(normalize=True)
        for value, share in shares.items():
            assert seen[value] == pytest.approx(share, abs=0.01)
    # An exit belongs to one pool.
    assert (week.groupby("exit", observed=True)["pool"].nunique() == 1).all()


def test_rhythm_has_its_mean_its_peak_and_its_night() -> None:
    rhythm = Rhythm(100, peak_hour=15, swing=0.6, weekend=0.5)
    starts = window_starts(datetime(2026, 3, 2), datetime(2026, 3, 9))
    expected = pd.Series(rhythm.expected_fetches(starts), pd.to_datetime(starts, unit="ms"))
    assert expected.sum() == pytest.approx(7 * 24 * 100)
    hourly = expected.groupby(expected.index.hour).mean()
    assert hourly.idxmax() in {14, 15}
    assert hourly.idxmin() in {2, 3}
    assert hourly.max() / hourly.min() == pytest.approx(1.6 / 0.4, rel=0.05)
    weekend = expected[expected.index.day_of_week >= 5].mean()
    assert weekend / expected[expected.index.day_of_week < 5].mean() == pytest.approx(0.5)


def test_a_site_can_be_crawled_for_some_hours_from_some_day_or_in_bursts() -> None:
    starts = window_starts(datetime(2026, 3, 2), datetime(2026, 3, 16))
    at = pd.to_datetime(starts, unit="ms")

    def crawled(rhythm: Rhythm) -> pd.DatetimeIndex:
        return at[rhythm.expected_fetches(starts) > 0]

    some_hours = Rhythm(60, active_hours=(22, 23, 0), swing=0.3)
    assert set(crawled(some_hours).hour) == {22, 23, 0}
    assert some_hours.expected_fetches(starts).sum() == pytest.approx(14 * 3 * 60)
    assert crawled(Rhythm(60, since=datetime(2026, 3, 9))).min() == datetime(2026, 3, 9)
    weekly = Rhythm(60, burst_at=datetime(2026, 3, 11, 6), burst_every_hours=168, burst_hours=2)
    assert sorted(set(crawled(weekly).floor("h"))) == [
        datetime(2026, 3, day, hour) for day in (4, 11) for hour in (6, 7)
    ]


def test_volumes_of_a_drawn_fleet_differ_a_hundredfold() -> None:
    volumes = np.array(
        [draw_profile(i, "x.example", seed=1).rhythm.fetches_per_hour for i in range(500)]
    )
    assert volumes.min() >= 5
    assert volumes.max() <= 500
    assert volumes.max() / volumes.min() > 90
    assert np.median(volumes) == pytest.approx(50, rel=0.3)


def test_a_profile_depends_on_seed_and_index_alone() -> None:
    assert draw_profile(3, "a.example", seed=1) == draw_profile(3, "a.example", seed=1)
    assert draw_profile(3, "a.example", seed=1) != draw_profile(4, "a.example", seed=1)
    assert draw_profile(3, "a.example", seed=1) != draw_profile(3, "a.example", seed=2)


def test_rates_leave_room_for_ok() -> None:
    for index in range(200):
        assert sum(draw_profile(index, "a.example", seed=0).rates.values()) < 0.4


def test_windows_are_quarter_hours() -> None:
    starts = window_starts(datetime(2026, 3, 2, 0, 20), datetime(2026, 3, 2, 1))
    assert (starts % WINDOW_MS == 0).all()
    assert len(starts) == 3
