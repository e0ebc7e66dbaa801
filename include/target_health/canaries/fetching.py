"""One fetch through a route, with ``requests``; every failure is an answer without a status."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import requests
import urllib3

from target_health.canaries.records import Answer
from target_health.canaries.ways import Way

CHUNK = 64 * 1024
FAILURES = (requests.RequestException, urllib3.exceptions.HTTPError, OSError, ValueError)
TOO_MANY = "more redirects than allowed"


class RouteSession(requests.Session):
    """A session of one route: only its own proxy and headers, whatever the environment says."""

    def __init__(self, way: Way, max_redirects: int) -> None:
        super().__init__()
        self.trust_env = False
        self.max_redirects = max_redirects
        self.verify = way.route.ca_file or way.route.verify_tls
        self.headers.update(way.headers)
        if way.proxy:
            self.proxies = {"http": way.proxy, "https": way.proxy}
        self._secret_headers = way.secret_headers

    def rebuild_auth(self, prepared_request: Any, response: Any) -> None:
        """Keep the route's secrets from a host that a site sends us to."""
        super().rebuild_auth(prepared_request, response)
        if urlsplit(prepared_request.url).hostname != urlsplit(response.request.url).hostname:
            for name in list(prepared_request.headers):
                if name.lower() in self._secret_headers:
                    del prepared_request.headers[name]


def fetch(session: requests.Session, url: str, *, timeout_s: float, max_bytes: int) -> Answer:
    """GET a URL. Never raises; texts of exceptions, which name proxies, are not kept.

    ``timeout_s`` bounds each wait, and the whole body by the clock: one that drips is cut off.
    """
    began = time.monotonic()
    try:
        with session.get(url, timeout=timeout_s, stream=True) as response:
            body, whole = _body(response, began + timeout_s, max_bytes)
            if not whole:
                return _failed(began, "timeout", "the body took too long", response.url)
            return Answer(
                status=response.status_code,
                body=body,
                headers=_plain(response.headers),
                final_url=response.url,
                latency_ms=_since(began),
            )
    except FAILURES as problem:
        word, detail = told_failure(problem)
        return _failed(began, word, detail)


def _body(response: requests.Response, until: float, max_bytes: int) -> tuple[bytes, bool]:
    """The body so far as it is kept, and whether it came in time."""
    parts: list[bytes] = []
    size = 0
    while size < max_bytes:
        if time.monotonic() > until:
            return b"", False
        # At most one wait for the network each: a full read would wait for every byte of a drip.
        part = response.raw.read1(CHUNK, decode_content=True)
        if not part:
            break
        parts.append(part)
        size += len(part)
    return b"".join(parts)[:max_bytes], True


def _failed(began: float, error: str, detail: str, final_url: str = "") -> Answer:
    return Answer(error=error, detail=detail, latency_ms=_since(began), final_url=final_url)


def _since(began: float) -> float:
    return round(1000 * (time.monotonic() - began), 1)


def _plain(headers: Mapping[str, str]) -> dict[str, str]:
    return {str(name): str(value) for name, value in headers.items()}


def told_failure(problem: BaseException) -> tuple[str, str]:
    """The crawl log's word for a failure, and the kind of exception; never its text."""
    kind = type(problem).__name__
    chain = list(_causes(problem))
    for types, word in _WORDS:
        if any(isinstance(one, types) for one in chain):
            return word, kind
    if isinstance(problem, requests.TooManyRedirects):
        return "other", TOO_MANY
    return "other", kind


#: In the order in which they count: a proxy's failure is wrapped in a connection's.
_WORDS: tuple[tuple[tuple[type[BaseException], ...], str], ...] = (
    ((requests.exceptions.ProxyError, urllib3.exceptions.ProxyError), "proxy"),
    ((urllib3.exceptions.NameResolutionError,), "dns"),
    ((requests.exceptions.SSLError, urllib3.exceptions.SSLError), "tls"),
    # urllib3 counts a refused connection among the time-outs.
    ((ConnectionRefusedError,), "other"),
    ((requests.exceptions.Timeout, urllib3.exceptions.TimeoutError, TimeoutError), "timeout"),
    ((ConnectionResetError, ConnectionAbortedError), "connection_reset"),
    ((urllib3.exceptions.IncompleteRead, requests.exceptions.ChunkedEncodingError), "aborted"),
)


def _causes(problem: BaseException) -> Any:
    """An exception and what it was made of, wherever the libraries put that."""
    pending: list[BaseException] = [problem]
    seen: set[int] = set()
    while pending:
        one = pending.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        inner = [*one.args, one.__cause__, one.__context__, getattr(one, "reason", None)]
        pending.extend(each for each in inner if isinstance(each, BaseException))
