"""The middleware before all others: requests of halted sites are turned back unsent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from target_health.scrapy.watch import Watch, watch_of

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler


class Gate:
    """What the scheduler gives out for a halted site goes back to the engine, and from there
    into the deferred file: neither the spider's errback nor another middleware hears of it."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Gate:
        return cls(watch_of(crawler))

    def process_request(self, request: Request) -> Request | None:
        return self._watch.turned_back(request)
