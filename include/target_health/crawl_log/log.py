"""The crawler's front of its log: rows are taken at once, and written by another process."""

from __future__ import annotations

import io
import json
import logging
import math
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, cast

from target_health.crawl_log.files import Limits
from target_health.crawl_log.messages import Message, Order, Page, send, send_batch
from target_health.crawl_log.ownership import new_run
from target_health.crawl_log.store import is_url
from target_health.verdicts import has_item_value

logger = logging.getLogger(__name__)


class Absent:
    """The type of ``ABSENT``: extraction was not attempted."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent()

#: Rows are handed over this long after the first: one by one they would wake a thread beside the
#: crawl for each, and much later their bodies would have left the processor's cache.
HAND_OVER_S = 0.02
BATCH_BYTES = 4_000_000
#: Handed over and not yet written.
UNDERWAY_BYTES = 16_000_000
PIPE_BYTES = 1 << 20
#: What a row without its page counts for.
ROW_BYTES = 1_000
#: The writing process is started anew at most this often.
RESTART_S = 2.0

_PACKAGE = Path(__file__).parents[2]


class CrawlLog:
    """Rows of the native crawl log, as complete files under ``destination``.

    ``destination`` is a directory or any fsspec URL, such as ``inbox/<source>``; ``spool`` a
    local directory for files being written where the destination is not local. No method raises
    for the log's troubles or waits for a disk; what is lost is counted and warned of once.
    May be used from several threads.
    """

    def __init__(
        self,
        destination: str | Path,
        *,
        source: str,
        spool: Path | None = None,
        limits: Limits | None = None,
        marker_files: Sequence[Path] = (),
        buffer_bytes: int = 64_000_000,
        warn: Callable[[str], None] = logger.warning,
    ) -> None:
        place = str(destination).removeprefix("file://")
        if not is_url(place):
            place = str(Path(place).expanduser().absolute())
            spool = Path(place) / ".writing"
        elif spool is None:
            spool = default_spool()
        self.run = new_run()
        self.source = file_name(source)
        self._order = Order(
            place, spool, self.source, self.run, limits or Limits(), tuple(marker_files)
        )
        self._buffer_bytes, self._warn = buffer_bytes, warn
        self._queue: deque[tuple[Message, int]] = deque()
        self._queued_bytes = 0
        self._number = 0
        self._counted = {"rows": 0, "lost": 0, "files": 0, "recovered": 0, "unread": 0}
        self._ended = dict(self._counted)
        self._lost = self._unread = 0
        self._warned: set[str] = set()
        # A request that is collected within a call hands over its row: the lock is taken again.
        self._lock = threading.RLock()
        self._closing = threading.Event()
        self._rows_wait = threading.Event()
        self._writer: Writer | None = None
        self._thread = threading.Thread(target=self._hand_over, name="crawl-log", daemon=True)
        self._thread.start()

    def write(
        self, row: dict[str, Any], *, item: object = ABSENT, page: Page | None = None
    ) -> None:
        """Take one fetch. ``item``: what extraction brought, None without result.

        The row's ``ts`` and ``url`` are the caller's to give; evidence, title, sizes and hash are
        added where the page is given.
        """
        text = None if item is ABSENT else json_text(item)
        has_item = item is not ABSENT and has_item_value(item)
        size = ROW_BYTES + (len(page.body) if page is not None else 0)
        with self._lock:
            if self._closing.is_set() or self._queued_bytes > self._buffer_bytes:
                self._lost += 1
                lost = True
            else:
                lost = False
                if page is not None and self._queued_bytes > self._buffer_bytes // 2:
                    # Looking at pages is slower than the crawl for long: the row is kept.
                    size, page = ROW_BYTES, None
                    self._unread += 1
                self._number += 1
                row.setdefault("event_id", f"{self.run}-{self._number}")
                self._queued_bytes += size
                self._queue.append((Message(row, text, has_item, page), size))
        if lost:
            self._warn_once("rows of the crawl log are lost: it is not written fast enough")
        elif not self._rows_wait.is_set():
            self._rows_wait.set()

    def counts(self) -> dict[str, int]:
        """Rows ``taken``, written (``rows``), ``lost`` and ``unread`` (page not looked at), and
        ``files`` delivered and ``recovered``, so far."""
        with self._lock:
            counts = {name: self._ended[name] + self._counted[name] for name in self._counted}
            counts["lost"] += self._lost
            counts["unread"] += self._unread
            return {"taken": self._number, **counts}

    def close(self, timeout_s: float = 60.0) -> None:
        """Complete and deliver the last file; waits no longer than the time given."""
        self._closing.set()
        self._rows_wait.set()
        self._thread.join(timeout_s)
        writer = self._writer
        if self._thread.is_alive() and writer is not None:
            self._warn("the crawl log is not finished in time: the next start takes it over")
            writer.kill()

    def _hand_over(self) -> None:
        self._writer = Writer(self._order, self._heard)
        while not (self._closing.is_set() and not self._queue):
            self._rows_wait.wait()
            self._rows_wait.clear()
            self._closing.wait(HAND_OVER_S)
            while self._queue:
                batch, size = self._next_batch()
                try:
                    self._give(batch, size)
                except Exception as problem:  # a row that cannot cross over costs its batch
                    with self._lock:
                        self._lost += len(batch)
                        self._queued_bytes -= size
                    self._warn_once(f"rows of the crawl log are lost: {problem}")
        self._writer.finish()
        if self._writer.unwritten():
            self._start_again()
            self._writer.finish()
            with self._lock:
                self._lost += len(self._writer.unwritten())

    def _next_batch(self) -> tuple[list[Message], int]:
        batch: list[Message] = []
        size = 0
        while self._queue and size < BATCH_BYTES:
            message, bytes_ = self._queue.popleft()
            batch.append(message)
            size += bytes_
        return batch, size

    def _give(self, batch: list[Message], size: int) -> None:
        assert self._writer is not None
        while not self._writer.give(batch, size):
            if self._closing.is_set() and not self._writer.started:
                with self._lock:
                    self._lost += len(batch)
                break
            self._closing.wait(RESTART_S)
            self._start_again()
        with self._lock:
            self._queued_bytes -= size

    def _start_again(self) -> None:
        """Another process, given what the ended one left unwritten; without its pages, one of
        which may have ended it."""
        assert self._writer is not None
        self._warn_once("the process that writes the crawl log ended; it is started again")
        left = self._writer.unwritten()
        self._writer.kill()
        self._settle()
        # Under a name of its own: it takes over what the ended one left under the other.
        self._writer = Writer(replace(self._order, run=new_run()), self._heard)
        with self._lock:
            self._unread += sum(message.page is not None for message in left)
        rows = [message._replace(page=None) for message in left]
        if rows and not self._writer.give(rows, ROW_BYTES * len(rows)):
            with self._lock:
                self._lost += len(rows)

    def _settle(self) -> None:
        with self._lock:
            for name, count in self._counted.items():
                self._ended[name] += count
                self._counted[name] = 0

    def _heard(self, said: dict[str, Any]) -> None:
        if "warning" in said:
            self._warn(str(said["warning"]))
            return
        with self._lock:
            for name in self._counted:
                self._counted[name] = int(said.get(name, 0))

    def _warn_once(self, text: str) -> None:
        if text not in self._warned:
            self._warned.add(text)
            self._warn(text)


class Writer:
    """One writing process: batches go in, counts and warnings come out."""

    def __init__(self, order: Order, heard: Callable[[dict[str, Any]], None]) -> None:
        self._heard = heard
        self._changed = threading.Condition()
        self._underway: deque[tuple[int, list[Message], int]] = deque()
        self._number = 0
        self._child: subprocess.Popen[bytes] | None = None
        path = os.pathsep.join([str(_PACKAGE), *filter(None, sys.path)])
        with suppress(OSError):
            self._child = subprocess.Popen(
                [sys.executable, "-m", "target_health.crawl_log.process"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                bufsize=0,
                env={**os.environ, "PYTHONPATH": path},
                start_new_session=True,  # Ctrl-C and a killed group end the crawl, not its log
            )
            _enlarge(self._child.stdin)
            self._ears = threading.Thread(target=self._listen, name="crawl-log-ears", daemon=True)
            self._ears.start()
            self._sent(lambda pipe: send(pipe, order))

    @property
    def started(self) -> bool:
        return self._child is not None

    def give(self, batch: list[Message], size: int) -> bool:
        """Hand a batch over; false when the process has ended. Waits while much is underway."""
        with self._changed:
            while sum(part[2] for part in self._underway) > UNDERWAY_BYTES and self._alive():
                self._changed.wait(0.5)
            self._number += 1
            self._underway.append((self._number, batch, size))
        if self._alive() and self._sent(lambda pipe: send_batch(pipe, self._number, batch)):
            return True
        with self._changed:
            self._underway.pop()  # the caller still has it
        return False

    def unwritten(self) -> list[Message]:
        with self._changed:
            return [message for _, batch, _ in self._underway for message in batch]

    def finish(self) -> None:
        """Close the pipe and wait for the process to end."""
        if self._child is None:
            return
        assert self._child.stdin is not None
        with suppress(OSError):
            self._child.stdin.close()
        self._child.wait()
        self._ears.join(5)

    def kill(self) -> None:
        if self._child is not None:
            self._child.kill()
            self._child.wait()

    def _alive(self) -> bool:
        return self._child is not None and self._child.poll() is None

    def _sent(self, send_to: Callable[[int], None]) -> bool:
        assert self._child is not None
        assert self._child.stdin is not None
        try:
            send_to(self._child.stdin.fileno())
        except (OSError, ValueError):
            return False
        return True

    def _listen(self) -> None:
        assert self._child is not None
        assert self._child.stdout is not None
        for line in io.BufferedReader(cast(io.RawIOBase, self._child.stdout)):
            with suppress(ValueError):
                said = json.loads(line)
                with self._changed:
                    while self._underway and self._underway[0][0] <= said.get("batch", 0):
                        self._underway.popleft()
                    self._changed.notify_all()
                self._heard(said)
        with self._changed:
            self._changed.notify_all()


#: Made once: ``json.dumps`` makes an encoder a call.
_ENCODE = json.JSONEncoder(ensure_ascii=False, default=str, allow_nan=False).encode


def json_text(item: Any) -> str:
    """An item as JSON, whatever it holds: what JSON has no word for becomes text, NaN null."""
    try:
        return _ENCODE(item)
    except (TypeError, ValueError, RecursionError):
        with suppress(TypeError, ValueError, RecursionError):
            return json.dumps(_sayable(item), ensure_ascii=False, default=str)
        return json.dumps({"value": f"{type(item).__name__} that JSON cannot say"})


def _sayable(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _sayable(part) for key, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_sayable(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _enlarge(pipe: Any) -> None:
    """Room for a batch in the pipe, where the system can do that, so that writing seldom waits."""
    with suppress(ImportError, AttributeError, OSError):
        import fcntl

        fcntl.fcntl(pipe.fileno(), fcntl.F_SETPIPE_SZ, PIPE_BYTES)


def file_name(source: str) -> str:
    """A source's name as a part of file names."""
    kept = "".join(char if char.isalnum() or char in "-_." else "-" for char in source)
    return kept.strip(".") or "crawler"


def default_spool() -> Path:
    """Where files for a remote destination are written: the user's state directory."""
    import platformdirs

    return platformdirs.user_state_path("target-health") / "crawl-log"
