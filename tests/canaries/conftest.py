"""A home, a configuration, a local site, and short ways to run canaries against it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from target_health.canaries import runs
from target_health.canaries.records import Observation
from target_health.canaries.runs import RunReport
from target_health.canaries.verdicts import SiteVerdict
from target_health.config import Configuration, load_configuration
from target_health.paths import Home
from target_health.warehouse import open_writer
from target_health.warehouse.rows import rows_of
from tests.canaries.servers import LocalProxy, LocalSite, local_site

START = datetime(2026, 3, 1, 12)
QUARTER = timedelta(minutes=15)
SITE = "shop.example"
FAST = {"timeout_s": 2, "deadline_s": 20, "host_delay_s": 0, "robots": "ignore"}


@dataclass
class Canaries:
    """``pages`` and ``routes`` as the files have them; ``run`` is one round, 15 minutes on."""

    home: Home
    directory: Path
    pages: list[dict[str, Any]] = field(default_factory=list)
    site: dict[str, Any] = field(default_factory=dict)
    routes: dict[str, Any] = field(default_factory=dict)
    fetching: dict[str, Any] = field(default_factory=lambda: dict(FAST))
    more: dict[str, Any] = field(default_factory=dict)
    now: datetime = START
    rounds: int = 0
    written: tuple[str, str] = ("", "")
    loaded: Configuration | None = None

    def page(self, name: str, url: str, *checks: dict[str, Any], **more: Any) -> None:
        entry: dict[str, Any] = {"id": name, "url": url, **more}
        if checks:
            entry["checks"] = list(checks)
        self.pages.append(entry)

    def configuration(self) -> Configuration:
        sites = {SITE: {**self.site, "pages": self.pages}}
        canaries = {"fetching": self.fetching, "sites": sites, **self.more}
        written = yaml.safe_dump(canaries), yaml.safe_dump(self.routes)
        if self.loaded is None or written != self.written:
            (self.directory / "canaries.yaml").write_text(written[0])
            (self.directory / "routes.yaml").write_text(written[1])
            self.written, self.loaded = written, load_configuration(self.directory)
        return self.loaded

    def look(self, **more: Any) -> list[Observation]:
        return runs.look(self.home, self.configuration(), clock=lambda: self.now, **more)

    def run(self, *, publish: bool = False) -> RunReport:
        self.now += QUARTER
        self.rounds += 1
        return runs.record(
            self.home,
            self.configuration(),
            self.look(),
            f"round-{self.rounds}",
            now=self.now,
            publish=publish,
        )

    def verdict(self, *, publish: bool = False) -> SiteVerdict:
        [verdict] = self.run(publish=publish).verdicts
        return verdict

    def outcomes(self) -> dict[str, str]:
        """The newest outcome of each check, by page and check."""
        return {
            f"{seen.page} {check.check}": check.outcome
            for seen in self.look()
            for check in seen.checks
        }

    def rows(self, query: str) -> list[dict[str, Any]]:
        with open_writer(self.home) as connection:
            return rows_of(connection, query)


@pytest.fixture
def site() -> Iterator[LocalSite]:
    with local_site() as site:
        yield site


@pytest.fixture
def proxy() -> Iterator[LocalProxy]:
    proxy = LocalProxy("proxy-user", "hunter2-s3cret")
    yield proxy
    proxy.close()


@pytest.fixture
def canaries(tmp_path: Path) -> Canaries:
    directory = tmp_path / "config"
    directory.mkdir()
    return Canaries(Home(tmp_path / "home"), directory)
