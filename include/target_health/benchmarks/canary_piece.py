"""A round of canaries as the DAG does it: fetched in one process, recorded in another."""

from __future__ import annotations

from pathlib import Path

from target_health.benchmarks.measuring import Report
from target_health.canaries.runs import fetch_step, record_step
from target_health.config import load_configuration
from target_health.paths import Home
from target_health.times import utc_now

RUN = "bench"


def fetch_round(home: str, config: str) -> Report:
    """Fetch and judge every canary, and leave what was seen for ``record_round``."""
    return {"canaries": fetch_step(Home(Path(home)), load_configuration(Path(config)), RUN)}


def record_round(home: str, config: str) -> Report:
    """Record the round, judge the sites, publish; how many of each outcome came in."""
    report = record_step(Home(Path(home)), load_configuration(Path(config)), RUN, now=utc_now())
    return {"outcomes": dict(report.outcomes)}
