"""A slowed site's pace for code that sends its requests itself, from one thread or many."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from target_health.crawl_control import Order

#: Of a site from which no answer has been timed yet.
FIRST_LATENCY_S = 1.0
NEWEST = 0.2
#: Sites whose pace is remembered.
REMEMBERED = 10_000


class SitePace:
    """Requests under way to one site, and the rest that follows each."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._underway = 0
        self._next_at = 0.0
        self._latency_s = FIRST_LATENCY_S

    @contextmanager
    def turn(self, order: Order, own_concurrency: int) -> Iterator[None]:
        """Wait for a turn under ``order``, and hold it meanwhile.

        Of ``own_concurrency`` at once, the order's share is let through; less than one at once
        is one with a rest after it.
        """
        share = own_concurrency * order.concurrency_factor
        if order.concurrency is not None:
            share = min(share, order.concurrency)
        with self._changed:
            while self._underway >= max(1, int(share)):
                self._changed.wait()
            self._underway += 1
            rest_s = self._next_at - time.monotonic()
            if share < 1:
                # The next one waits for the rest after this one, too.
                begins_at = max(time.monotonic(), self._next_at)
                self._next_at = begins_at + self._latency_s / max(share, 0.01)
        if rest_s > 0:
            time.sleep(rest_s)
        began = time.monotonic()
        try:
            yield
        finally:
            with self._changed:
                self._latency_s += NEWEST * (time.monotonic() - began - self._latency_s)
                self._underway -= 1
                self._changed.notify_all()
