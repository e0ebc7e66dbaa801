from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from target_health.paths import Home
from tests.reports.small_fleet import make_small_fleet


@pytest.fixture(scope="session")
def small_fleet(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return make_small_fleet(tmp_path_factory.mktemp("small_fleet"))


@pytest.fixture
def published(small_fleet: Home) -> Iterator[duckdb.DuckDBPyConnection]:
    """The published database, opened as anyone would: no settings of ours."""
    connection = duckdb.connect(str(small_fleet.published), read_only=True)
    yield connection
    connection.close()
