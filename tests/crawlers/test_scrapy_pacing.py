"""A slot's pace: less than the spider's own, whatever the spider and AutoThrottle make of it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("scrapy")

from scrapy.core.downloader import Slot
from scrapy.core.downloader.handlers.http11 import TunnelError
from scrapy.exceptions import CannotResolveHostError, DownloadTimeoutError
from twisted.internet.error import ConnectionLost, ConnectionRefusedError, DNSLookupError
from twisted.python.failure import Failure
from twisted.web.client import ResponseNeverReceived

from target_health.crawl_control import Order
from target_health.crawl_log.errors import error_word
from target_health.scrapy.pacing import Pacer


class Downloader(SimpleNamespace):
    """The part of Scrapy's that a pacer looks at."""

    def __init__(self, total: int = 16, **slots: Slot) -> None:
        super().__init__(total_concurrency=total, slots=slots)


def slowed(step: int, concurrency: int | None = None) -> Order:
    return Order("slowed" if step else "active", 0.5**step, 2**step, concurrency)


def paced(slot: Slot, order: Order, total: int = 16) -> Slot:
    downloader = Downloader(total, a=slot)
    pacer = Pacer(downloader)  # type: ignore[arg-type]
    assert pacer.meet("a", "shop") is not None
    pacer.set({"shop": order})
    return slot


@pytest.mark.parametrize(
    ("own", "total", "order", "free"),
    [
        (8, 16, slowed(1), 4),
        (8, 16, slowed(3), 1),
        (8, 4, slowed(1), 2),  # the limit for all sites is this one's, too
        (1, 16, slowed(1), 1),
        (8, 16, slowed(0, concurrency=3), 3),
        (8, 16, slowed(1, concurrency=100), 4),
        (8, 16, slowed(0, concurrency=100), 8),
    ],
)
def test_concurrency_is_the_factors_share_of_the_spiders_own(
    own: int, total: int, order: Order, free: int
) -> None:
    assert paced(Slot(own, 0.0), order, total).free_transfer_slots() == free


def test_less_than_one_at_a_time_is_one_with_a_rest() -> None:
    slot = paced(Slot(1, 0.0), slowed(2))
    slot.pace.latency.mean_s = 0.5  # type: ignore[attr-defined]
    assert slot.free_transfer_slots() == 1
    assert slot.download_delay() == 2.0  # a quarter of the time is spent asking


def test_autothrottle_goes_on_with_the_spiders_own_delay() -> None:
    slot = paced(Slot(8, 1.0, 0), slowed(1))
    assert (slot.delay, slot.download_delay()) == (1.0, 2.0)
    slot.delay = 0.25
    assert slot.download_delay() == 0.5


def test_a_restored_site_is_back_at_the_spiders_own() -> None:
    slot = Slot(8, 1.0, 0)
    pacer = Pacer(downloader := Downloader(a=slot))  # type: ignore[arg-type]
    pacer.meet("a", "shop")
    pacer.set({"shop": slowed(3)})
    pacer.set({})
    assert (slot.free_transfer_slots(), slot.download_delay()) == (8, 1.0)
    assert downloader.slots["a"] is slot


def test_what_leaves_the_queue_is_under_way_before_its_task_begins() -> None:
    slot = Slot(8, 0.0)
    for name in "abc":
        slot.queue.append((name, None))  # type: ignore[arg-type]
    paced(slot, slowed(2))
    assert slot.free_transfer_slots() == 2
    assert [slot.queue.popleft()[0] for _ in range(2)] == ["a", "b"]
    assert slot.free_transfer_slots() == 0


def test_a_sites_limit_is_shared_by_the_slots_of_its_hosts() -> None:
    slots = {name: Slot(8, 0.0) for name in "abcd"}
    pacer = Pacer(downloader := Downloader(64, **slots))  # type: ignore[arg-type]
    for name in slots:
        pacer.meet(name, "shop" if name != "d" else "other")
    pacer.set({"shop": slowed(0, concurrency=6)})
    assert [slots[name].free_transfer_slots() for name in "abcd"] == [2, 2, 2, 8]
    del downloader


@given(
    own=st.integers(1, 64),
    delay_s=st.floats(0, 60),
    step=st.integers(0, 3),
    limit=st.none() | st.integers(1, 100),
    total=st.integers(0, 100),
)
def test_a_pace_is_never_above_the_spiders_own(
    own: int, delay_s: float, step: int, limit: int | None, total: int
) -> None:
    slot = paced(Slot(own, delay_s, 0), slowed(step, limit), total)
    assert 1 <= slot.free_transfer_slots() <= own
    assert slot.download_delay() >= delay_s


def caused(error: BaseException, cause: BaseException) -> BaseException:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("exception", "proxied", "word"),
    [
        (DownloadTimeoutError(), False, "timeout"),
        (CannotResolveHostError(), False, "dns"),
        (DNSLookupError(), True, "proxy"),
        (ConnectionRefusedError(), False, "other"),
        (ConnectionRefusedError(), True, "proxy"),
        (TunnelError(), True, "proxy"),
        (ConnectionResetError(), False, "connection_reset"),
        (ResponseNeverReceived([Failure(ConnectionLost())]), False, "connection_reset"),
        (caused(RuntimeError(), ConnectionLost()), False, "connection_reset"),
        (__import__("ssl").SSLError(), False, "tls"),
        (ValueError("timeout"), False, "other"),
    ],
)
def test_an_exception_has_one_of_the_logs_words(exception: Any, proxied: bool, word: str) -> None:
    assert error_word(exception, proxied=proxied) == word
