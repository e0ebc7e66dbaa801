"""``canaries.yaml``: pages whose values are known, and how they are fetched and judged."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from target_health.config.files import Section, validated, with_defaults
from target_health.config.scoring import Number, Positive, Share, a_number
from target_health.config.selectors import compile_selector
from target_health.config.sites import normal_host
from target_health.errors import ConfigurationError

NAME = "canaries.yaml"

#: What a check looks at; each check names exactly one.
SUBJECTS = (
    "css",
    "xpath",
    "jsonpath",
    "regex",
    "header",
    "title",
    "status",
    "size",
    "contains",
    "absent",
    "structure",
)
#: Subjects that give values, of which an expectation says what they must be.
SELECTORS = ("css", "xpath", "jsonpath", "regex", "header")
EXPECTATIONS = ("equals", "one_of", "number", "range", "count", "present")

PERCENT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*%\s*")
PAGE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")

Scalar = str | bool | int | float
Seconds = Annotated[float, BeforeValidator(a_number), Field(gt=0, allow_inf_nan=False)]
Delay = Annotated[float, BeforeValidator(a_number), Field(ge=0, allow_inf_nan=False)]
Bounds = Annotated[tuple[Number, Number], Field(description="least and most")]


class Check(Section):
    """One thing that is known of a page: what to look at, and what must be there.

    ``subject`` and ``expectation`` name the two keys in use. ``name`` is unique on its page.
    """

    name: str = ""
    css: str | None = None
    xpath: str | None = None
    jsonpath: str | None = None
    regex: str | None = None
    header: str | None = None
    title: str | tuple[str, ...] | None = None
    status: int | tuple[int, ...] | None = None
    size: Bounds | None = None
    contains: str | None = None
    absent: str | None = None
    structure: Literal["unchanged"] | None = None

    equals: Scalar | tuple[Scalar, ...] | None = None
    one_of: tuple[Scalar, ...] | None = None
    number: Number | None = None
    tolerance: Number | str = 0.0
    range: Bounds | None = None
    count: Annotated[int, Field(ge=0)] | tuple[int, int] | None = None
    present: Literal[True] | None = None

    @model_validator(mode="after")
    def one_subject_and_what_it_must_be(self) -> Check:
        subjects = [name for name in SUBJECTS if getattr(self, name) is not None]
        if len(subjects) != 1:
            raise ValueError(f"a check names exactly one of {', '.join(SUBJECTS)}")
        expected = [name for name in EXPECTATIONS if getattr(self, name) is not None]
        if subjects[0] in SELECTORS:
            if len(expected) != 1:
                raise ValueError(
                    f"a check of {subjects[0]} says exactly one of {', '.join(EXPECTATIONS)}"
                )
        elif expected:
            raise ValueError(f"{subjects[0]} takes no {expected[0]}: its own value says it")
        if "tolerance" in self.model_fields_set and self.number is None:
            raise ValueError("tolerance goes with number")
        self._refuse_bad_values()
        return self

    def _refuse_bad_values(self) -> None:
        if self.subject in SELECTORS:
            compile_selector(self.subject, getattr(self, self.subject))
        for name in ("contains", "absent"):
            if getattr(self, name) is not None and not getattr(self, name).strip():
                raise ValueError(f"{name}: must not be empty")
        for name in ("size", "range", "count"):
            bounds = getattr(self, name)
            if isinstance(bounds, tuple) and bounds[0] > bounds[1]:
                raise ValueError(f"{name}: the least {bounds[0]:g} is above the most {bounds[1]:g}")
        if isinstance(self.tolerance, str) and not PERCENT.fullmatch(self.tolerance):
            raise ValueError("tolerance: a number, or a share such as 5%")
        if isinstance(self.tolerance, float) and self.tolerance < 0:
            raise ValueError("tolerance: must not be negative")

    @cached_property
    def subject(self) -> str:
        return next(name for name in SUBJECTS if getattr(self, name) is not None)

    @cached_property
    def expectation(self) -> str:
        """The key that says what must be there; the subject itself where it says so."""
        if self.subject not in SELECTORS:
            return self.subject
        return next(name for name in EXPECTATIONS if getattr(self, name) is not None)

    @property
    def label(self) -> str:
        """The name that results are stored under."""
        if self.name:
            return self.name
        if self.subject in SELECTORS:
            told = f"{self.subject} {getattr(self, self.subject)}"
            return f"{told} count" if self.expectation == "count" else told
        if self.subject in ("contains", "absent"):
            return f"{self.subject} {getattr(self, self.subject)}"
        return self.subject

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Least and most of a range, a count or a size."""
        given = {"range": self.range, "count": self.count, "size": self.size}.get(self.expectation)
        if given is None:
            return None
        return given if isinstance(given, tuple) else (given, given)

    def tolerated(self) -> float:
        """How far a number may be off, in its own unit."""
        if self.number is None:
            return 0.0
        share = PERCENT.fullmatch(self.tolerance) if isinstance(self.tolerance, str) else None
        if share:
            return abs(self.number) * float(share[1]) / 100
        return float(self.tolerance)


