"""Observations into the warehouse: results, states, learned answers, verdicts, all or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import duckdb

from target_health.canaries import storage
from target_health.canaries.deceptions import tell_incidents
from target_health.canaries.landed import take_landed
from target_health.canaries.missing_answers import learn
from target_health.canaries.records import Observation
from target_health.canaries.states import advance, is_from_production
from target_health.canaries.verdict_rows import judge
from target_health.canaries.watches import watches
from target_health.config import Configuration
from target_health.config.canaries import Canaries, load_canaries
from target_health.config.routes import Routes, load_routes
from target_health.paths import Home
from target_health.warehouse import open_writer
from target_health.warehouse.transactions import transaction


@dataclass(frozen=True, slots=True)
class Setup:
    """The files that canaries are made from."""

    canaries: Canaries
    routes: Routes

    @classmethod
    def of(cls, configuration: Configuration) -> Setup:
        directory = configuration.directory
        return cls(load_canaries(directory), load_routes(directory))


def record_landed(home: Home, configuration: Configuration, *, now: datetime) -> int:
    """Record the canary fetches that crawlers logged, once they are landed; returns how many."""
    setup = Setup.of(configuration)
    if not any(True for _ in setup.canaries.pages()):
        return 0
    with open_writer(home) as connection:
        with transaction(connection):
            seen = take_landed(connection, home, setup.canaries, now)
            if not seen:
                return 0
            enter(connection, home, setup, seen, now)
            verdicts = judge(connection, home, setup.canaries, setup.routes)
        tell_incidents(connection, home, configuration, verdicts, now)
    return len(seen)


def enter(
    connection: duckdb.DuckDBPyConnection,
    home: Home,
    setup: Setup,
    seen: Sequence[tuple[str, Observation]],
    now: datetime,
) -> None:
    """Inside a transaction: observations, each with its run, and all that follows from them."""
    production = production_routes(setup)

    storage.save_results(connection, seen, production=production, now=now)
    states = storage.load_states(connection)
    observations = [one for _, one in seen]
    changed = advance(states, observations, production)
    storage.save_states(connection, changed.values())
    missing = frozenset((site, page.id) for site, page in setup.canaries.pages() if page.missing)
    # Another route may be shown another page; landing judges what production was shown.
    from_production = [one for one in observations if is_from_production(one, production)]
    learn(connection, home, from_production, {**states, **changed}, missing)


def production_routes(setup: Setup) -> dict[tuple[str, str], str]:
    """The route that each page's crawls use, by site and page."""
    wanted = watches(setup.canaries, setup.routes)
    return {(one.site, one.page.id): one.route for one in wanted if one.is_production}
