"""What the tests of crawlers share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.crawlers.crawls import started


@pytest.fixture(autouse=True)
def no_crawl_goes_on() -> Iterator[None]:
    """A spider without end would take a processor from every test that follows a failed one."""
    yield
    while started:
        started.pop().kill()
