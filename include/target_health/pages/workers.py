"""Processes that look at pages beside the caller, one a core.

They are plain child interpreters spoken to over pipes: unlike ``multiprocessing`` they may be
started from any process (a daemonic one of Airflow's, one full of threads) and import nothing of
the caller's main module. A page that kills its process costs only itself.
"""

from __future__ import annotations

import os
import pickle
import queue
import struct
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")
_SIZE = struct.Struct(">Q")
_PACKAGE = Path(__file__).parents[2]


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Workers:
    """``count`` child processes that call ``function(task, *setup())`` for many tasks.

    ``setup`` runs once in each child; both are module-level functions. Close it after use.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        setup: Callable[..., tuple[Any, ...]],
        arguments: tuple[Any, ...] = (),
        count: int | None = None,
    ) -> None:
        self._greeting = pickle.dumps((function, setup, arguments))
        self._count = count or cores()
        self._idle: queue.SimpleQueue[subprocess.Popen[bytes] | None] = queue.SimpleQueue()
        for _ in range(self._count):
            self._idle.put(None)
        self._threads = ThreadPoolExecutor(self._count, thread_name_prefix="pages")

    def map(self, batches: Iterable[Sequence[Any]]) -> Iterator[Sequence[Any]]:
        """Results of each batch, in order; None for a task that failed or killed its process.

        Takes few batches more than it has given back.
        """
        waiting: deque[Future[list[Any]]] = deque()
        for batch in batches:
            waiting.append(self._threads.submit(self._ask, list(batch)))
            while len(waiting) > 2 * self._count or (waiting and waiting[0].done()):
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def close(self) -> None:
        self._threads.shutdown(wait=True, cancel_futures=True)
        while not self._idle.empty():
            _end(self._idle.get())

    def _ask(self, tasks: list[Any]) -> list[Any]:
        child = self._idle.get()
        try:
            try:
                child = child or self._started()
                return _spoken(child, tasks)
            except (OSError, EOFError, pickle.UnpicklingError):
                _end(child)
                child = None
            results: list[Any] = []
            for task in tasks:
                try:
                    child = child or self._started()
                    results += _spoken(child, [task])
                except (OSError, EOFError, pickle.UnpicklingError):
                    _end(child)
                    child = None
                    results.append(None)
            return results
        finally:
            self._idle.put(child)

    def _started(self) -> subprocess.Popen[bytes]:
        path = os.pathsep.join([str(_PACKAGE), *filter(None, sys.path)])
        child = subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
        )
        assert child.stdin is not None
        _send(child.stdin, self._greeting)
        return child


def _spoken(child: subprocess.Popen[bytes], tasks: list[Any]) -> list[Any]:
    assert child.stdin is not None
    assert child.stdout is not None
    _send(child.stdin, pickle.dumps(tasks, protocol=pickle.HIGHEST_PROTOCOL))
    results = pickle.loads(_received(child.stdout))
    if len(results) != len(tasks):
        raise EOFError
    return list(results)


def _end(child: subprocess.Popen[bytes] | None) -> None:
    if child is None:
        return
    for pipe in (child.stdin, child.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
    try:
        child.wait(timeout=5)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def _send(pipe: Any, data: bytes) -> None:
    pipe.write(_SIZE.pack(len(data)))
    pipe.write(data)
    pipe.flush()


def _received(pipe: Any) -> bytes:
    """Raises ``EOFError`` where the other side has gone."""
    (size,) = _SIZE.unpack(_exactly(pipe, _SIZE.size))
    return _exactly(pipe, size)


def _exactly(pipe: Any, size: int) -> bytes:
    data: bytes = pipe.read(size)
    if len(data) < size:
        raise EOFError
    return data


def tried(function: Callable[..., Result], task: Any, *more: Any) -> Result | None:
    """The function's result; None where it fails, so that one odd page costs only itself."""
    try:
        return function(task, *more)
    except Exception:
        return None


def serve(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """A child's life: greeting, then tasks, until the caller has gone."""
    try:
        function, setup, arguments = pickle.loads(_received(incoming))
        made = setup(*arguments)
        while True:
            tasks = pickle.loads(_received(incoming))
            results = [tried(function, task, *made) for task in tasks]
            _send(outgoing, pickle.dumps(results, protocol=pickle.HIGHEST_PROTOCOL))
    except (EOFError, BrokenPipeError, KeyboardInterrupt):
        return


def _main() -> None:
    outgoing = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no result
    serve(sys.stdin.buffer, outgoing)


if __name__ == "__main__":
    _main()


__all__ = ["Workers", "cores"]
