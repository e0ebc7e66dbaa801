"""What pages are: frozen records, times in naive UTC."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Owner = Literal["crawl", "parser", "proxy"]
Cause = Literal[
    "new", "paused again", "worse", "unanswered", "asked again", "daily digest", "weekly digest"
]
PageState = Literal["waiting", "delivered", "observed"]

# An incident's owner and those who are paged for it: a route is the proxy owner's.
PAGED_OWNERS: dict[str, Owner] = {"crawl": "crawl", "parser": "parser", "route": "proxy"}


@dataclass(frozen=True, slots=True)
class Page:
    """One message to the people who own a trouble; ``worst_score`` is the incident's as of then."""

    page_id: str
    incident_id: str | None
    site: str | None
    owner: Owner
    cause: Cause
    title: str
    body: str
    queued_at: datetime
    worst_score: float | None = None
    state: PageState = "waiting"


@dataclass(frozen=True, slots=True)
class Situation:
    """What decides whether an incident calls for a person.

    ``paused_at`` is when the system paused the site (or, in observe mode, would have), None while
    it is not paused; ``answered_at`` is the newest human word about it and ``keep_until`` until
    when a person wants to hear no more. ``down`` says that the incident's route is down across
    sites and that no other incident has said so. ``pages`` are those of the incident so far,
    oldest first: when, and at which worst score.
    """

    paused_at: datetime | None = None
    answered_at: datetime | None = None
    keep_until: datetime | None = None
    down: bool = False
    pages: tuple[tuple[datetime, float | None], ...] = ()


@dataclass(frozen=True, slots=True)
class Target:
    """An address that pages go to: an Apprise URL, the owner whose pages it takes (None: all)."""

    url: str
    owner: Owner | None = None


@dataclass(frozen=True, slots=True)
class PagingReport:
    """What one step of paging did; ``notice`` is what has to be said loudly, once."""

    queued: int = 0
    delivered: int = 0
    failed: int = 0
    waiting: int = 0
    notice: str | None = None
    errors: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """What there is to say of it; nothing when there was nothing to do."""
        lines = [self.notice] if self.notice else []
        lines += [f"Not delivered: {error}" for error in self.errors]
        if self.queued or self.delivered or self.failed:
            lines.append(
                f"Pages: {self.queued} new, {self.delivered} delivered, {self.failed} failed, "
                f"{self.waiting} waiting."
            )
        return lines
