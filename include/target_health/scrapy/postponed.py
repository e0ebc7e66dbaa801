"""Scrapy's requests in the deferred file: how they are written, told apart and given back."""

from __future__ import annotations

import base64
import pickle
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Container
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.utils.request import request_from_dict

from target_health.crawl_control import DeferredRequests

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

#: In a request's meta: the key that it is kept under.
KEY = "target_health_deferred"
#: Given back and not yet sent; no more are given before.
UNDERWAY = 500


class Postponed:
    """Requests of halted sites, on disk as Scrapy's own queues keep them: callbacks by name.

    What cannot be written (a callback that is no method of the spider, a meta that cannot be
    pickled) is kept in memory, for this run.
    """

    def __init__(self, crawler: Crawler, directory: Path, warn: Callable[[str], None]) -> None:
        self._crawler, self._warn = crawler, warn
        self._file = DeferredRequests(directory, warn=warn)
        self._memory: dict[str, deque[tuple[Request, bool]]] = defaultdict(deque)
        self._underway: dict[str, str] = {}
        self._times: Counter[str] = Counter()
        self._warned = False
        self._unread: set[str] = set()
        self.lost = 0

    def recover(self) -> None:
        self._file.recover()

    def keep(self, site: str, request: Request, *, dont_filter: bool, is_new: bool) -> str:
        """Keep a request, and say what became of it: ``kept``, ``kept_in_memory``, ``again`` (it
        was given back and its site is halted anew) or ``duplicate``.

        ``is_new``: it has not been through the scheduler's filter yet.
        """
        key = request.meta.get(KEY)
        if key is not None:
            self._underway.pop(key, None)
            if self._file.again(site, key):
                return "again"
        content = {name: value for name, value in request.meta.items() if name != KEY}
        kept = request.replace(meta=content, dont_filter=dont_filter)
        try:
            if is_new and not dont_filter and self._seen(request):
                return "duplicate"
            # Written as Scrapy's disk queues write it.
            pickled = pickle.dumps(kept.to_dict(spider=self._crawler.spider), protocol=4)
            written = {"pickle": base64.b64encode(pickled).decode("ascii")}
            added = self._file.add(site, self._key(kept, dont_filter), written, kept.url)
        except Exception as problem:
            if not self._warned:
                self._warned = True
                self._warn(f"{request} is kept for this run only, it cannot be written: {problem}")
            self._memory[site].append((kept, dont_filter))
            return "kept_in_memory"
        return "kept" if added else "duplicate"

    def due(self, halted: Container[str], limit: int) -> list[Request]:
        """Requests of sites that go on again, ready to be crawled."""
        found: list[Request] = []
        for site in [site for site in self._memory if site not in halted]:
            for request, dont_filter in self._memory.pop(site):
                found.append(self._ready(request, dont_filter))
        limit = min(limit, UNDERWAY - len(self._underway))
        for site in self._file.sites():
            if site in halted or limit <= 0:
                continue
            for key, written in self._file.due(site, limit):
                limit -= 1
                try:
                    content = pickle.loads(base64.b64decode(written["pickle"]))
                    request = request_from_dict(content, spider=self._crawler.spider)
                except Exception as problem:
                    # It stays in the file: the spider may know the callback again later.
                    if str(problem) not in self._unread:
                        self._unread.add(str(problem))
                        self._warn(f"deferred requests stay in their file: {problem}")
                    continue
                request = self._ready(request, request.dont_filter)
                request.meta[KEY] = key
                self._underway[key] = site
                found.append(request)
        return found

    def sent(self, request: Request) -> bool:
        key = request.meta.get(KEY)
        if key is None or key not in self._underway:
            return False
        return self._file.done(self._underway.pop(key), key)

    def settle_all(self) -> int:
        """Nothing that was given back is under way any more; how many that were."""
        count = 0
        for key, site in self._underway.items():
            count += self._file.done(site, key)
        self._underway.clear()
        return count

    def flush(self) -> None:
        self._file.flush()

    def count(self) -> int:
        return self._file.count() + sum(map(len, self._memory.values()))

    def close(self) -> None:
        self.lost = sum(map(len, self._memory.values()))
        if self.lost:
            self._warn(f"{self.lost} deferred requests are lost: they could not be written")
        self._file.close()

    def _ready(self, request: Request, dont_filter: bool) -> Request:
        """It has been asked for once: the filter must let it pass, and know it from now on."""
        if not dont_filter:
            self._seen(request)
        return request.replace(dont_filter=True)

    def _seen(self, request: Request) -> bool:
        engine: Any = self._crawler.engine
        scheduler = getattr(engine, "scheduler", None)
        if scheduler is None:
            scheduler = getattr(getattr(engine, "_slot", None), "scheduler", None)
        requests_seen = getattr(scheduler, "df", None)
        return requests_seen is not None and bool(requests_seen.request_seen(request))

    def _key(self, request: Request, dont_filter: bool) -> str:
        """One request, one key, in every run; those that may be repeated are numbered in a run."""
        fingerprinter: Any = self._crawler.request_fingerprinter
        key = fingerprinter.fingerprint(request).hex()
        if not dont_filter:
            return key
        key = f"{key}-{getattr(request.callback, '__name__', '')}"
        self._times[key] += 1
        return f"{key}-{self._times[key]}"
