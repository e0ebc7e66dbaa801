"""Where a run of benchmarks works: its directory, its scale, and logs and homes made once."""

from __future__ import annotations

import os
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import filelock

from target_health.benchmarks.history import fill_history
from target_health.benchmarks.logs import make_hour
from target_health.benchmarks.measuring import measure, settle
from target_health.errors import DiskFull, TargetHealthError
from target_health.paths import Home

Progress = Callable[[str], None]

#: The end of the hour that is measured: an ordinary one, in the middle of a UTC day.
END = datetime(2026, 1, 22, 13)


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured; the defaults are those that the targets are meant for."""

    sites: int = 1000
    fetches: int = 1_440_000
    history_days: int = 14
    more_events: int = 4
    more_history: int = 10
    log_bytes: int = 5_000_000_000
    pages: int = 1500
    page_bytes: int = 60_000
    items: int = 100_000
    crawl_pages: int = 5000
    fleet_days: float = 4
    dashboard_sites: int = 10_000
    dashboard_days: int = 90
    repeats: int = 5
    canary_sites: int = 100
    #: Of ``fetching`` in ``canaries.yaml``; the shipped ones where nothing is said.
    canary_limits: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Workbench:
    """A directory for all that a run makes."""

    directory: Path
    scale: Scale
    progress: Progress

    def need(self, size_bytes: int) -> None:
        """Raises ``DiskFull`` when the directory has no room for so much."""
        free = shutil.disk_usage(self.directory).free
        if free < size_bytes:
            raise DiskFull(
                f"{self.directory}: {free / 1e9:.1f} GB are free, the benchmark needs "
                f"{size_bytes / 1e9:.1f} GB: make room, or set TARGET_HEALTH_HOME to a larger disk"
            )

    def hour_log(self, fetches: int) -> Path:
        """One hour of the fleet in native JSON lines."""
        path = self.directory / f"hour-{fetches}.jsonl"
        if not path.exists():
            # Measured: 495 bytes a fetch.
            self.need(600 * fetches)
            self.progress(f"preparing an hour of {fetches:,} fetches")
            measure(
                make_hour,
                out=str(path),
                sites=self.scale.sites,
                fetches=fetches,
                end=END.isoformat(),
            )
            settle(path)
        return path

    def history(self, days: int, *, routes: bool = True) -> Path:
        """A home up to the begin of the hour, with ``days`` of window history."""
        path = self.directory / (f"history-{days}" if routes else f"history-{days}-without-routes")
        if not path.exists():
            # Measured: 0.25 kB a window, in the warehouse and its published copy.
            self.need(self.scale.sites * days * 96 * 1000)
            log = self.hour_log(self.scale.fetches)
            self.progress(f"preparing {days} days of history")
            measure(
                fill_history,
                home=str(path),
                log=str(log),
                end=END.isoformat(),
                days=days,
                routes=routes,
            )
        return path

    def home_with(self, log: Path, *, history: Path | None = None) -> Path:
        """A fresh home with a log in its inbox and, where given, a history's files."""
        home = Home(self.directory / "home")
        shutil.rmtree(home.root, ignore_errors=True)
        if history is not None:
            shutil.copytree(history, home.root, symlinks=True)
            settle(home.root)
        inbox = home.inbox / "crawler"
        inbox.mkdir(parents=True, exist_ok=True)
        os.symlink(log, inbox / log.name)
        return home.root

    def drop(self, *paths: Path) -> None:
        """Remove what is needed no more."""
        for path in paths:
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


@contextmanager
def open_workbench(home: Home, scale: Scale, progress: Progress) -> Iterator[Workbench]:
    """A workbench under ``bench`` of the home, which is removed afterwards.

    Raises ``TargetHealthError`` while another run is measuring there: both would measure the other.
    """
    home.work.mkdir(parents=True, exist_ok=True)
    lock = filelock.FileLock(home.work / "bench.lock", timeout=0)
    try:
        lock.acquire()
    except filelock.Timeout:
        raise TargetHealthError(
            f"another bench is running under {home.root}: wait for it to end"
        ) from None
    directory = home.root / "bench"
    try:
        stop_on_sigterm()
        shutil.rmtree(directory, ignore_errors=True)  # what a killed run left
        directory.mkdir(parents=True)
        yield Workbench(directory, scale, progress)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
        lock.release()


def stop_on_sigterm() -> None:
    """End on SIGTERM as on Ctrl-C, so that gigabytes are not left behind; the first thread only."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)
