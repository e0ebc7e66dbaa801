"""A small fleet from crawl logs, run hour by hour: one site refuses, then is well again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from target_health import job
from target_health.config import Configuration
from target_health.paths import Home
from target_health.warehouse.rows import rows_of
from tests.job.logs import steady, write_log
from tests.modelling.warehouses import configuration_with

HOUR = timedelta(hours=1)
START = datetime(2026, 3, 1)
TURN = START + timedelta(days=4, hours=9)
EVERY = timedelta(seconds=50)
# When the logs are landed: after their last line.
CLOCK = TURN + 20 * HOUR
BAD, GOOD = "bad.example", "good.example"


@dataclass
class Fleet:
    """Two sites; ``BAD`` answers 403 in [TURN, TURN + 2 h)."""

    home: Home
    configuration: Configuration

    def run(self, count: int) -> job.RunReport:
        """The hour that ends ``count`` hours after the turn, its logs first."""
        end = TURN + count * HOUR
        return job.run(self.home, self.configuration, end - HOUR, end, now=CLOCK, act=True)

    def rows(self, query: str, *given: Any) -> list[dict[str, Any]]:
        with duckdb.connect(str(self.home.published), read_only=True) as connection:
            return rows_of(connection, query, given)


def status_of(site: str) -> Callable[[datetime], int]:
    return lambda at: 403 if site == BAD and TURN <= at < TURN + 2 * HOUR else 200


def make_fleet(root: Path, hours: int, policy: dict[str, Any] | None = None) -> Fleet:
    home = Home(root / "home")
    for site in (BAD, GOOD):
        fetches = steady(site, START, TURN + hours * HOUR, EVERY, status_of(site))
        write_log(home.inbox / "crawler" / f"{site}.jsonl", fetches)
    configuration = configuration_with(root / "config", {"window_minutes": 60}, policy=policy)
    return Fleet(home, configuration)


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    return make_fleet(tmp_path, hours=12)
