"""Rows of responses: kept until it is known what their callback brought, then written."""

from __future__ import annotations

import weakref
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from target_health.crawl_log import CrawlLog, Page
from target_health.scrapy.extraction import UNDECIDED, Extraction, Outcome

if TYPE_CHECKING:
    from scrapy import Request

#: Pages whose rows are kept back until their page type brings an item.
MOST_UNDECIDED = 50


@dataclass(slots=True)
class Waiting:
    """A response's row until its callback has ended; whether it was called.

    ``request`` writes the row when its request is gone.
    """

    row: dict[str, Any]
    page: Page
    request: weakref.ref[Request]
    called: bool = False


class Rows:
    """The rows of one spider's run."""

    def __init__(self, log: CrawlLog, extraction: Extraction) -> None:
        self._log, self._extraction = log, extraction
        #: By the identity of their request.
        self._open: dict[int, Waiting] = {}
        #: Pages that brought nothing, whose page type has not brought an item yet.
        self._undecided: deque[Waiting] = deque()

    def answered(self, request: Request, row: dict[str, Any], page: Page, *, waits: bool) -> None:
        """A response came. Its row waits for what the callback extracts, but at most as long as
        its request is alive: one that is retried or redirected never reaches a callback."""
        if not waits:
            self._log.write(row, page=page)
            return
        key = id(request)
        self._left(key)
        self._open[key] = Waiting(row, page, weakref.ref(request, lambda _: self._left(key)))

    def failed(self, row: dict[str, Any]) -> None:
        """An attempt brought no response."""
        self._log.write(row)

    def called(self, request: Request | None) -> None:
        """A response is about to go to its callback."""
        waiting = None if request is None else self._open.get(id(request))
        if waiting is not None:
            waiting.called = True

    def extracted(self, request: Request | None, outcome: Outcome) -> None:
        """A callback has ended."""
        waiting = None if request is None else self._open.pop(id(request), None)
        if request is None or waiting is None:
            return
        row, page = waiting.row, waiting.page
        if not waiting.called and not outcome.items:  # an error page, that an errback may have seen
            self._log.write(row, page=page)
            return
        page_type = row.get("page_type")
        item = self._extraction.item_of(page_type, outcome, request.meta.get("expects_item"))
        if item is UNDECIDED:
            self._undecided.append(waiting)
            if len(self._undecided) > MOST_UNDECIDED:
                self._write(self._undecided.popleft())
            return
        if outcome.items:
            self._decide(page_type)
        self._log.write(row, item=item, page=page)

    def close(self) -> None:
        """Write what still waits."""
        for key in list(self._open):
            self._left(key)
        while self._undecided:
            self._write(self._undecided.popleft())
        self._extraction.save()

    def _decide(self, page_type: str | None) -> None:
        """A page type brings items: those of its pages that brought nothing were tried in vain."""
        undecided, self._undecided = self._undecided, deque()
        for waiting in undecided:
            if waiting.row.get("page_type") == page_type:
                self._log.write(waiting.row, item=None, page=waiting.page)
            else:
                self._undecided.append(waiting)

    def _left(self, key: int) -> None:
        """A request has gone, or will not come to a callback: its row has no item."""
        waiting = self._open.pop(key, None)
        if waiting is not None:
            self._write(waiting)

    def _write(self, waiting: Waiting) -> None:
        self._log.write(waiting.row, page=waiting.page)
