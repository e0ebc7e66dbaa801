"""What the parts in one crawler share: the log, the control, and the requests kept meanwhile."""

from __future__ import annotations

import logging
import weakref
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scrapy import Request, signals
from scrapy.exceptions import DontCloseSpider, IgnoreRequest
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.asyncio import create_looping_call, run_in_thread
from scrapy.utils.httpobj import urlparse_cached
from twisted.python.failure import Failure

from target_health.crawl_control import NORMAL, ControlFollower, Order, SiteRule
from target_health.crawl_control.places import Places
from target_health.crawl_log import CrawlLog, Page
from target_health.crawl_log.files import Limits
from target_health.scrapy.extraction import UNDECIDED, Extraction, Outcome
from target_health.scrapy.pacing import Pacer
from target_health.scrapy.postponed import Postponed

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response

logger = logging.getLogger(__name__)

TICK_S = 1.0
#: Requests given back to the crawl at once; more follow as these are sent.
REPLAY_BATCH = 200
#: Pages whose rows are kept back until their page type brings an item.
MOST_UNDECIDED = 50
STATS = "target_health"


class SiteHalted(IgnoreRequest):
    """A request that waited for its turn when its site was paused or stopped."""


@dataclass(slots=True)
class Waiting:
    """A response's row until its callback has ended; whether it was called."""

    row: dict[str, Any]
    page: Page
    called: bool = False


def watch_of(crawler: Crawler) -> Watch:
    """The crawler's watch, made at the first call."""
    watch: Watch | None = getattr(crawler, "target_health", None)
    if watch is None:
        watch = Watch(crawler)
        crawler.target_health = watch  # type: ignore[attr-defined]
    return watch


