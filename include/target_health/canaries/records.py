"""What canaries are made of and what they say: frozen records, times in naive UTC."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from target_health.config.canaries import CanaryPage
from target_health.pages.response import NOT_ATTEMPTED

Outcome = Literal["pass", "wrong_value", "missing", "blocked", "challenged", "unknown"]
Via = Literal["fetch", "crawl_log"]

#: Outcomes of a page that came: they say something of its values.
TELLING = frozenset({"pass", "wrong_value", "missing"})
#: A page's outcome is the first of these that one of its checks has.
GRAVEST_FIRST: tuple[Outcome, ...] = (
    "wrong_value",
    "missing",
    "challenged",
    "blocked",
    "unknown",
    "pass",
)
#: The route of fetches that a crawler makes itself.
CRAWLER = "crawler"
#: The check that stands for a page as a whole: when it did not come, and a missing page's answer.
WHOLE_PAGE = "page"


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of one fetch. ``body`` is free of transfer and content encodings.

    ``error`` is a word of the crawl log where there is no ``status``, ``detail`` a few words more;
    ``final_url`` is that of the last redirect.
    """

    status: int | None = None
    error: str | None = None
    detail: str = ""
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    final_url: str = ""
    latency_ms: float | None = None
    item: object = NOT_ATTEMPTED
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One check of one fetch. ``expected`` and ``got`` are as people read them; ``value`` is what
    was got as JSON, to be accepted as the new expectation; ``detail`` says more where it helps.
    """

    check: str
    outcome: Outcome
    expected: str
    got: str | None = None
    value: str | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class PageFacts:
    """What is kept of an answer: enough to recognise it. ``skeleton``: hashes of its paths."""

    size: int = 0
    title: str | None = None
    text_length: int = 0
    content_hash: str | None = None
    text_hash: str | None = None
    skeleton: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Observation:
    """One canary seen once, through one route."""

    site: str
    page: str
    url: str
    observed_at: datetime
    route: str
    via: Via
    outcome: Outcome
    checks: tuple[CheckResult, ...]
    verdict: str
    status: int | None = None
    error: str | None = None
    evidence: tuple[str, ...] = ()
    final_url: str = ""
    latency_ms: float | None = None
    facts: PageFacts = PageFacts()


@dataclass(frozen=True, slots=True)
class Acceptance:
    """A person's word that a value rightly changed. ``expectation`` is the check as configured at
    that time: once ``canaries.yaml`` says something else, the acceptance is void.
    """

    site: str
    page: str
    check: str
    expectation: str
    old: str
    new: str
    accepted_at: datetime
    accepted_by: str
    why: str


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of one page beside its entry: accepted values by check, its skeleton."""

    accepted: Mapping[str, Acceptance] = field(default_factory=dict)
    skeleton: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Watch:
    """One page to look at through one route. ``is_production``: the route that crawls use."""

    site: str
    page: CanaryPage
    route: str
    is_production: bool
