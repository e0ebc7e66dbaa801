"""The middleware beside the spider: what the callback brought goes to its response's row."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter
from scrapy import Request
from scrapy.exceptions import IgnoreRequest

from target_health.crawl_log import ABSENT
from target_health.scrapy.watch import Watch, watch_of

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response


class Items:
    """Hands each response's items to the watch, once its callback has ended."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Items:
        return cls(watch_of(crawler))

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
            item = self._outcome(response, items, requests, failed=failed)
            self._watch.extracted(response.request, item)

    def process_spider_exception(self, response: Response, exception: Exception) -> None:
        """The callback raised before its first result, or was not called: an error page."""
        item: object = ABSENT
        if not isinstance(exception, IgnoreRequest):
            item = self._outcome(response, [], 0, failed=True)
        self._watch.extracted(response.request, item)

    def _outcome(
        self, response: Response, items: list[Any], requests: int, *, failed: bool
    ) -> object:
        """What the log says of extraction: the items, None without result, or not attempted.

        A page that only yields links was not meant to bring an item. Nothing at all is an
        attempt without result where this page type is known to bring items.
        """
        request = response.request
        if request is None:
            return ABSENT
        if items:
            self._watch.extracts(request)
            return items[0] if len(items) == 1 else items
        expected = request.meta.get("expects_item")
        if expected is None:
            expected = not requests and (failed or self._watch.is_extracting(request))
        return None if expected else ABSENT


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
