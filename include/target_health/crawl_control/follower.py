"""Following a control file: polled beside the crawl, its last good copy kept."""

from __future__ import annotations

import logging
import os
import tempfile
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from target_health.crawl_control.orders import NORMAL, Order, parse_orders

logger = logging.getLogger(__name__)

#: A control file of 100,000 sites has 40 MB; more is not one.
LARGEST_BYTES = 200_000_000
URL_TIMEOUT_S = 10


class ControlFollower:
    """What the control file at a path or URL says, read anew every ``poll_s`` seconds.

    A missing or broken file leaves the last good copy in force, also that of an earlier run where
    ``copy`` names a file to keep it in; without one, every site is crawled as usual. Each
    trouble is warned of once. Reading happens in a thread: ``order`` never waits.
    """

    def __init__(
        self,
        source: str | Path,
        *,
        poll_s: float = 10.0,
        copy: Path | None = None,
        warn: Callable[[str], None] = logger.warning,
    ) -> None:
        self.source = str(source).removeprefix("file://")
        self.version = 0
        self.polls = self.failures = 0
        self._poll_s, self._copy, self._warn = poll_s, copy, warn
        self._orders: Mapping[str, Order] = {}
        self._seen: object = None
        self._good = False
        self._trouble: str | None = None
        self._ended = threading.Event()
        self._first = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="crawl-control", daemon=True)
        self._thread.start()

    def order(self, site: str) -> Order:
        """What a site may be asked, by the last good copy."""
        return self._orders.get(site, NORMAL)

    @property
    def orders(self) -> Mapping[str, Order]:
        """Every named site's order; a new mapping after each change, when ``version`` grows."""
        return self._orders

    def wait_first(self, timeout_s: float = 5.0) -> bool:
        """Wait until the control was looked at once, so that no request runs ahead of it."""
        return self._first.wait(timeout_s)

    def close(self) -> None:
        self._ended.set()

    def poll(self) -> None:
        """Look once. Called by the follower's own thread."""
        self.polls += 1
        try:
            text = self._read()
            if text is None:
                # Unchanged; the last copy stands, whatever was said of it.
                return
            orders = parse_orders(text)
        except Exception as problem:
            self.failures += 1
            self._seen = None
            self._fall_back(
                f"{type(problem).__name__}: {problem}" if str(problem) else "unreadable"
            )
            return
        if self._trouble is not None and self._good:
            logger.info("the crawl control at %s is read again", self.source)
        self._trouble, self._good = None, True
        self._accept(orders)
        self._keep(text)

    def _accept(self, orders: Mapping[str, Order]) -> None:
        if orders != self._orders:
            self._orders = orders
            self.version += 1

    def _fall_back(self, problem: str) -> None:
        stands = "its last good copy stays in force"
        if not self._good:
            stands = "the crawl goes at its own pace"
            if self._copy is not None and self._copy.is_file():
                with suppress(OSError, ValueError):
                    self._accept(parse_orders(self._copy.read_bytes()))
                    self._good = True
                    stands = "the last good copy of an earlier run stays in force"
        if problem != self._trouble:
            self._trouble = problem
            self._warn(f"the crawl control at {self.source} cannot be read ({problem}): {stands}")

    def _keep(self, text: bytes) -> None:
        if self._copy is None:
            return
        with suppress(OSError):
            self._copy.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(prefix=f".{self._copy.name}.", dir=self._copy.parent)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(text)
                os.replace(name, self._copy)
            except OSError:
                Path(name).unlink(missing_ok=True)

    def _follow(self) -> None:
        while not self._ended.is_set():
            try:
                self.poll()
            except Exception as problem:  # nothing of the control's may end its following
                logger.warning("following %s: %s", self.source, problem)
            self._first.set()
            self._ended.wait(self._poll_s)

    def _read(self) -> bytes | None:
        """The content; None when it is the one read last. Raises ``Exception`` of any kind."""
        if "://" not in self.source:
            return self._read_path(Path(self.source).expanduser())
        if self.source.startswith(("http://", "https://")):
            return self._read_http()
        import fsspec

        with fsspec.open(self.source, "rb") as file:
            return bytes(file.read(LARGEST_BYTES))

    def _read_path(self, path: Path) -> bytes | None:
        status = path.stat()
        seen = (status.st_mtime_ns, status.st_size, status.st_ino)
        if seen == self._seen:
            return None
        content = path.read_bytes()
        self._seen = seen
        return content

    def _read_http(self) -> bytes | None:
        import requests

        headers = {}
        if isinstance(self._seen, dict):
            headers = self._seen
        answer = requests.get(self.source, headers=headers, timeout=URL_TIMEOUT_S)
        if answer.status_code == 304:
            return None
        answer.raise_for_status()
        asked = {"ETag": "If-None-Match", "Last-Modified": "If-Modified-Since"}
        self._seen = {asked[name]: answer.headers[name] for name in asked if name in answer.headers}
        return answer.content
