"""The middleware beside the spider: what the callback brought goes to its response's row."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter
from scrapy import Request

from target_health.scrapy.extraction import Outcome
from target_health.scrapy.watch import Watch, watch_of

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response


class Items:
    """Hands each response's items to its row, once its callback has ended."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Items:
        return cls(watch_of(crawler))

    def process_spider_input(self, response: Response) -> None:
        """No middleware held the response back: its callback is called next."""
        if self._watch.rows is not None:
            self._watch.rows.called(response.request)

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        items: list[Any] = []
        requests = 0
        failed = True  # unless the callback comes to its end
        try:
            async for output in result:
                if isinstance(output, Request):
                    requests += 1
                else:
                    items.append(plain(output))
                yield output
            failed = False
        finally:
            self._extracted(response, Outcome(items, requests, failed))

    def process_spider_exception(self, response: Response, exception: Exception) -> None:
        """The callback raised before its first result, or was not called."""
        self._extracted(response, Outcome([], 0, True))

    def _extracted(self, response: Response, outcome: Outcome) -> None:
        if self._watch.rows is not None:
            try:
                self._watch.rows.extracted(response.request, outcome)
            except Exception as problem:  # the log never stops a crawl
                self._watch.trouble(problem)


def plain(item: Any) -> Any:
    """An item as it is now, before pipelines change it; as mappings all the way down."""
    try:
        fields = item if type(item) is dict else dict(ItemAdapter(item))
    except TypeError:
        return str(item)
    if all(type(value) in PLAIN for value in fields.values()):
        return dict(fields)
    return ItemAdapter(item).asdict()


PLAIN = (str, int, float, bool, type(None))
