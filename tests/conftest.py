"""How the tests are spread over processes."""

from __future__ import annotations

from collections.abc import Generator

import pytest


# A wrapper begins before xdist reads the groups.
@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Generator[None, None, None]:
    """A file's tests stay together; of the real Airflows one runs at a time: each wants a core."""
    for item in items:
        if item.get_closest_marker("airflow"):
            item.add_marker(pytest.mark.xdist_group("airflow"))
        elif not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(item.path.as_posix()))
    # What waits longest begins first.
    items.sort(key=lambda item: item.get_closest_marker("airflow") is None)
    return (yield)
