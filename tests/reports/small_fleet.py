"""A small published database with a bit of everything, made by the whole hourly job."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

from target_health import job
from target_health.canaries.records import CheckResult, Observation
from target_health.canaries.runs import record
from target_health.paths import Home
from target_health.simulator import Plan, Rhythm, SitePlan, Trouble, draw_profile, simulate_plan
from tests.modelling.warehouses import configuration_with

END = datetime(2026, 3, 20, 11)
START = END - timedelta(days=4, hours=11)
HOUR = timedelta(hours=1)
TURN = END - 3 * HOUR

REFUSED, WATCHED, SLOWED, FINE, NEW = (
    f"{name}.example" for name in ("refused", "watched", "slowed", "fine", "new")
)
# Lines of a log of one's own: two that land, one without a time, one that is no fetch's.
OWN_LINES = (
    '{"ts": "2026-03-20T09:00:00Z", "url": "https://new.example/1", "status": 200}\n'
    '{"ts": "2026-03-20T09:01:00Z", "url": "https://new.example/2", "status": 200}\n'
    '{"url": "https://new.example/3", "status": 200}\n'
    "not even JSON\n"
)
CANARIES = f"""
sites:
  {FINE}:
    pages:
      - id: kettle
        url: https://{FINE}/kettle
        checks:
          - css: .price
            number: 9.5
"""


def plan() -> Plan:
    rhythm = Rhythm(fetches_per_hour=110, swing=0.2, slow_night=0.1)
    sites = []
    for number, (name, troubles) in enumerate(
        (
            (REFUSED, (Trouble("sudden_403s", TURN),)),
            (WATCHED, (Trouble("sudden_403s", TURN),)),
            (SLOWED, (Trouble("gradual_challenges", TURN, strength=0.3),)),
            (FINE, (Trouble("broken_pool", TURN, route=("pool", "residential")),)),
            (NEW, ()),
        )
    ):
        since = END - 5 * HOUR if name == NEW else None
        profile = draw_profile(number, name, seed=3, rhythm=replace(rhythm, since=since))
        sites.append(SitePlan(profile, troubles, unscored=name == NEW))
    return Plan(seed=3, start=START, end=END, sites=tuple(sites))


def make_small_fleet(root: Path) -> Home:
    """A home whose last run acted; history is scored under two versions of the numbers."""
    home = Home(root / "home")
    numbers = {"window_minutes": 60}
    configuration = configuration_with(
        root / "config", numbers, sites={WATCHED: {"mode": "observe"}}
    )
    other_numbers = configuration_with(root / "other", {**numbers, "healthy_from": 99})
    simulate_plan(plan(), home.inbox)
    own_log = home.inbox / "own" / "log.jsonl"
    own_log.parent.mkdir(parents=True)
    own_log.write_text(OWN_LINES)
    job.backfill(home, configuration, START, END - HOUR, now=END)
    job.backfill(home, other_numbers, START, END - HOUR, now=END, active=configuration)
    job.run(home, configuration, END - HOUR, END, now=END, act=True)
    job.pause(home, configuration, [FINE], now=END, by="Ada", why="moving to their API")
    (configuration.directory / "canaries.yaml").write_text(CANARIES)
    for hours, got in ((3, "9.50"), (2, "9.50"), (1, "7.00"), (0, "7.00")):
        seen = observation(END - hours * HOUR, got)
        record(home, configuration, [seen], f"run-{hours}", now=END)
    return home


def observation(at: datetime, got: str) -> Observation:
    """The canary's price as a round saw it."""
    outcome = "pass" if got == "9.50" else "wrong_value"
    return Observation(
        site=FINE,
        page="kettle",
        url=f"https://{FINE}/kettle",
        observed_at=at,
        route="direct",
        via="fetch",
        outcome=outcome,
        checks=(CheckResult("css .price", outcome, "9.5", got),),
        verdict="ok",
        status=200,
    )
