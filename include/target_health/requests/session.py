"""A ``requests`` session that is watched: adapters around its own."""

from __future__ import annotations

import base64
import logging
import pickle
import sys
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import requests
from requests.adapters import BaseAdapter

from target_health.crawl_control import ControlFollower, DeferredRequests, Order, SiteRule
from target_health.crawl_control.places import Places
from target_health.crawl_log import ABSENT, CrawlLog, Page
from target_health.crawl_log.errors import error_word
from target_health.crawl_log.fields import attempt_row, without_user
from target_health.requests.pace import REMEMBERED, SitePace

logger = logging.getLogger(__name__)


class SiteHalted(requests.RequestException):
    """The site is paused or stopped: nothing was sent, and the request is kept for later."""


def watch(
    session: requests.Session,
    *,
    source: str,
    home: str | Path | None = None,
    inbox: str | None = None,
    control: str | Path | None = None,
    state: Path | None = None,
    configuration: Path | None = None,
    concurrency: int = 1,
    poll_s: float = 10.0,
) -> WatchedSession:
    """Log a session's fetches, and have it obey the control.

    ``home`` is Target Health's, or ``inbox`` (log files go to ``inbox/source``) and ``control``
    name a path or URL each; without any, the environment's ``TARGET_HEALTH_…`` do.
    ``concurrency`` is how many requests the caller sends to a site at once; slowed sites get a
    share of it. Raises ``UsageError`` where neither a log nor a control is named.
    """
    given = {
        "TARGET_HEALTH_HOME": home,
        "TARGET_HEALTH_INBOX": inbox,
        "TARGET_HEALTH_CONTROL": control,
        "TARGET_HEALTH_STATE": state,
        "TARGET_HEALTH_CONFIG": configuration,
    }
    return WatchedSession(session, Places.of(given.get, source), concurrency, poll_s)


class WatchedSession:
    """What ``watch`` gives: items for rows, kept requests, and the end of it all."""

    def __init__(
        self, session: requests.Session, places: Places, concurrency: int, poll_s: float
    ) -> None:
        self.session = session
        self._concurrency = concurrency
        self._rule = SiteRule(places.configuration)
        self._log: CrawlLog | None = None
        self._follower: ControlFollower | None = None
        self._deferred: DeferredRequests | None = None
        self._lock = threading.RLock()
        self._paces: OrderedDict[str, SitePace] = OrderedDict()
        #: Rows of responses that no item was given for yet, by the identity of the response.
        self._open: dict[int, tuple[dict[str, Any], Page]] = {}
        if places.destination is not None:
            self._log = CrawlLog(
                places.destination,
                source=places.source,
                spool=places.spool,
                marker_files=places.marker_files(),
            )
        if places.control is not None:
            self._deferred = DeferredRequests(places.deferred)
            self._deferred.recover()
            self._follower = ControlFollower(
                places.control, poll_s=poll_s, copy=places.last_control
            )
            self._follower.wait_first()
        for prefix, adapter in list(session.adapters.items()):
            if prefix.startswith("http"):
                session.mount(prefix, WatchedAdapter(adapter, self))

    def __enter__(self) -> WatchedSession:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def item(self, response: requests.Response, item: object, page_type: str | None = None) -> None:
        """What extraction brought from a response: a record, a list of them, None without result.

        Its row is written now; without a call it is written once the response is let go.
        """
        with self._lock:
            row = self._open.get(id(response))
            if row is not None and page_type is not None:
                row[0]["page_type"] = page_type
        self._write(id(response), item)

    def due(self, limit: int = 100) -> Iterator[requests.PreparedRequest]:
        """Kept requests whose site goes on again, to be sent with ``session.send``; also those
        of earlier runs. One that is not sent comes again in the next run."""
        if self._deferred is None:
            return
        for site in self._deferred.sites():
            if self.order(site).halted:
                continue
            with self._lock:
                found = self._deferred.due(site, limit)
            for key, kept in found:
                request = pickle.loads(base64.b64decode(kept["pickle"]))
                request.target_health_key = key
                yield request

    def order(self, site: str) -> Order:
        """What the control says of a site now."""
        return self._follower.order(site) if self._follower is not None else Order()

    def counts(self) -> dict[str, int]:
        """The log's counts, and requests ``deferred``."""
        counts = self._log.counts() if self._log is not None else {}
        if self._deferred is not None:
            counts["deferred"] = self._deferred.count()
        return counts

    def close(self) -> None:
        """Write what waits, complete the log, and give the session its own adapters back."""
        for prefix, adapter in list(self.session.adapters.items()):
            if isinstance(adapter, WatchedAdapter) and adapter.watched is self:
                self.session.mount(prefix, adapter.inner)
        for key in list(self._open):
            self._write(key)
        if self._follower is not None:
            self._follower.close()
        with self._lock:
            if self._deferred is not None:
                self._deferred.close()
        if self._log is not None:
            self._log.close()

    # --- for the adapter

    def admit(self, request: requests.PreparedRequest) -> tuple[SitePace, Order]:
        """The turn that a request has to wait for. Raises ``SiteHalted``."""
        site = self._rule.of_url(request.url or "")
        order = self.order(site)
        if not order.allows(canary=bool(meta_of(request).get("canary"))):
            self._keep(site, request)
            raise SiteHalted(f"{site} is {order.state}: the request is kept", request=request)
        with self._lock:
            pace = self._paces.setdefault(site, SitePace())
            self._paces.move_to_end(site)
            if len(self._paces) > REMEMBERED:
                self._paces.popitem(last=False)
        return pace, order

    def sent(self, request: requests.PreparedRequest) -> None:
        key = getattr(request, "target_health_key", None)
        if key is not None and self._deferred is not None:
            with self._lock:
                self._deferred.done(self._rule.of_url(request.url or ""), key)

    def answered(self, response: requests.Response, row: dict[str, Any], page: Page) -> None:
        if self._log is None:
            return
        key = id(response)
        with self._lock:
            self._open[key] = row, page
        weakref.finalize(response, self._write, key).atexit = False

    def failed(self, row: dict[str, Any]) -> None:
        if self._log is not None:
            self._log.write(row)

    def _write(self, key: int, item: object = ABSENT) -> None:
        with self._lock:
            waiting = self._open.pop(key, None)
        if waiting is not None and self._log is not None:
            self._log.write(waiting[0], item=item, page=waiting[1])

    def _keep(self, site: str, request: requests.PreparedRequest) -> None:
        assert self._deferred is not None
        key = getattr(request, "target_health_key", None)
        with self._lock:
            if key is not None and self._deferred.again(site, key):
                return
            copy = request.copy()
            copy.hooks = requests.hooks.default_hooks()
            try:
                pickled = base64.b64encode(pickle.dumps(copy, protocol=4)).decode("ascii")
            except Exception as problem:
                logger.warning("a request of %s cannot be kept: %s", site, problem)
                return
            body = request.body if isinstance(request.body, str | bytes) else b""
            body = body.encode() if isinstance(body, str) else body
            key = f"{request.method} {request.url} {body[:1000].hex()}"
            self._deferred.add(site, key, {"pickle": pickled}, without_user(request.url or ""))


