"""Simulated crawl logs with known troubles, and the truth beside them.

``simulate`` makes a fleet with a story, ``simulate_plan`` a fleet of one's own, ``simulate_hour``
one big hour. Nothing else in the project knows that logs can be simulated.
"""

from __future__ import annotations

from target_health.simulator.plans import Plan, SitePlan
from target_health.simulator.profiles import Profile, draw_profile
from target_health.simulator.rhythm import Rhythm
from target_health.simulator.simulation import (
    Summary,
    simulate,
    simulate_hour,
    simulate_plan,
)
from target_health.simulator.story import story_plan
from target_health.simulator.troubles import KINDS, Trouble

__all__ = [
    "KINDS",
    "Plan",
    "Profile",
    "Rhythm",
    "SitePlan",
    "Summary",
    "Trouble",
    "draw_profile",
    "simulate",
    "simulate_hour",
    "simulate_plan",
    "story_plan",
]