class Watch:
    """One spider's run. All methods are called in the crawl's own thread."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._log: CrawlLog | None = None
        self._follower: ControlFollower | None = None
        self._postponed: Postponed | None = None
        self._pacer: Pacer | None = None
        self._rule: SiteRule | None = None
        self._extraction = Extraction()
        self._version = 0
        self._orders: Mapping[str, Order] = {}
        self._halted: dict[str, Order] = {}
        self._slowed: dict[str, Order] = {}
        #: Rows of responses whose callback has not ended, by the identity of their request.
        self._open: dict[int, Waiting] = {}
        #: Rows of pages that brought nothing, whose page type has not brought an item yet.
        self._undecided: deque[tuple[dict[str, Any], Page]] = deque()
        #: Requests on their way back to the engine, with their own ``dont_filter``.
        self._turned: weakref.WeakKeyDictionary[Request, bool] = weakref.WeakKeyDictionary()
        self._troubles: set[str] = set()
        self._heard: set[object] = set()
        self._ticks = create_looping_call(self.tick)
        connect = crawler.signals.connect
        connect(self._opened, signal=signals.spider_opened)
        connect(self._idle, signal=signals.spider_idle)
        connect(self._closed, signal=signals.spider_closed)

    # --- the run

    async def _opened(self, spider: Spider) -> None:
        settings = self._crawler.settings
        places = Places.of(settings.get, spider.name)
        self._rule = SiteRule(places.configuration)
        self._extraction = Extraction(places.state / "extracting.json")
        if places.destination is not None:
            self._log = CrawlLog(
                places.destination,
                source=places.source,
                spool=places.state / "crawl-log",
                limits=Limits(rotate_s=settings.getfloat("TARGET_HEALTH_ROTATE_S", 300.0)),
                marker_files=places.marker_files(),
                warn=self._warn,
            )
        if places.control is not None:
            self._pacer = Pacer(self._crawler.engine.downloader)  # type: ignore[union-attr]
            self._postponed = Postponed(self._crawler, places.state / "deferred", self._warn)
            self._follower = ControlFollower(
                places.control,
                poll_s=settings.getfloat("TARGET_HEALTH_POLL_S", 10.0),
                copy=places.state / "last-control.json",
                warn=self._warn,
            )
            await run_in_thread(self._follower.wait_first)
            self._postponed.recover()
            self._obey()
        self._ticks.start(TICK_S, now=False)

    def tick(self) -> None:
        """Look whether the control has changed, give back what may go on, write statistics."""
        try:
            self._obey()
            self._replay(REPLAY_BATCH)
            if self._postponed is not None:
                self._postponed.flush()
            self._count()
        except Exception as problem:
            self.trouble(problem)

    def _idle(self, spider: Spider) -> None:
        if self._postponed is None:
            return
        # Nothing is under way: what was given back and not sent was dropped by the spider's own
        # filters, as it would have been at first.
        self._inc("deferred/dropped", self._postponed.settle_all())
        self._obey()
        if self._replay(REPLAY_BATCH):
            raise DontCloseSpider

    async def _closed(self, spider: Spider) -> None:
        if self._ticks.running:
            self._ticks.stop()
        for key in list(self._open):
            self._left(key)
        for row, page in self._undecided if self._log is not None else ():
            self._log.write(row, page=page)  # type: ignore[union-attr]
        if self._follower is not None:
            self._follower.close()
        if self._postponed is not None:
            self._postponed.close()
        if self._log is not None:
            await run_in_thread(self._log.close)
        self._extraction.save()
        self._count()

    # --- obeying

    def site(self, request: Request) -> str:
        assert self._rule is not None
        return self._rule.of_host(urlparse_cached(request).hostname or "")

    def turned_back(self, request: Request) -> Request | None:
        """None where a request may go on; else what to give the engine in its place.

        Raises ``IgnoreRequest`` for one that was not scheduled (robots.txt, a file of a pipeline,
        ``engine.download``): whoever waits for it is told.
        """
        if not self._halted or self._allowed(request):
            return None
        if request in self._turned:
            self._inc("refused")
            raise IgnoreRequest(f"{self.site(request)} is {self._halted[self.site(request)].state}")
        back = request.replace(dont_filter=True)
        self._turned[back] = request.dont_filter
        return back

    def _allowed(self, request: Request) -> bool:
        order = self._halted.get(self.site(request), NORMAL)
        return order.allows(canary=bool(request.meta.get("canary")))

    def _scheduled(self, request: Request, spider: Spider) -> None:
        """Every request passes here on its way to the scheduler."""
        came_back = self._turned.pop(request, None)
        if not self._halted or self._allowed(request) or self._postponed is None:
            return
        outcome = self._postponed.keep(
            self.site(request),
            request,
            dont_filter=request.dont_filter if came_back is None else came_back,
            is_new=came_back is None,
        )
        self._inc(f"deferred/{outcome}")
        raise IgnoreRequest(f"{self.site(request)} is paused: kept for later")

    def settled(self, request: Request) -> None:
        """A request was attempted, or given up: it need not be kept."""
        if self._postponed is not None and self._postponed.sent(request):
            self._inc("deferred/sent")

    def _replay(self, limit: int) -> int:
        if self._postponed is None:
            return 0
        requests = self._postponed.due(self._halted, limit)
        for request in requests:
            self._crawler.engine.crawl(request)  # type: ignore[union-attr]
        self._inc("deferred/replayed", len(requests))
        return len(requests)

    def _obey(self) -> None:
        """Put the newest orders in force, if they have changed."""
        follower = self._follower
        if follower is None or follower.version == self._version:
            return
        self._version = follower.version
        orders = follower.orders
        before, self._orders = self._orders, orders
        self._halted = {site: order for site, order in orders.items() if order.halted}
        self._slowed = {
            site: order
            for site, order in orders.items()
            if not order.halted
            and (
                order.concurrency_factor < 1
                or order.revisit_factor > 1
                or order.concurrency is not None
            )
        }
        for site in {**before, **orders}:
            now = orders.get(site, NORMAL)
            if now != before.get(site, NORMAL):
                logger.info(*said_of(site, now))
        self._inc("control/changes")
        # Heard from now on only: each signal costs every request a little.
        if self._halted:
            self._hear(self._scheduled, signals.request_scheduled)
        if self._slowed:
            self._hear(self._reached, signals.request_reached_downloader)
            self._hear(self._downloaded, signals.response_downloaded)
        if self._pacer is not None:
            for key, slot in list(self._pacer.slots().items()):
                requests = list(getattr(slot, "active", ()))
                for site in {self.site(request) for request in requests} & self._slowed.keys():
                    self._pacer.meet(key, site)
            self._pacer.set(self._slowed)
        if self._halted:
            self._empty_queues()

    def _hear(self, handler: Any, signal: object) -> None:
        if signal not in self._heard:
            self._heard.add(signal)
            self._crawler.signals.connect(handler, signal=signal)

    def _empty_queues(self) -> None:
        """Take requests of halted sites out of the downloader's queues."""
        assert self._pacer is not None
        for slot in list(self._pacer.slots().values()):
            queue = getattr(slot, "queue", None)
            if not queue:
                continue
            entries = list(queue)
            halted = [entry for entry in entries if not self._allowed(entry[0])]
            if halted:
                queue.clear()
                queue.extend(entry for entry in entries if entry not in halted)
                for _, waiting in halted:
                    waiting.errback(Failure(SiteHalted("the site was paused")))

    def _reached(self, request: Request, spider: Spider) -> None:
        """A request enters its slot, which stands from now on."""
        if not self._slowed or self._pacer is None:
            return
        site = self.site(request)
        if site in self._slowed:
            key = request.meta.get("download_slot")
            pace = self._pacer.pace_of(key)
            if key is None or (pace is not None and site in pace.sites):
                return
            if self._pacer.meet(key, site) is None and not self._pacer.warned:
                self._pacer.warned = True
                self._warn("sites cannot be slowed: this downloader's slots are not Scrapy's")
            self._pacer.set(self._slowed)

    def _downloaded(self, response: Response, request: Request, spider: Spider) -> None:
        if self._slowed and self._pacer is not None:
            pace = self._pacer.pace_of(request.meta.get("download_slot"))
            latency = request.meta.get("download_latency")
            if pace is not None and latency is not None:
                pace.timed(latency)

    # --- logging

    def page_type(self, request: Request) -> str | None:
        """``meta["page_type"]``, else the callback's name without ``parse_``."""
        given = request.meta.get("page_type")
        if given:
            return str(given)
        if request.callback is NO_CALLBACK:
            robots = urlparse_cached(request).path == "/robots.txt"
            return "robots" if robots else "direct"
        name = getattr(request.callback, "__name__", "").strip("_")
        if name.startswith("parse"):
            name = name.removeprefix("parse").strip("_")
        return name if name.isidentifier() else None

    def answered(self, request: Request, row: dict[str, Any], page: Page, *, waits: bool) -> None:
        """A response came. Its row waits for what the callback extracts, but at most as long as
        its request is alive: one that is retried or redirected never reaches a callback."""
        self.settled(request)
        if self._log is None:
            return
        if not waits:
            self._log.write(row, page=page)
            return
        key = id(request)
        self._left(key)
        self._open[key] = Waiting(row, page)
        weakref.finalize(request, self._left, key).atexit = False

    def failed(self, request: Request, row: dict[str, Any]) -> None:
        """An attempt brought no response."""
        self.settled(request)
        if self._log is not None:
            self._log.write(row)

    def extracted(self, request: Request | None, outcome: Outcome) -> None:
        """A callback has ended."""
        waiting = None if request is None else self._open.pop(id(request), None)
        if request is None or waiting is None or self._log is None:
            return
        row, page = waiting.row, waiting.page
        if not waiting.called and not outcome.items:  # an error page, that an errback may have seen
            self._log.write(row, page=page)
            return
        page_type = row.get("page_type")
        item = self._extraction.item_of(page_type, outcome, request.meta.get("expects_item"))
        if item is UNDECIDED:
            self._undecided.append((row, page))
            if len(self._undecided) > MOST_UNDECIDED:
                self._log.write(self._undecided[0][0], page=self._undecided.popleft()[1])
            return
        if outcome.items:
            self._decide(page_type)
        self._log.write(row, item=item, page=page)

    def called(self, request: Request | None) -> None:
        """A response is about to go to its callback."""
        waiting = None if request is None else self._open.get(id(request))
        if waiting is not None:
            waiting.called = True

    def _decide(self, page_type: str | None) -> None:
        """A page type brings items: those of its pages that brought nothing were tried in vain."""
        for row, page in [*self._undecided] if self._log is not None else []:
            if row.get("page_type") == page_type:
                self._undecided.remove((row, page))
                self._log.write(row, item=None, page=page)  # type: ignore[union-attr]

    def _left(self, key: int) -> None:
        """A request has gone, or will not come to a callback: its row has no item."""
        waiting = self._open.pop(key, None)
        if waiting is not None and self._log is not None:
            self._log.write(waiting.row, page=waiting.page)

    # --- saying

    def trouble(self, problem: BaseException) -> None:
        """Something of ours failed; the crawl goes on."""
        self._inc("errors")
        text = f"{type(problem).__name__}: {problem}"
        if text not in self._troubles and len(self._troubles) < 100:
            self._troubles.add(text)
            logger.warning("Target Health: %s", text, exc_info=problem)

    def _warn(self, text: str) -> None:
        logger.warning("%s", text)

    def _inc(self, name: str, count: int = 1) -> None:
        if count and self._crawler.stats is not None:
            self._crawler.stats.inc_value(f"{STATS}/{name}", count)

    def _count(self) -> None:
        stats = self._crawler.stats
        if stats is None:
            return
        values: dict[str, Any] = {}
        if self._log is not None:
            values |= {f"log/{name}": count for name, count in self._log.counts().items()}
        if self._follower is not None:
            values |= {
                "control/polls": self._follower.polls,
                "control/failures": self._follower.failures,
                "sites/halted": len(self._halted),
                "sites/slowed": len(self._slowed),
            }
        if self._postponed is not None:
            values |= {"deferred/waiting": self._postponed.count()}
            values |= {"deferred/lost": self._postponed.lost} if self._postponed.lost else {}
        for name, value in values.items():
            stats.set_value(f"{STATS}/{name}", value)


def said_of(site: str, order: Order) -> tuple[Any, ...]:
    """A line of the spider's log on a site's new order."""
    if order.halted:
        return "%s is %s: its requests are kept", site, order.state
    if order.concurrency_factor < 1:
        return "%s is slowed to %g of its concurrency", site, order.concurrency_factor
    return "%s is %s", site, order.state