class WatchedAdapter(BaseAdapter):
    """Around an adapter of the session's own: each send is admitted, timed and logged."""

    def __init__(self, inner: BaseAdapter, watched: WatchedSession) -> None:
        super().__init__()
        self.inner, self.watched = inner, watched

    def send(
        self,
        request: requests.PreparedRequest,
        stream: bool = False,
        timeout: Any = None,
        verify: Any = True,
        cert: Any = None,
        proxies: Any = None,
    ) -> requests.Response:
        pace, order = self.watched.admit(request)
        with pace.turn(order, self.watched._concurrency):
            handled = sys.exception()
            began = time.perf_counter()
            try:
                response = self.inner.send(
                    request,
                    stream=stream,
                    timeout=timeout,
                    verify=verify,
                    cert=cert,
                    proxies=proxies,
                )
                latency_s = time.perf_counter() - began
                # What the caller would read next anyway.
                body = b"" if stream else response.content
            except Exception as problem:
                proxied = bool(proxy_of(request, proxies))
                row = row_of(request, proxies)
                row["status"] = None
                row["error"] = error_word(problem, proxied=proxied, handled=handled)
                row["latency_ms"] = round((time.perf_counter() - began) * 1000, 1)
                self.watched.sent(request)
                self.watched.failed(row)
                raise
        self.watched.sent(request)
        row = row_of(request, proxies)
        row |= {"status": response.status_code, "latency_ms": round(latency_s * 1000, 1)}
        # ``content`` is decoded already; of a stream only the headers are known here.
        self.watched.answered(response, row, Page(body, tuple(response.headers.items())))
        return response

    def close(self) -> None:
        self.inner.close()


def meta_of(request: requests.PreparedRequest) -> dict[str, Any]:
    """What the caller says of a request: ``request.target_health = {"canary": …}``."""
    given = getattr(request, "target_health", None)
    return given if isinstance(given, dict) else {}


def proxy_of(request: requests.PreparedRequest, proxies: Any) -> str | None:
    proxy: str | None = requests.utils.select_proxy(request.url or "", proxies)
    return proxy


def row_of(request: requests.PreparedRequest, proxies: Any) -> dict[str, Any]:
    meta = meta_of(request)
    row = attempt_row(request.url or "", meta, proxy_of(request, proxies))
    if meta.get("page_type"):
        row["page_type"] = str(meta["page_type"])
    return row
