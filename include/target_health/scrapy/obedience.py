"""What the control's orders mean in a running crawl: turned back, kept, given back, slowed."""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from scrapy import Request, signals
from scrapy.exceptions import IgnoreRequest
from scrapy.utils.httpobj import urlparse_cached
from twisted.python.failure import Failure

from target_health.crawl_control import NORMAL, ControlFollower, Order, SiteRule
from target_health.scrapy.pacing import Pacer
from target_health.scrapy.postponed import Postponed

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response

logger = logging.getLogger(__name__)

#: Requests given back to the crawl at once; more follow as these are sent.
REPLAY_BATCH = 200


class SiteHalted(IgnoreRequest):
    """A request that waited for its turn when its site was paused or stopped."""


class Obedience:
    """The orders in force in one crawl. All methods are called in the crawl's own thread.

    ``inc`` counts under a name, ``warn`` says a line.
    """

    def __init__(
        self,
        crawler: Crawler,
        rule: SiteRule,
        follower: ControlFollower,
        postponed: Postponed,
        inc: Callable[[str, int], None],
        warn: Callable[[str], None],
    ) -> None:
        self.follower, self.postponed = follower, postponed
        self._crawler, self._rule, self._inc, self._warn = crawler, rule, inc, warn
        self._pacer = Pacer(crawler.engine.downloader)  # type: ignore[union-attr]
        self._version = 0
        self._orders: Mapping[str, Order] = {}
        self.halted: dict[str, Order] = {}
        self.slowed: dict[str, Order] = {}
        #: Requests on their way back to the engine, with their own ``dont_filter``.
        self._turned: weakref.WeakKeyDictionary[Request, bool] = weakref.WeakKeyDictionary()
        self._heard: set[object] = set()

    def obey(self) -> None:
        """Put the newest orders in force, if they have changed."""
        if self.follower.version == self._version:
            return
        self._version = self.follower.version
        before, self._orders = self._orders, self.follower.orders
        self.halted = {site: order for site, order in self._orders.items() if order.halted}
        self.slowed = {site: order for site, order in self._orders.items() if order.slows}
        for site in {**before, **self._orders}:
            now = self._orders.get(site, NORMAL)
            if now != before.get(site, NORMAL):
                logger.info(*said_of(site, now))
        self._inc("control/changes", 1)
        # Heard from now on only: each signal costs every request a little.
        if self.halted:
            self._hear(self._scheduled, signals.request_scheduled)
        if self.slowed:
            self._hear(self._reached, signals.request_reached_downloader)
            self._hear(self._downloaded, signals.response_downloaded)
        for key, slot in list(self._pacer.slots().items()):
            requests = list(getattr(slot, "active", ()))
            for site in {self.site(request) for request in requests} & self.slowed.keys():
                self._pacer.meet(key, site)
        self._pacer.set(self.slowed)
        if self.halted:
            self._empty_queues()

    def replay(self) -> int:
        """Give requests whose sites go on back to the crawl; how many."""
        requests = self.postponed.due(self.halted, REPLAY_BATCH)
        for request in requests:
            self._crawler.engine.crawl(request)  # type: ignore[union-attr]
        self._inc("deferred/replayed", len(requests))
        return len(requests)

    def turned_back(self, request: Request) -> Request | None:
        """None where a request may go on; else what to give the engine in its place.

        Raises ``IgnoreRequest`` for one that was not scheduled (robots.txt, a file of a pipeline,
        ``engine.download``): whoever waits for it is told.
        """
        if not self.halted or self._allowed(request):
            return None
        if request in self._turned:
            self._inc("refused", 1)
            site = self.site(request)
            raise IgnoreRequest(f"{site} is {self.halted[site].state}")
        back = request.replace(dont_filter=True)
        self._turned[back] = request.dont_filter
        return back

    def settled(self, request: Request) -> None:
        """A request was attempted, or given up: it need not be kept."""
        if self.postponed.sent(request):
            self._inc("deferred/sent", 1)

    def site(self, request: Request) -> str:
        return self._rule.of_host(urlparse_cached(request).hostname or "")

    def _allowed(self, request: Request) -> bool:
        order = self.halted.get(self.site(request), NORMAL)
        return order.allows(canary=bool(request.meta.get("canary")))

    def _hear(self, handler: Any, signal: object) -> None:
        if signal not in self._heard:
            self._heard.add(signal)
            self._crawler.signals.connect(handler, signal=signal)

    def _scheduled(self, request: Request, spider: Spider) -> None:
        """Every request passes here on its way to the scheduler."""
        came_back = self._turned.pop(request, None)
        if not self.halted or self._allowed(request):
            return
        outcome = self.postponed.keep(
            self.site(request),
            request,
            dont_filter=request.dont_filter if came_back is None else came_back,
            is_new=came_back is None,
        )
        self._inc(f"deferred/{outcome}", 1)
        raise IgnoreRequest(f"{self.site(request)} is paused: kept for later")

    def _empty_queues(self) -> None:
        """Take requests of halted sites out of the downloader's queues."""
        for slot in list(self._pacer.slots().values()):
            queue = getattr(slot, "queue", None)
            if not queue:
                continue
            entries = list(queue)
            halted = [entry for entry in entries if not self._allowed(entry[0])]
            if halted:
                queue.clear()
                queue.extend(entry for entry in entries if self._allowed(entry[0]))
                for _, waiting in halted:
                    waiting.errback(Failure(SiteHalted("the site was paused")))

    def _reached(self, request: Request, spider: Spider) -> None:
        """A request enters its slot, which stands from now on."""
        if not self.slowed:
            return
        site = self.site(request)
        if site in self.slowed:
            key = request.meta.get("download_slot")
            pace = self._pacer.pace_of(key)
            if key is None or (pace is not None and site in pace.sites):
                return
            if self._pacer.meet(key, site) is None and not self._pacer.warned:
                self._pacer.warned = True
                self._warn("sites cannot be slowed: this downloader's slots are not Scrapy's")
            self._pacer.set(self.slowed)

    def _downloaded(self, response: Response, request: Request, spider: Spider) -> None:
        pace = self._pacer.pace_of(request.meta.get("download_slot"))
        latency = request.meta.get("download_latency")
        if pace is not None and latency is not None:
            pace.latency.timed(latency)


def said_of(site: str, order: Order) -> tuple[Any, ...]:
    """A line of the spider's log on a site's new order."""
    if order.halted:
        return "%s is %s: its requests are kept", site, order.state
    if order.concurrency_factor < 1:
        return "%s is slowed to %g of its concurrency", site, order.concurrency_factor
    return "%s is %s", site, order.state
