from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fastapi import FastAPI, HTTPException, Request
from fastapi.testclient import TestClient

from target_health.dashboard.access import Access, Visitor
from target_health.dashboard.app import make_app
from target_health.paths import Home
from tests.dashboard.homes import OTHER_TABLES, changed_copy, make_home

PEOPLE = {"kim": Visitor("Kim", may_change=True), "guest": Visitor("Guest", may_change=False)}
Open = Callable[..., TestClient]


def visitor(request: Request) -> Visitor:
    """As Airflow answers: 401 without a login."""
    known = PEOPLE.get(request.headers.get("x-person", ""))
    if known is None:
        raise HTTPException(401, "Not authenticated")
    return known


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return make_home(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="session")
def full_home(home: Home, tmp_path_factory: pytest.TempPathFactory) -> Home:
    """With the tables that incidents, routes, extraction and canaries fill."""
    return changed_copy(home, tmp_path_factory.mktemp("full"), *OTHER_TABLES)


@pytest.fixture(scope="session")
def open_dashboard() -> Iterator[Open]:
    """A client for a home's dashboard, mounted as Airflow mounts it; one dashboard a home."""
    apps: dict[Path, FastAPI] = {}

    def open_it(home: Home, person: str | None = "kim", accept: str = "text/html") -> TestClient:
        if home.root not in apps:
            apps[home.root] = make_app(
                home, Access(visitor, lambda place: f"/auth/login?next={place}")
            )
        outer = FastAPI()
        outer.mount("/target-health", apps[home.root])
        headers = {"accept": accept} | ({"x-person": person} if person else {})
        return TestClient(
            outer,
            base_url="http://testserver/target-health/",
            headers=headers,
            follow_redirects=False,
        )

    yield open_it
    for app in apps.values():
        app.state.published.close()


@pytest.fixture
def empty_home(tmp_path: Path) -> Home:
    return Home(tmp_path / "empty")
