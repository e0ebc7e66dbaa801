"""The process that looks at pages and writes a crawler's log.

It is a process of its own so that a page's look costs the crawl nothing, and so that a crawler
that is killed still leaves its last rows in a complete file: this process sees the end of its
input, and finishes. It speaks to the crawler in JSON lines: counts, and warnings.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

from target_health.crawl_log.files import LogFiles
from target_health.crawl_log.messages import Message, Order, receive, receive_batch
from target_health.crawl_log.rows import line_of

TICK_S = 0.5


class Reporter:
    """JSON lines to the crawler; none is sent twice, and a crawler that has gone hears nothing."""

    def __init__(self, outgoing: BinaryIO) -> None:
        self._outgoing = outgoing
        self._last: dict[str, Any] = {}

    def warn(self, text: str) -> None:
        self._send({"warning": text})

    def counts(self, counts: dict[str, Any]) -> None:
        if counts != self._last:
            self._last = counts
            self._send(counts)

    def _send(self, content: dict[str, Any]) -> None:
        with suppress(OSError, ValueError):
            self._outgoing.write(json.dumps(content).encode() + b"\n")
            self._outgoing.flush()


def read_all(incoming: BinaryIO, batches: queue.Queue[tuple[int, list[Message]] | None]) -> None:
    """Batches from the pipe to the queue; None when the crawler has closed it or gone."""
    try:
        while True:
            batches.put(receive_batch(incoming))
    except Exception:
        batches.put(None)


def serve(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """Write a crawler's log until it closes the pipe."""
    report = Reporter(outgoing)
    order: Order = receive(incoming)
    files = LogFiles(
        order.destination, order.spool, order.source, order.run, order.limits, report.warn
    )
    batches: queue.Queue[tuple[int, list[Message]] | None] = queue.Queue(2)
    threading.Thread(target=read_all, args=(incoming, batches), daemon=True).start()
    markers = load(order.marker_files, report)
    files.recover()
    done, unread = 0, 0
    while True:
        with suppress(queue.Empty):
            batch = batches.get(timeout=TICK_S)
            if batch is None:
                break
            done, messages = batch
            for message in messages:
                line, looked = line_of(message, markers)
                files.add(line)
                unread += not looked
        files.tick()
        report.counts({"batch": done, "unread": unread, **asdict(files.counts)})
    files.close()
    report.counts({"batch": done, "unread": unread, **asdict(files.counts)})


def load(marker_files: tuple[Path, ...], report: Reporter) -> Any:
    """The marks to look for; wrong files of the user's cost only themselves."""
    from target_health.pages import load_markers, shipped_markers

    try:
        return load_markers(*marker_files) if marker_files else shipped_markers()
    except Exception as problem:
        report.warn(f"only the shipped page marks are looked for: {problem}")
        return shipped_markers()


def main() -> None:
    outgoing = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no report
    # The crawler decides when the log ends: it closes the pipe once it has stopped.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "nice"):
        with suppress(OSError):
            os.nice(5)
    with suppress(EOFError):
        serve(sys.stdin.buffer, outgoing)


if __name__ == "__main__":
    main()
    # A delivery that hangs is no reason to stay: its file waits in the spool.
    with suppress(OSError, ValueError):
        sys.stderr.flush()
    os._exit(0)
