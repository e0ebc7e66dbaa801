"""A slowed site's pace for code that sends its requests itself, from one thread or many."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from target_health.crawl_control import Order
from target_health.crawl_control.pace import Latency, at_once, rest_s

#: Sites whose pace is remembered.
REMEMBERED = 10_000


class SitePace:
    """Requests under way to one site, and the rest that follows each."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._underway = 0
        self._next_at = 0.0
        self._latency = Latency()

    @contextmanager
    def turn(self, order: Order, own_concurrency: int) -> Iterator[None]:
        """Wait for a turn under ``order``, and hold it meanwhile.

        Of ``own_concurrency`` at once, the order's share is let through.
        """
        share = own_concurrency * order.concurrency_factor
        if order.concurrency is not None:
            share = min(share, order.concurrency)
        with self._changed:
            while self._underway >= at_once(share):
                self._changed.wait()
            self._underway += 1
            wait_s = self._next_at - time.monotonic()
            if rest := rest_s(share, self._latency.mean_s):
                # The next one waits for the rest after this one, too.
                self._next_at = max(time.monotonic(), self._next_at) + rest
        if wait_s > 0:
            time.sleep(wait_s)
        began = time.monotonic()
        try:
            yield
        finally:
            with self._changed:
                self._latency.timed(time.monotonic() - began)
                self._underway -= 1
                self._changed.notify_all()
