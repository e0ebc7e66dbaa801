"""A scale at which each benchmark takes a second or two."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from target_health.benchmarks.workbench import Scale, Workbench, open_workbench
from target_health.paths import Home

TINY = Scale(
    sites=6,
    fetches=6000,
    history_days=5,
    more_events=2,
    more_history=2,
    log_bytes=4_000_000,
    pages=4,
    items=300,
    crawl_pages=20,
    dashboard_sites=60,
    dashboard_days=3,
    repeats=1,
    canary_sites=4,
    canary_limits=(("timeout_s", 0.5), ("host_delay_s", 0.0), ("deadline_s", 60.0)),
)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workbench]:
    """One workbench for a module's tests, so that its history is made once."""
    home = Home(tmp_path_factory.mktemp("home"))
    with open_workbench(home, TINY, lambda message: None) as bench:
        yield bench
