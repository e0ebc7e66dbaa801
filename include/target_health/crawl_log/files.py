"""Lines to complete files: written under a hidden name, renamed every few minutes and at the end.

Nothing here raises for a full disk or an unreachable store: lines wait in memory and files on
disk, both bounded, and what finds no room is counted.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from target_health.crawl_log.ownership import Claim, abandoned, claim
from target_health.crawl_log.store import open_store

PART = ".part"
#: How long to wait before a destination is tried again, doubled up to the longest.
FIRST_WAIT_S, LONGEST_WAIT_S = 5.0, 300.0


@dataclass(frozen=True, slots=True)
class Limits:
    """``rotate_s``: seconds of a file; ``memory_bytes``: lines kept while they cannot be written;
    ``spool_bytes``: complete files kept while the destination does not take them."""

    rotate_s: float = 300.0
    memory_bytes: int = 16_000_000
    spool_bytes: int = 1_000_000_000


@dataclass(slots=True)
class Counts:
    """Rows written, rows lost, files delivered, and files taken over from dead processes."""

    rows: int = 0
    lost: int = 0
    files: int = 0
    recovered: int = 0


class LogFiles:
    """The files of one run. Not for several threads at once.

    ``spool`` holds files being written, in a directory a run; on the destination's own file
    system where that is local.
    """

    def __init__(
        self,
        destination: str,
        spool: Path,
        source: str,
        run: str,
        limits: Limits,
        warn: Callable[[str], None],
    ) -> None:
        self.counts = Counts()
        self._destination, self._spool = destination, spool
        self._source, self._run, self._limits, self._warn = source, run, limits, warn
        self._store = open_store(destination)
        self._claim: Claim | None = None
        self._taken: list[Claim] = []
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._part: Path | None = None
        self._descriptor = -1
        self._good = 0
        self._began = 0.0
        self._number = 0
        self._ready: list[Path] = []
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="crawl-log")
        self._delivery: Future[tuple[int, str | None]] | None = None
        self._next_try, self._wait = 0.0, FIRST_WAIT_S
        self._full = self._unreachable = False

    def recover(self) -> None:
        """Take over what dead processes left: cut at the last whole line, and deliver it."""
        for left in abandoned(self._spool):
            self._taken.append(left)
            for path in sorted(left.directory.iterdir()):
                try:
                    whole = _completed(path) if path.name.endswith(PART) else path
                except OSError as problem:
                    self._warn(f"{path} of an earlier run is left as it is: {problem}")
                    continue
                if whole is not None:
                    self._ready.append(whole)
                    self.counts.recovered += 1

    def add(self, line: bytes) -> None:
        """One row, with its line end."""
        if self._waiting_bytes + len(line) > self._limits.memory_bytes:
            self.counts.lost += 1
            return
        self._waiting.append(line)
        self._waiting_bytes += len(line)

    def tick(self) -> None:
        """Write what waits, rotate and deliver what is due. Call it about every second."""
        self._write()
        if self._part is not None and time.monotonic() - self._began >= self._limits.rotate_s:
            self._rotate()
        self._deliver()

    def close(self, patience_s: float = 30.0) -> None:
        """Complete the last file and deliver all; what is not taken in time stays in the spool."""
        self._write()
        if self._waiting:
            self.counts.lost += len(self._waiting)
            self._warn(f"{len(self._waiting)} rows of the crawl log were lost at the end")
            self._waiting.clear()
        self._rotate()
        self._next_try = 0.0
        end = time.monotonic() + patience_s
        while (self._ready or self._delivery) and time.monotonic() < end:
            self._deliver()
            if self._delivery is None and self._unreachable:
                break
            time.sleep(0.01)
        self._threads.shutdown(wait=False, cancel_futures=True)
        if self._ready:
            self._warn(
                f"{len(self._ready)} files of the crawl log wait under {self._spool}: the next "
                "start of this crawler delivers them"
            )
        for owned in (self._claim, *self._taken):
            if owned is not None:
                owned.release()

    def _write(self) -> None:
        if not self._waiting:
            return
        data = b"".join(self._waiting)
        try:
            if sum(_size(path) for path in self._ready) > self._limits.spool_bytes:
                raise OSError(f"more than {self._limits.spool_bytes:,} bytes wait for delivery")
            if self._part is None:
                self._open()
            self._append(data)
        except OSError as problem:
            if not self._full:
                self._full = True
                self._warn(
                    f"the crawl log cannot be written ({problem}): rows wait in memory up to "
                    f"{self._limits.memory_bytes:,} bytes, then they are lost; the crawl goes on"
                )
            return
        self._full = False
        self.counts.rows += len(self._waiting)
        self._waiting.clear()
        self._waiting_bytes = 0

    def _open(self) -> None:
        if self._claim is None:
            self._claim = claim(self._spool, self._run)
        self._number += 1
        moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        name = f"{self._source}-{moment}-{self._run[-8:]}-{self._number:04d}.jsonl{PART}"
        path = self._claim.directory / name
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        self._part, self._good = path, 0
        self._began = time.monotonic()

    def _append(self, data: bytes) -> None:
        """All of it or nothing: a full disk takes a part of a line first."""
        done = 0
        try:
            while done < len(data):
                done += os.write(self._descriptor, data[done:] if done else data)
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._descriptor, self._good)
                os.lseek(self._descriptor, self._good, os.SEEK_SET)
            raise
        self._good += done

    def _rotate(self) -> None:
        if self._part is None:
            return
        with suppress(OSError):
            os.fsync(self._descriptor)
        with suppress(OSError):
            os.close(self._descriptor)
        part, self._part, self._descriptor = self._part, None, -1
        try:
            if not self._good:
                part.unlink(missing_ok=True)
                return
            whole = part.with_name(part.name.removesuffix(PART))
            os.replace(part, whole)
            self._ready.append(whole)
        except OSError as problem:
            self._warn(f"{part} could not be completed: {problem}")

    def _deliver(self) -> None:
        if self._delivery is not None:
            if not self._delivery.done():
                return
            taken, problem = self._delivery.result()
            self._delivery = None
            self.counts.files += taken
            del self._ready[:taken]
            if problem is None:
                self._unreachable, self._wait = False, FIRST_WAIT_S
            else:
                if not self._unreachable:
                    self._unreachable = True
                    self._warn(
                        f"{self._destination} does not take the crawl log ({problem}): complete "
                        f"files wait under {self._spool}"
                    )
                self._next_try = time.monotonic() + self._wait
                self._wait = min(2 * self._wait, LONGEST_WAIT_S)
        elif self._ready and time.monotonic() >= self._next_try:
            self._delivery = self._threads.submit(self._take, list(self._ready))

    def _take(self, files: list[Path]) -> tuple[int, str | None]:
        """How many were taken, in order, and why not the next."""
        for number, file in enumerate(files):
            try:
                self._store.take(file, file.name)
            except FileNotFoundError as problem:
                if file.exists():
                    return number, str(problem)
            except Exception as problem:
                return number, f"{type(problem).__name__}: {problem}"
        return len(files), None


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _completed(part: Path) -> Path | None:
    """A dead process's part as a complete file: without the half line at its end."""
    with part.open("r+b") as file:
        end = file.seek(0, os.SEEK_END)
        while end:
            start = max(0, end - 65_536)
            file.seek(start)
            cut = file.read(end - start).rfind(b"\n")
            if cut >= 0:
                end = start + cut + 1
                break
            end = start
        file.truncate(end)
    if not end:
        part.unlink()
        return None
    whole = part.with_name(part.name.removesuffix(PART))
    os.replace(part, whole)
    return whole
