"""Reading logs without keeping anything: what ``target-health try`` looks at."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import duckdb

from target_health.config.marker_files import marker_files
from target_health.config.sites import Sites
from target_health.config.sources import WrongClock, load_sources
from target_health.errors import UsageError
from target_health.landing.bodies import Bodies
from target_health.landing.inbox import InboxFile, local_file
from target_health.landing.land import take_all
from target_health.landing.report import LandingReport
from target_health.landing.view import crawl_log_view_sql
from target_health.paths import SHIPPED_CONFIG, Home
from target_health.warehouse import open_writer

LONG_AGO = datetime(1970, 1, 1)


@contextmanager
def read_log(
    paths: Sequence[Path], *, now: datetime, progress: Callable[[str], None] | None = None
) -> Iterator[tuple[duckdb.DuckDBPyConnection, LandingReport]]:
    """The logs as the landing reads them, in a view ``crawl_log`` of an in-memory database.

    No configuration is read and nothing is kept: the view lasts as long as the context. Each
    file is a source of its own, named like it. A last line without an end is taken as it is, and
    a wrong clock holds nothing back. Raises ``UsageError`` for a path that is no file.
    """
    shipped = load_sources(SHIPPED_CONFIG)
    sources = shipped.model_copy(
        update={
            "sources": {},
            "wrong_clock": WrongClock(
                tolerance_minutes=shipped.wrong_clock.tolerance_minutes, share=1, rows=1 << 62
            ),
        }
    )
    with tempfile.TemporaryDirectory(prefix="target-health-try-") as directory:
        home = Home(Path(directory))
        with open_writer(home) as warehouse:
            bodies = Bodies(marker_files(SHIPPED_CONFIG), None)
            files = list(_files(paths))
            report = take_all(home, warehouse, files, sources, Sites({}, {}), now, bodies, progress)
            view = crawl_log_view_sql(warehouse, home)
        connection = duckdb.connect(":memory:")
        try:
            connection.execute("SET TimeZone = 'UTC'")
            connection.execute(f"CREATE VIEW crawl_log AS {view}")
            yield connection, report
        finally:
            connection.close()


def _files(paths: Sequence[Path]) -> Iterator[InboxFile]:
    """The files as an inbox would have them; none of them is still being written."""
    for path in paths:
        if path.is_dir():
            found = sorted(below for below in path.rglob("*") if below.is_file())
        elif path.is_file():
            found = [path]
        else:
            raise UsageError(f"{path}: no such file")
        for file in found:
            yield replace(local_file(file, f"{file.name}/{file.name}"), modified=LONG_AGO)
