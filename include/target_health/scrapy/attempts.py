"""The middleware beside the downloader: each attempt becomes a row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.exceptions import IgnoreRequest
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.httpobj import urlparse_cached

from target_health.crawl_log import Page
from target_health.crawl_log.errors import error_word
from target_health.crawl_log.fields import attempt_row, is_web, without_user
from target_health.scrapy.obedience import SiteHalted
from target_health.scrapy.watch import Watch, watch_of

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response


class Attempts:
    """Rows of responses wait for the spider's item; those of failures are written at once."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Attempts:
        return cls(watch_of(crawler))

    def process_request(self, request: Request) -> Request | None:
        """A last look at the control, for requests that waited between the gate and here."""
        return self._watch.turned_back(request)

    def process_response(self, request: Request, response: Response) -> Response:
        if "cached" not in response.flags and is_web(request.url):
            try:
                self._answered(request, response)
            except Exception as problem:  # the log never stops a crawl
                self._watch.trouble(problem)
        return response

    def process_exception(self, request: Request, exception: Exception) -> Request | None:
        if isinstance(exception, SiteHalted):
            return self._watch.turned_back(request)
        if isinstance(exception, IgnoreRequest):
            # A middleware's decision: nothing was sent.
            self._watch.settled(request)
        elif is_web(request.url):
            try:
                self._failed(request, exception)
            except Exception as problem:
                self._watch.trouble(problem)
        return None

    def _answered(self, request: Request, response: Response) -> None:
        self._watch.settled(request)
        if self._watch.rows is None:
            return
        row = row_of(request)
        row["status"] = response.status
        latency = request.meta.get("download_latency")
        if latency is not None:
            row["latency_ms"] = round(latency * 1000, 1)
        if response.url != request.url:
            row["final_url"] = without_user(response.url)
        waits = request.callback is not NO_CALLBACK
        self._watch.rows.answered(request, row, page_of(response), waits=waits)

    def _failed(self, request: Request, exception: Exception) -> None:
        self._watch.settled(request)
        if self._watch.rows is None:
            return
        row = row_of(request)
        row["status"] = None
        row["error"] = error_word(exception, proxied=bool(request.meta.get("proxy")))
        if row["error"] == "timeout" and request.meta.get("download_timeout"):
            row["latency_ms"] = round(float(request.meta["download_timeout"]) * 1000, 1)
        self._watch.rows.failed(row)


def page_type_of(request: Request) -> str | None:
    """``meta["page_type"]``, else the callback's name without ``parse_``."""
    given = request.meta.get("page_type")
    if given:
        return str(given)
    if request.callback is NO_CALLBACK:
        robots = urlparse_cached(request).path == "/robots.txt"
        return "robots" if robots else "direct"
    name = getattr(request.callback, "__name__", "").strip("_")
    if name.startswith("parse"):
        name = name.removeprefix("parse").strip("_")
    return name if name.isidentifier() else None


def row_of(request: Request) -> dict[str, Any]:
    """What is known of an attempt without its outcome."""
    meta = request.meta
    row = attempt_row(request.url, meta, meta.get("proxy"))
    page_type = page_type_of(request)
    if page_type is not None:
        row["page_type"] = page_type
    if isinstance(meta.get("credits"), int | float):
        row["credits"] = meta["credits"]
    return row


def page_of(response: Response) -> Page:
    """The response as it came; encodings are removed where it is looked at."""
    headers = tuple(
        (name, value) for name, values in response.headers.items() for value in values or ()
    )
    encodings: tuple[str, ...] = ()
    if b"Content-Encoding" in response.headers:
        named = b",".join(response.headers.getlist(b"Content-Encoding")).decode("latin-1")
        encodings = tuple(part.strip().lower() for part in named.split(",") if part.strip())
    return Page(response.body, headers, encodings)
