"""Spiders of the tests, run as ``python -m tests.crawlers.spiders ORDER``."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response


class Shop(scrapy.Spider):
    """Lists of links, products with items, and what may go wrong with each."""

    name = "shop"
    urls: list[str]

    async def start(self) -> AsyncIterator[Any]:
        for url in self.urls:
            yield scrapy.Request(url, self.parse_list)

    def parse_list(self, response: Response) -> Iterator[Any]:
        for link in response.css("a::attr(href)").getall():
            yield response.follow(link, self.parse_product, errback=self.failed)

    def parse_product(self, response: Response) -> Iterator[Any]:
        if "empty" in response.url:
            return
        if "broken" in response.url:
            raise ValueError("a page that the extractor cannot read")
        item = {"name": response.css("h1::text").get(), "price": 9.5}
        yield item
        # As a pipeline might: the log says what extraction brought.
        item["price"] = None
        if "two" in response.url:
            yield {"name": "second", "price": float("nan")}

    def failed(self, failure: Any) -> None:
        self.logger.info("errback: %r", failure.value)


class Marked(scrapy.Spider):
    """Requests with what a crawler may say of them in their meta."""

    name = "marked"
    url: str
    proxy: str

    async def start(self) -> AsyncIterator[Any]:
        yield scrapy.Request(
            f"{self.url}/canary",
            meta={"canary": "known-page", "page_type": "probe"},
            dont_filter=True,
        )
        yield scrapy.Request("http://shop.example/p/1", meta={"proxy": self.proxy})
        yield scrapy.Request(f"{self.url}/normal")

    def parse(self, response: Response) -> None:
        return None


class Direct(scrapy.Spider):
    """A request that the spider itself waits for."""

    name = "direct"
    url: str

    async def start(self) -> AsyncIterator[Any]:
        assert self.crawler.engine is not None
        try:
            await self.crawler.engine.download_async(scrapy.Request(self.url))
        except IgnoreRequest as refusal:
            self.logger.info("told: %s", refusal)
        yield scrapy.Request(self.url)


class Chain(scrapy.Spider):
    """Page after page, several at once, until a page says that it is the last."""

    name = "chain"
    urls: list[str]
    width = 8

    async def start(self) -> AsyncIterator[Any]:
        for url in self.urls:
            for number in range(self.width):
                yield scrapy.Request(f"{url}/{number}", self.parse_page, errback=self.go_on)

    def parse_page(self, response: Response) -> Iterator[Any]:
        name = response.css("h1::text").get()
        if name is not None and "Denied" not in name:
            yield {"name": name}
        if name != "last":
            yield from self.next_of(response.request)

    def go_on(self, failure: Any) -> Iterator[Any]:
        yield from self.next_of(failure.request)

    def next_of(self, request: Any) -> Iterator[Any]:
        head, _, number = request.url.rpartition("/")
        yield request.replace(url=f"{head}/{int(number) + self.width}", meta={})


def main() -> None:
    order = json.loads(sys.argv[1])
    process = CrawlerProcess(
        {
            "ADDONS": {"target_health.scrapy.TargetHealth": 500},
            "LOG_LEVEL": "INFO",
            "TELNETCONSOLE_ENABLED": False,
            "RETRY_TIMES": 1,
            **order["settings"],
        }
    )
    crawler = process.create_crawler(globals()[order["spider"]])
    process.crawl(crawler, **order["arguments"])
    process.start()
    assert crawler.stats is not None
    Path(order["stats"]).write_text(json.dumps(crawler.stats.get_stats(), default=str))


if __name__ == "__main__":
    main()
