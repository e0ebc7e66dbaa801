"""Small simulations that several tests look at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import pandas as pd
import pytest

from target_health.simulator import Plan, Profile, Rhythm, SitePlan, Trouble, draw_profile
from target_health.simulator.simulation import day_fetches

DAY = datetime(2026, 3, 4)
NOON = DAY + timedelta(hours=12)


@pytest.fixture(scope="session")
def shop() -> Profile:
    """A busy shop with an even rhythm."""
    profile = draw_profile(0, "shop-01.example", seed=5, kind="shop", rhythm=Rhythm(800, swing=0.2))
    return replace(profile, credits_known=True)


@pytest.fixture(scope="session")
def day_of(shop: Profile) -> Callable[..., pd.DataFrame]:
    """The shop's fetches of 2026-03-04 under these troubles."""

    def fetches(*troubles: Trouble) -> pd.DataFrame:
        plan = Plan(5, DAY, DAY + timedelta(days=1), (SitePlan(shop, troubles),))
        return day_fetches(plan, 0, DAY)

    return fetches
