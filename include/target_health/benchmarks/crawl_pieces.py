"""One Scrapy crawl of a local site, with the add-on and without, as pieces of their own process."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from target_health.benchmarks.measuring import Report

#: Share of the pages after which memory is looked at first; then at the last one.
EARLY = 0.3


@contextmanager
def local_site(size_bytes: int) -> Iterator[int]:
    """The port of a site that is served meanwhile."""
    server = subprocess.Popen(
        [sys.executable, "-m", "target_health.benchmarks.page_server", str(size_bytes)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        yield int(server.stdout.readline())
    finally:
        server.stdin.close()
        server.stdout.close()
        server.wait()


def crawl_plain(pages: int, size_bytes: int, home: str) -> Report:
    """The crawl without the add-on."""
    return crawl(pages, size_bytes, {})


def crawl_watched(pages: int, size_bytes: int, home: str) -> Report:
    """The same with the add-on: a control file that names other sites, a log that is written."""
    control = Path(home) / "control" / "crawl_control.json"
    control.parent.mkdir(parents=True, exist_ok=True)
    control.write_text(json.dumps({"version": 1, "sites": {}}), encoding="utf-8")
    watched = {
        "ADDONS": {"target_health.scrapy.TargetHealth": 500},
        "TARGET_HEALTH_HOME": home,
    }
    return crawl(pages, size_bytes, watched)


def crawl(pages: int, size_bytes: int, settings: dict[str, Any]) -> Report:
    """Seconds of the crawl, with all that opens and closes, and resident bytes early and late."""
    import scrapy
    from scrapy.crawler import CrawlerProcess

    seen: dict[str, float] = {"pages": 0, "early_bytes": 0, "late_bytes": 0}
    early = max(1, int(pages * EARLY))

    class Articles(scrapy.Spider):
        name = "articles"

        async def start(self) -> Any:
            for number in range(pages):
                yield scrapy.Request(f"http://127.0.0.1:{port}/local/{number}")

        def parse(self, response: Any) -> Any:
            seen["pages"] += 1
            if seen["pages"] == early:
                seen["early_bytes"] = resident_bytes()
            elif seen["pages"] == pages:
                seen["late_bytes"] = resident_bytes()
            yield {
                "headline": response.css("h1::text").get(),
                "paragraphs": len(response.css("article p").getall()),
                "links": len(response.css("a::attr(href)").getall()),
            }

    with local_site(size_bytes) as port:
        began = time.perf_counter()
        process = CrawlerProcess(
            {
                "LOG_LEVEL": "ERROR",
                "TELNETCONSOLE_ENABLED": False,
                "ROBOTSTXT_OBEY": False,
                "CONCURRENT_REQUESTS": 16,
                "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
                **settings,
            }
        )
        crawler = process.create_crawler(Articles)
        process.crawl(crawler)
        process.start()
        ended = time.perf_counter()
    stats = crawler.stats.get_stats() if crawler.stats is not None else {}
    return {
        "seconds": ended - began,
        "pages": seen["pages"],
        "early_bytes": seen["early_bytes"],
        "late_bytes": seen["late_bytes"],
        "rows": stats.get("target_health/log/rows", 0),
        "unread": stats.get("target_health/log/unread", 0),
    }


def resident_bytes() -> int:
    """What the spider and the process that writes its log hold in memory now."""
    import psutil

    spider = psutil.Process()
    writers = [
        child for child in spider.children() if "target_health.crawl_log.process" in child.cmdline()
    ]
    return sum(int(process.memory_info().rss) for process in [spider, *writers])
