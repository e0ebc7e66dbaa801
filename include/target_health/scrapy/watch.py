"""What the parts in one crawler share: the log's rows, and the control's orders."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from scrapy import Request, signals
from scrapy.exceptions import DontCloseSpider
from scrapy.utils.asyncio import create_looping_call, run_in_thread

from target_health.crawl_control import ControlFollower, SiteRule
from target_health.crawl_control.places import Places
from target_health.crawl_log import CrawlLog
from target_health.crawl_log.files import Limits
from target_health.scrapy.extraction import Extraction
from target_health.scrapy.obedience import Obedience
from target_health.scrapy.postponed import Postponed
from target_health.scrapy.rows import Rows

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

TICK_S = 1.0
STATS = "target_health"
#: Troubles of our own that are told; a crawl is long, and its log is for its own matters.
MOST_TROUBLES = 100


def watch_of(crawler: Crawler) -> Watch:
    """The crawler's watch, made at the first call."""
    watch: Watch | None = getattr(crawler, "target_health", None)
    if watch is None:
        watch = Watch(crawler)
        crawler.target_health = watch  # type: ignore[attr-defined]
    return watch


class Watch:
    """One spider's run, from its opening to its end.

    ``rows`` is None where there is no log, ``obedience`` where there is no control; both before
    the spider is open.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._log: CrawlLog | None = None
        self.rows: Rows | None = None
        self.obedience: Obedience | None = None
        self._troubles: set[str] = set()
        self._ticks = create_looping_call(self.tick)
        connect = crawler.signals.connect
        connect(self._opened, signal=signals.spider_opened)
        connect(self._idle, signal=signals.spider_idle)
        connect(self._closed, signal=signals.spider_closed)

    def turned_back(self, request: Request) -> Request | None:
        """As ``Obedience.turned_back``; None without a control."""
        return self.obedience.turned_back(request) if self.obedience is not None else None

    def settled(self, request: Request) -> None:
        """As ``Obedience.settled``."""
        if self.obedience is not None:
            self.obedience.settled(request)

    def tick(self) -> None:
        """Look whether the control has changed, give back what may go on, write statistics."""
        try:
            if self.obedience is not None:
                self.obedience.obey()
                self.obedience.replay()
                self.obedience.postponed.flush()
            self._count()
        except Exception as problem:
            self.trouble(problem)

    def trouble(self, problem: BaseException) -> None:
        """Something of ours failed; the crawl goes on."""
        self._inc("errors", 1)
        text = f"{type(problem).__name__}: {problem}"
        if text not in self._troubles and len(self._troubles) < MOST_TROUBLES:
            self._troubles.add(text)
            logger.warning("Target Health: %s", text, exc_info=problem)

    async def _opened(self, spider: Spider) -> None:
        settings = self._crawler.settings
        places = Places.of(settings.get, spider.name)
        if places.destination is not None:
            self._log = CrawlLog(
                places.destination,
                source=places.source,
                spool=places.spool,
                limits=Limits(rotate_s=settings.getfloat("TARGET_HEALTH_ROTATE_S", 300.0)),
                marker_files=places.marker_files(),
                warn=self._warn,
            )
            self.rows = Rows(self._log, Extraction(places.state / "extracting.json"))
        if places.control is not None:
            postponed = Postponed(self._crawler, places.deferred, self._warn)
            follower = ControlFollower(
                places.control,
                poll_s=settings.getfloat("TARGET_HEALTH_POLL_S", 10.0),
                copy=places.last_control,
                warn=self._warn,
            )
            rule = SiteRule(places.configuration)
            self.obedience = Obedience(
                self._crawler, rule, follower, postponed, self._inc, self._warn
            )
            await run_in_thread(follower.wait_first)
            postponed.recover()
            self.obedience.obey()
        self._ticks.start(TICK_S, now=False)

    def _idle(self, spider: Spider) -> None:
        if self.obedience is None:
            return
        # Nothing is under way: what was given back and not sent was dropped by the spider's own
        # filters, as it would have been at first.
        self._inc("deferred/dropped", self.obedience.postponed.settle_all())
        self.obedience.obey()
        if self.obedience.replay():
            raise DontCloseSpider

    async def _closed(self, spider: Spider) -> None:
        if self._ticks.running:
            self._ticks.stop()
        if self.obedience is not None:
            self.obedience.follower.close()
            self.obedience.postponed.close()
        if self.rows is not None:
            self.rows.close()
        if self._log is not None:
            await run_in_thread(self._log.close)
        self._count()

    def _warn(self, text: str) -> None:
        logger.warning("%s", text)

    def _inc(self, name: str, count: int) -> None:
        if count and self._crawler.stats is not None:
            self._crawler.stats.inc_value(f"{STATS}/{name}", count)

    def _count(self) -> None:
        values: dict[str, Any] = {}
        if self._log is not None:
            values |= {f"log/{name}": count for name, count in self._log.counts().items()}
        if self.obedience is not None:
            obedience = self.obedience
            values |= {
                "control/polls": obedience.follower.polls,
                "control/failures": obedience.follower.failures,
                "sites/halted": len(obedience.halted),
                "sites/slowed": len(obedience.slowed),
                "deferred/waiting": obedience.postponed.count(),
                "deferred/lost": obedience.postponed.lost,
            }
        for name, value in values.items() if self._crawler.stats is not None else ():
            self._crawler.stats.set_value(f"{STATS}/{name}", value)  # type: ignore[union-attr]