class CanaryPage(Section):
    """One page. ``missing``: a URL that must not exist, whose answer is learned.

    ``routes`` names routes of ``routes.yaml``; the first is the production's, the others are for
    comparison. None: the site's. ``fetched_by: crawler``: the crawler makes the fetch itself and
    logs it with ``canary: ID`` and the body.
    """

    id: str
    url: str = Field(min_length=1)
    missing: bool = False
    fetched_by: Literal["target_health", "crawler"] = "target_health"
    routes: tuple[str, ...] | None = None
    checks: tuple[Check, ...] = ()

    @field_validator("id")
    @classmethod
    def plain_id(cls, value: str) -> str:
        if not PAGE_ID.fullmatch(value):
            raise ValueError("must be letters, digits, '.', '_' and '-', at most 100")
        return value

    @field_validator("url")
    @classmethod
    def whole_url(cls, value: str) -> str:
        if not re.match(r"https?://[^/\s]+", value):
            raise ValueError("must be a whole URL that begins with http:// or https://")
        return value

    @model_validator(mode="after")
    def checks_fit(self) -> CanaryPage:
        if self.missing and self.checks:
            raise ValueError("a page that is missing takes no checks: its answer is learned")
        if not self.missing and not self.checks:
            raise ValueError("needs checks, or missing: true")
        labels = [check.label for check in self.checks]
        twice = next((label for label in labels if labels.count(label) > 1), None)
        if twice:
            raise ValueError(f"two checks are named {twice!r}: give one of them a name")
        return self


class SiteCanaries(Section):
    """The canaries of one site, and the routes they are fetched through."""

    routes: tuple[str, ...] | None = None
    robots: Literal["obey", "ignore"] | None = None
    pages: tuple[CanaryPage, ...] = ()

    @model_validator(mode="after")
    def ids_are_unique(self) -> SiteCanaries:
        ids = [page.id for page in self.pages]
        twice = next((name for name in ids if ids.count(name) > 1), None)
        if twice:
            raise ValueError(f"the id {twice!r} stands twice")
        return self


class Fetching(Section):
    """How a run fetches: times in seconds of the clock, sizes in bytes."""

    timeout_s: Seconds
    deadline_s: Seconds
    concurrency: Positive
    host_delay_s: Delay
    max_bytes: Positive
    max_redirects: Positive
    robots: Literal["obey", "ignore"]
    robots_keep_hours: Delay


class CanaryRules(Section):
    """When a site is called deceived, and what counts as the same."""

    wrong_runs: Positive
    wrong_share: Share
    wrong_pages: Positive
    fresh_hours: Seconds
    keep_days: Positive
    structure_share: Share
    probe_size_share: Share


class Canaries(Section):
    """All of ``canaries.yaml``."""

    fetching: Fetching
    rules: CanaryRules
    sites: dict[str, SiteCanaries] = {}

    def pages(self) -> Iterator[tuple[str, CanaryPage]]:
        """Every site's pages, in the order of the file."""
        for site, entry in self.sites.items():
            for page in entry.pages:
                yield site, page

    def page(self, site: str, page_id: str) -> CanaryPage | None:
        entry = self.sites.get(site)
        return next((page for page in entry.pages if page.id == page_id), None) if entry else None

    def obeys_robots(self, site: str) -> bool:
        entry = self.sites.get(site)
        return ((entry.robots if entry else None) or self.fetching.robots) == "obey"


def load_canaries(directory: Path) -> Canaries:
    """``canaries.yaml`` over the shipped one; ``ConfigurationError`` in one line."""
    path = directory / NAME
    content: dict[str, Any] = with_defaults(NAME, directory)
    raw = content.get("sites") or {}
    if not isinstance(raw, dict):
        raise ConfigurationError(f"{path}: sites: must be a mapping of site names to canaries")
    sites: dict[str, Any] = {}
    for name, entry in raw.items():
        site = normal_host(str(name))
        if site in sites:
            raise ConfigurationError(f"{path}: sites.{name}: stands twice (as {site})")
        sites[site] = {} if entry is None else entry
    return validated(Canaries, {**content, "sites": sites}, path)
