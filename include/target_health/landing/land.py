"""Landing what is new in an inbox: file by file into batches, batch by batch into the lake."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path

import duckdb

from target_health.config import Configuration, load_configuration
from target_health.config.marker_files import marker_files
from target_health.config.sites import Sites
from target_health.config.sources import Sources, load_sources
from target_health.landing.bodies import Bodies
from target_health.landing.inbox import InboxFile, list_inbox
from target_health.landing.intake import Intake
from target_health.landing.lake import undo_unfinished
from target_health.landing.report import LandingReport
from target_health.landing.watchers import NobodyWatches, Watcher
from target_health.paths import Home
from target_health.warehouse import open_writer

Progress = Callable[[str], None]


def land(
    home: Home,
    *,
    now: datetime,
    inbox: str | Path | None = None,
    configuration: Configuration | None = None,
    progress: Progress | None = None,
    watcher: Watcher | None = None,
) -> LandingReport:
    """Land what is new in the inbox (default: the home's own); what was landed stays as it is.

    ``now`` (naive UTC) decides what lies in the future and which unfinished lines may still grow.
    ``watcher`` is whoever watches canaries.
    Holds the writer's lock throughout. Raises ``WarehouseBusy``, ``DiskFull``, ``UsageError`` for
    an inbox that is not there, ``ConfigurationError``. A file that cannot be read is noted in the
    report and costs nothing but itself.
    """
    configuration = configuration or load_configuration()
    sources = load_sources(configuration.directory)
    watcher = watcher or NobodyWatches()
    bodies = Bodies(marker_files(configuration.directory), inbox or home.inbox, watcher)
    if inbox is None:
        home.inbox.mkdir(parents=True, exist_ok=True)
        inbox = home.inbox
    with open_writer(home) as warehouse:
        undo_unfinished(home, warehouse)
        watcher.begin(warehouse)
        files = list_inbox(inbox)
        return take_all(home, warehouse, files, sources, configuration.sites, now, bodies, progress)


def take_all(
    home: Home,
    warehouse: duckdb.DuckDBPyConnection,
    files: Iterable[InboxFile],
    sources: Sources,
    sites: Sites,
    now: datetime,
    bodies: Bodies,
    progress: Progress | None = None,
) -> LandingReport:
    """Land the files into an open warehouse."""
    intake = Intake(home, warehouse, sources, sites, now, bodies, progress)
    try:
        for file in files:
            intake.take(file)
        intake.settle()
        intake.flush()
    finally:
        intake.close()
        bodies.close()
    return intake.report
