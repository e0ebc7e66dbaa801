"""A warehouse with incidents put in by hand, and addresses that remember what they got."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from target_health.config import Configuration
from target_health.decisions.records import Course, SiteState
from target_health.decisions.storage import save_states
from target_health.incidents.records import Incident, Standing
from target_health.incidents.rules import opened
from target_health.incidents.storage import save_incidents
from target_health.paging import PagingReport, Target, page_people
from target_health.paths import Home
from target_health.warehouse import open_writer
from target_health.warehouse.rows import rows_of
from tests.decisions.evidence import SHOP, hour
from tests.modelling.warehouses import configuration_with
from tests.paging.listening import listening

PAGER = Target("json://pager.example/")


@dataclass
class Pager:
    """Stands for all addresses; while ``down`` nothing reaches it."""

    down: bool = False
    got: list[tuple[str, str, str]] = field(default_factory=list)
    tries: int = 0

    def send(self, target: Target, title: str, body: str) -> str | None:
        self.tries += 1
        if self.down:
            return "connection refused"
        self.got.append((target.url, title, body))
        return None


@dataclass
class Desk:
    """A home, its incidents, and the pager that its pages go to."""

    home: Home
    configuration: Configuration
    pager: Pager = field(default_factory=Pager)
    targets: tuple[Target, ...] = (PAGER,)

    def page(self, at: datetime, **more: Any) -> PagingReport:
        return page_people(
            self.home,
            self.configuration,
            self.targets,
            now=at,
            sender=self.pager.send,
            pause=lambda seconds: None,
            **more,
        )

    def put(self, *incidents: Incident) -> None:
        with open_writer(self.home) as con:
            save_incidents(con, incidents)

    def state(self, state: str, since: datetime, site: str = SHOP, **more: Any) -> None:
        with open_writer(self.home) as con:
            course = Course(state, 3 if state == "slowed" else 0, since, **more)
            save_states(con, [SiteState(site, course, revision=9)])

    def rows(self, query: str) -> list[dict[str, Any]]:
        with open_writer(self.home) as con:
            return rows_of(con, query)


def incident(kind: str = "hostility", site: str | None = SHOP, **more: Any) -> Incident:
    """An open one since ``hour(1)``."""
    standing = Standing(
        site or "",
        more.pop("band", "resisting"),
        ("refusal",),
        more.pop("score", 40.0),
        diagnosis=more.pop("diagnosis", None),
    )
    made = opened(kind, standing, more.pop("mode", "act"), hour(1))
    return replace(made, site=site, **more)


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty, migrated warehouse, to be copied."""
    home = Home(tmp_path_factory.mktemp("empty"))
    with open_writer(home):
        return home.warehouse


@pytest.fixture
def desk(tmp_path: Path, empty: Path) -> Desk:
    home = Home(tmp_path / "home")
    home.work.mkdir(parents=True)
    shutil.copyfile(empty, home.warehouse)
    return Desk(home, configuration_with(tmp_path / "config"))


@pytest.fixture
def listener() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """An HTTP server on loopback: its ``host:port``, and the JSON that it was sent."""
    with listening() as found:
        yield found
