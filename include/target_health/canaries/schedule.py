"""Many calls at once, one at a time a host, until a deadline; a call that hangs costs itself."""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Call(Generic[Result]):
    """``work`` for one host; given up after ``limit_s``. ``key`` tells it from the others."""

    key: object
    host: str
    work: Callable[[], Result]
    limit_s: float


@dataclass(frozen=True, slots=True)
class Done(Generic[Result]):
    """What became of a call: its result, or why there is none (``timeout``, ``deadline``,
    ``failed``)."""

    key: object
    result: Result | None = None
    why_not: str | None = None


class _Host(Generic[Result]):
    def __init__(self) -> None:
        self.waiting: deque[Call[Result]] = deque()
        self.ready_at = 0.0


@dataclass(slots=True)
class _Running(Generic[Result]):
    call: Call[Result]
    until: float


def run_calls(
    calls: Iterable[Call[Result]],
    *,
    concurrency: int,
    host_delay_s: float,
    deadline_s: float,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Done[Result]]:
    """Yield each call's end, every one exactly once, in no order; all are out by the deadline.

    A host has one call at a time, in the order given, with ``host_delay_s`` between two. Threads
    are daemons: what hangs beyond its limit is left behind, and its late result is dropped.
    """
    end = clock() + deadline_s
    hosts: dict[str, _Host[Result]] = {}
    for call in calls:
        hosts.setdefault(call.host, _Host()).waiting.append(call)
    idle = deque(hosts)
    running: dict[int, _Running[Result]] = {}
    finished: queue.SimpleQueue[tuple[int, Done[Result]]] = queue.SimpleQueue()
    number = 0
    while (idle or running) and clock() < end:
        now = clock()
        for _ in range(len(idle)):
            if len(running) >= concurrency:
                break
            name = idle.popleft()
            if hosts[name].ready_at > now:
                idle.append(name)
                continue
            call = hosts[name].waiting.popleft()
            number += 1
            running[number] = _Running(call, now + call.limit_s)
            threading.Thread(
                target=_work, args=(number, call, finished), daemon=True, name="canary"
            ).start()
        wake = min(
            [end]
            + [one.until for one in running.values()]
            + ([hosts[name].ready_at for name in idle] if len(running) < concurrency else [])
        )
        for token, done in _ended(finished, running, max(0.0, wake - clock()), clock):
            host = running.pop(token).call.host
            if hosts[host].waiting:
                hosts[host].ready_at = clock() + host_delay_s
                idle.append(host)
            yield done
    for one in running.values():
        yield Done(one.call.key, why_not="deadline")
    for host_ in hosts.values():
        for call in host_.waiting:
            yield Done(call.key, why_not="deadline")


def _ended(
    finished: queue.SimpleQueue[tuple[int, Done[Result]]],
    running: dict[int, _Running[Result]],
    wait_s: float,
    clock: Callable[[], float],
) -> list[tuple[int, Done[Result]]]:
    """The calls that ended, or were given up, after waiting for the first of them."""
    ended: dict[int, Done[Result]] = {}
    try:
        token, done = finished.get(timeout=wait_s) if wait_s else finished.get_nowait()
        while True:
            if token in running:
                ended[token] = done
            token, done = finished.get_nowait()
    except queue.Empty:
        pass
    now = clock()
    for token, one in running.items():
        if token not in ended and one.until <= now:
            ended[token] = Done(one.call.key, why_not="timeout")
    return list(ended.items())


def _work(
    token: int, call: Call[Result], finished: queue.SimpleQueue[tuple[int, Done[Result]]]
) -> None:
    try:
        done = Done(call.key, result=call.work())
    except Exception as problem:  # its text may name a proxy: only its kind is told
        done = Done(call.key, why_not=f"failed: {type(problem).__name__}")
    finished.put((token, done))
