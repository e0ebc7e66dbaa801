"""The published database is read while it is replaced."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from target_health.dashboard.database import NothingPublished, OtherSchema, Published
from target_health.paths import Home
from tests.dashboard.conftest import Open
from tests.dashboard.homes import CALM, changed_copy


@pytest.fixture
def own_home(home: Home, tmp_path: Path) -> Home:
    return changed_copy(home, tmp_path / "own")


def replace(own: Home, tmp_path: Path, *statements: str) -> None:
    """As a run publishes: a whole copy, put in place in one step."""
    other = changed_copy(own, tmp_path / "next", *statements)
    os.replace(other.published, own.published)


def test_page_keeps_the_copy_that_it_began_with(own_home: Home, tmp_path: Path) -> None:
    published = Published(own_home)
    count = "SELECT count(*) AS sites FROM site_health"
    with published.snapshot() as before:
        assert before.row(count) == {"sites": 5}
        replace(own_home, tmp_path, f"DELETE FROM site_health WHERE site <> '{CALM}'")
        with published.snapshot() as after:
            assert after.row(count) == {"sites": 1}
        assert before.row(count) == {"sites": 5}
    published.close()


def test_readers_go_on_while_it_is_replaced(
    open_dashboard: Open, own_home: Home, tmp_path: Path
) -> None:
    client = open_dashboard(own_home)
    failures: list[object] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            answer = client.get("api/fleet")
            if answer.status_code != 200 or len(answer.json()["sites"]) != 5:
                failures.append(answer.text)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for _ in range(10):
        replace(own_home, tmp_path)
    done.set()
    for reader in readers:
        reader.join()
    assert failures == []


def test_it_may_vanish_and_come_back(own_home: Home, tmp_path: Path) -> None:
    published = Published(own_home)
    aside = tmp_path / "aside"
    with published.snapshot():
        pass
    os.replace(own_home.published, aside)
    with pytest.raises(NothingPublished), published.snapshot():
        pass
    os.replace(aside, own_home.published)
    with published.snapshot() as snapshot:
        assert snapshot.has("site_health", "site", "band")
    published.close()


def test_nothing_can_be_written(own_home: Home) -> None:
    import duckdb

    published = Published(own_home)
    with published.snapshot() as snapshot, pytest.raises(duckdb.Error, match="read-only"):
        snapshot.rows("DELETE FROM site_health")
    with published.snapshot() as snapshot, pytest.raises(OtherSchema):
        snapshot.rows("SELECT * FROM no_such_table")
    published.close()
