"""A slowed site's pace, inside Scrapy's own download slots.

A slot's own delay and concurrency stay what the spider and AutoThrottle make them; only what the
slot answers when it is asked whether the next request may go is less. So AutoThrottle goes on
adjusting the spider's own delay, and a restored site is at once back at it.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from scrapy.core.downloader import Slot

from target_health.crawl_control import Order
from target_health.crawl_control.pace import Latency, at_once, rest_s

if TYPE_CHECKING:
    from scrapy.core.downloader import Downloader


@dataclass(slots=True)
class Pace:
    """How a slot is slowed now. ``share``: concurrency allowed, a fraction of one means waiting
    between requests; None: as the spider's own."""

    share: float | None = None
    delay_factor: float = 1.0
    latency: Latency = field(default_factory=Latency)
    sites: set[str] = field(default_factory=set)

    def concurrency(self, own: int) -> int:
        if self.share is None:
            return own
        return min(own, at_once(self.share))

    def delay(self, own_s: float) -> float:
        """Seconds between the begins of two requests."""
        delay_s = own_s * self.delay_factor
        if self.share is None:
            return delay_s
        return max(delay_s, rest_s(self.share, self.latency.mean_s))


class PacedSlot(Slot):
    """A slot whose answers follow a pace. An existing slot becomes one by its class."""

    __slots__ = ()
    pace = Pace()

    def free_transfer_slots(self) -> int:
        return self.pace.concurrency(self.concurrency) - len(self.transferring)

    def download_delay(self) -> float:
        return self.pace.delay(super().download_delay())


class PacedQueue(deque[Any]):
    """A slot's queue, out of which a request counts as under way at once.

    Scrapy counts it once its task has begun, so that what is asked for in one go is sent in one
    go, whatever the concurrency.
    """

    def __init__(self, entries: Iterable[Any], transferring: set[Any]) -> None:
        super().__init__(entries)
        self._transferring = transferring

    def popleft(self) -> Any:
        entry = super().popleft()
        self._transferring.add(entry[0])
        return entry


class Pacer:
    """The paces of a downloader's slots."""

    def __init__(self, downloader: Downloader) -> None:
        self._downloader: Any = weakref.proxy(downloader)
        self.warned = False

    def slots(self) -> dict[str, Any]:
        return getattr(self._downloader, "slots", {})

    def meet(self, key: str, site: str) -> Pace | None:
        """The pace of a slot that a site's request came to; None where slots are not Scrapy's."""
        slot = self.slots().get(key)
        if isinstance(slot, PacedSlot):
            slot.pace.sites.add(site)
            return slot.pace
        if type(slot) is not Slot:
            return None
        pace = Pace(sites={site})
        slot.queue = PacedQueue(slot.queue, slot.transferring)
        slot.__class__ = type("PacedSlot", (PacedSlot,), {"__slots__": (), "pace": pace})
        return pace

    def pace_of(self, key: str | None) -> Pace | None:
        slot = self.slots().get(key) if key is not None else None
        return slot.pace if isinstance(slot, PacedSlot) else None

    def set(self, orders: dict[str, Order]) -> None:
        """Pace every slot that was met by the orders of its sites; the slowest of them holds."""
        met = [slot for slot in self.slots().values() if isinstance(slot, PacedSlot)]
        total: dict[str, float] = {}
        for slot in met:
            for site in slot.pace.sites:
                total[site] = total.get(site, 0.0) + self._own(slot)
        for slot in met:
            own = self._own(slot)
            shares = [
                share
                for site in slot.pace.sites
                if (share := self._share(orders.get(site), own, total[site])) is not None
            ]
            slot.pace.share = min(shares) if shares else None
            slot.pace.delay_factor = max(
                (orders[site].revisit_factor for site in slot.pace.sites if site in orders),
                default=1.0,
            )

    def _own(self, slot: Any) -> float:
        """The spider's own concurrency in a slot: its limit for all sites is one for each too."""
        limit = getattr(self._downloader, "total_concurrency", 0)
        return float(min(slot.concurrency, limit) if limit else slot.concurrency)

    @staticmethod
    def _share(order: Order | None, own: float, all_slots: float) -> float | None:
        """What of a site's concurrency one of its slots may have."""
        if order is None or order.halted:
            return None
        shares: Iterable[float] = [
            own * order.concurrency_factor,
            *([] if order.concurrency is None else [order.concurrency * own / all_slots]),
        ]
        share = min(shares)
        return share if share < own else None
