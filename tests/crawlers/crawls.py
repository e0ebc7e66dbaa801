"""Starting a spider of ``spiders.py`` in a process of its own, as Scrapy's reactor wants it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]

#: Crawls of the test that runs; what it leaves behind is ended after it.
started: list[Crawl] = []


class Crawl:
    """A running crawl; ``stats`` and ``log`` are there once it has ended."""

    def __init__(
        self, directory: Path, spider: str, home: Path, settings: dict[str, Any], **arguments: Any
    ) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._stats, self._log = directory / "stats.json", directory / "spider.log"
        self._stats.unlink(missing_ok=True)
        order = {
            "spider": spider,
            "settings": {"TARGET_HEALTH_HOME": str(home), "TARGET_HEALTH_POLL_S": 0.1, **settings},
            "arguments": arguments,
            "stats": str(self._stats),
        }
        paths = [str(ROOT / "include"), str(ROOT)]
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.crawlers.spiders", json.dumps(order)],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
                stdout=log,
                stderr=log,
                cwd=directory,
            )
        started.append(self)

    def wait(self, timeout_s: float = 60) -> dict[str, Any]:
        """The spider's statistics, after a good end."""
        try:
            status = self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError(f"the crawl did not end:\n{self.log}") from None
        assert status == 0, self.log
        return json.loads(self._stats.read_text())

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace")


def rows_of(home: Path) -> list[dict[str, Any]]:
    """Every row of every complete file in a home's inbox."""
    return list(iter_rows(home / "inbox"))


def iter_rows(inbox: Path) -> Iterator[dict[str, Any]]:
    for path in sorted(inbox.rglob("*.jsonl")):
        if ".writing" not in path.parts:
            for line in path.read_text().splitlines():
                yield json.loads(line)


def until(holds: Callable[[], Any], what: str, timeout_s: float = 30) -> None:
    """Wait for something that happens beside the test."""
    end = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < end, f"in vain: {what}"
        time.sleep(0.02)


def control(home: Path, **states: Any) -> None:
    """A control file as the system writes it; ``step`` for a site, or its state."""
    sites = {}
    for site, said in states.items():
        state, step = ("slowed", said) if isinstance(said, int) else (said, 0)
        halted = state in ("paused", "stopped")
        sites[site.replace("_", ".")] = {
            "state": state,
            "step": step,
            "concurrency_factor": 0 if halted else 0.5**step,
            "revisit_factor": 2**step,
            "concurrency": None,
            "revisit_interval_s": None,
            "effective_cost": None,
            "since": "2026-01-31T14:00:00Z",
            "reasons": [],
            "incident_id": None,
        }
    write_control(
        home, json.dumps({"version": 1, "generated_at": "2026-01-31T14:05:40Z", "sites": sites})
    )


def write_control(home: Path, text: str) -> None:
    path = home / "control" / "crawl_control.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".tmp")
    partial.write_text(text)
    partial.replace(path)


def deferred_urls(home: Path) -> list[str]:
    """What the deferred files hold that was not sent."""
    from target_health.crawl_control.deferred import kept

    return sorted(
        entry["url"]
        for path in (home / "crawlers").rglob("deferred/*/*.jsonl")
        for _, entry in kept(path)
    )
