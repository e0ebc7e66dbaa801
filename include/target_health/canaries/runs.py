"""Whole runs at the edge: fetch without the warehouse, record with it, publish."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from target_health import job
from target_health.canaries import storage
from target_health.canaries.deceptions import tell_incidents
from target_health.canaries.landed import take_landed
from target_health.canaries.recording import Setup, enter
from target_health.canaries.records import Known, Observation
from target_health.canaries.verdict_rows import judge
from target_health.canaries.verdicts import SiteVerdict
from target_health.canaries.watches import watches
from target_health.canaries.watching import Progress, Round, without_texts
from target_health.canaries.ways import ProxyOf, open_ways
from target_health.canaries.work_files import write_json
from target_health.config import Configuration
from target_health.config.sources import load_sources
from target_health.errors import TargetHealthError
from target_health.landing.redact import Redaction
from target_health.pages.markers import active_markers
from target_health.paths import Home
from target_health.times import utc_now
from target_health.warehouse import open_writer
from target_health.warehouse.published import open_published
from target_health.warehouse.transactions import transaction

NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.-]+")
#: A round whose recording never came is of no use to anybody after this.
LEFTOVER_AFTER = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class RunReport:
    """What a run saw: how many of each outcome, and the sites' verdicts after it."""

    outcomes: Mapping[str, int]
    verdicts: tuple[SiteVerdict, ...]
    observations: tuple[Observation, ...] = ()


def no_progress(message: str) -> None:
    """No progress shown."""


# Fetching


def look(
    home: Home,
    configuration: Configuration,
    *,
    setup: Setup | None = None,
    sites: Sequence[str] | None = None,
    pages: Sequence[str] | None = None,
    progress: Progress = no_progress,
    clock: Callable[[], datetime] = utc_now,
    connection: ProxyOf | None = None,
) -> list[Observation]:
    """Fetch and judge every canary that is not its crawler's, without the warehouse.

    ``setup`` is what the configuration's files of canaries hold, where they were read already.
    What is known of pages, and which sites are stopped, is read from the published database. Raises
    ``ConfigurationError`` before anything is fetched.
    """
    setup = setup or Setup.of(configuration)
    known: Mapping[tuple[str, str], Known] = {}
    stopped: frozenset[str] = frozenset()
    if home.published.exists():
        with open_published(home) as published:
            known = storage.load_known(published)
            stopped = storage.stopped_sites(published)
    wanted = watches(setup.canaries, setup.routes, sites=sites, pages=pages, stopped=stopped)
    if not wanted:
        return []
    ways = open_ways(setup.routes, (watch.route for watch in wanted), connection=connection)
    round_ = Round(
        setup.canaries,
        ways,
        known,
        active_markers(configuration.directory),
        home.work / "canaries" / "robots.json",
        clock,
    )
    redaction = Redaction(load_sources(configuration.directory).redact_parameters)
    return [without_texts(seen, redaction.text) for seen in round_.run(wanted, progress)]


def handover(home: Home, run_id: str) -> Path:
    """Where one task leaves its observations to the next."""
    return home.work / "canaries" / f"{NOT_IN_NAMES.sub('_', run_id)[:150]}.json"


def fetch_step(
    home: Home,
    configuration: Configuration,
    run_id: str,
    progress: Progress = no_progress,
    clock: Callable[[], datetime] = utc_now,
) -> int:
    """Fetch a round and leave it for ``record_step``; returns how many canaries were looked at."""
    observations = look(home, configuration, progress=progress, clock=clock)
    write_json(handover(home, run_id), [storage.dump_observation(seen) for seen in observations])
    return len(observations)


# Recording


def record_step(
    home: Home, configuration: Configuration, run_id: str, *, now: datetime
) -> RunReport:
    """Record what ``fetch_step`` left under this id, and publish. Again, it changes nothing."""
    path = handover(home, run_id)
    if not path.exists():
        raise TargetHealthError(
            f"{path}: the round's fetches are not there: run the task `fetch` again"
        )
    rows = json.loads(path.read_text(encoding="utf-8"))
    report = record(
        home, configuration, [storage.load_observation(row) for row in rows], run_id, now=now
    )
    drop_leftovers(path.parent, now)
    return report


def drop_leftovers(directory: Path, now: datetime) -> None:
    """Rounds that were recorded, or never will be; a task that is cleared soon finds its own."""
    oldest = (now - LEFTOVER_AFTER - datetime(1970, 1, 1)).total_seconds()
    for path in directory.glob("*.json"):
        if path.name != "robots.json" and path.stat().st_mtime < oldest:
            path.unlink(missing_ok=True)


def record(
    home: Home,
    configuration: Configuration,
    observations: Sequence[Observation],
    run_id: str,
    *,
    now: datetime,
    setup: Setup | None = None,
    publish: bool = True,
) -> RunReport:
    """Record observations and crawlers' own fetches in one transaction, then publish."""
    setup = setup or Setup.of(configuration)
    with open_writer(home) as connection:
        with transaction(connection):
            seen = [(run_id, one) for one in observations]
            seen += take_landed(connection, home, setup.canaries, now)
            enter(connection, home, setup, seen, now)
            storage.drop_old(connection, now, setup.canaries.rules.keep_days)
            verdicts = judge(connection, home, setup.canaries, setup.routes)
        tell_incidents(connection, home, configuration, verdicts, now)
        if publish:
            job.publish(connection, home, configuration, now=now, control=False)
    outcomes = Counter(str(one.outcome) for _, one in seen)
    return RunReport({**outcomes}, tuple(verdicts), tuple(one for _, one in seen))
