"""How each canary stands, moved on by each observation. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from target_health.canaries.records import TELLING, Observation

Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class PageState:
    """One canary through one route.

    ``newest_*`` is the last observation, ``told_*`` the last one of a page that came.
    ``wrong_runs`` counts wrong values in a row among the latter, from ``wrong_since``;
    ``last_good_at`` is when all was right, or a person said so. ``good_*`` is what the last right
    answer looked like.
    """

    site: str
    page: str
    route: str
    is_production: bool
    newest_at: datetime
    newest_outcome: str
    newest_detail: str = ""
    told_at: datetime | None = None
    told_outcome: str | None = None
    told_detail: str = ""
    wrong_runs: int = 0
    wrong_since: datetime | None = None
    last_good_at: datetime | None = None
    good_title: str | None = None
    good_content_hash: str | None = None
    good_text_hash: str | None = None

    @property
    def key(self) -> Key:
        return self.site, self.page, self.route


def advance(
    states: Mapping[Key, PageState],
    observations: Iterable[Observation],
    production: Mapping[tuple[str, str], str],
) -> dict[Key, PageState]:
    """The states that these observations change.

    ``production`` names the route that a page's crawls use. An observation that is not newer than
    what a state rests on changes nothing, so that a run recorded twice is recorded once.
    """
    changed: dict[Key, PageState] = {}
    for seen in sorted(observations, key=lambda one: one.observed_at):
        key = (seen.site, seen.page, seen.route)
        before = changed.get(key) or states.get(key)
        after = moved(before, seen, is_from_production(seen, production))
        if after != before:
            changed[key] = after
    return changed


def is_from_production(seen: Observation, production: Mapping[tuple[str, str], str]) -> bool:
    """Whether the crawl itself was shown this: a crawler's own fetch is production by itself,
    whatever it calls its route.
    """
    return seen.via == "crawl_log" or production.get((seen.site, seen.page)) == seen.route


def moved(before: PageState | None, seen: Observation, is_production: bool) -> PageState:
    if before is not None and seen.observed_at <= before.newest_at:
        return before
    detail = detail_of(seen)
    state = before or PageState(
        seen.site, seen.page, seen.route, is_production, seen.observed_at, seen.outcome
    )
    state = replace(
        state,
        is_production=is_production,
        newest_at=seen.observed_at,
        newest_outcome=seen.outcome,
        newest_detail=detail,
    )
    if seen.outcome not in TELLING:
        return state
    wrong = seen.outcome == "wrong_value"
    state = replace(
        state,
        told_at=seen.observed_at,
        told_outcome=seen.outcome,
        told_detail=detail,
        wrong_runs=state.wrong_runs + 1 if wrong else 0,
        wrong_since=(state.wrong_since or seen.observed_at) if wrong else None,
    )
    if seen.outcome != "pass":
        return state
    return replace(
        state,
        last_good_at=seen.observed_at,
        good_title=seen.facts.title,
        good_content_hash=seen.facts.content_hash,
        good_text_hash=seen.facts.text_hash,
    )


def accepted(state: PageState, at: datetime) -> PageState:
    """A person says that what the page shows is right: what was wrong before counts no more."""
    return replace(
        state,
        newest_outcome="pass",
        newest_detail="accepted",
        told_outcome="pass",
        told_detail="accepted",
        wrong_runs=0,
        wrong_since=None,
        last_good_at=at,
    )


def detail_of(seen: Observation) -> str:
    """What is not right, in a line: each check with what was expected and what came."""
    parts = []
    for check in seen.checks:
        if check.outcome != seen.outcome or check.outcome == "pass":
            continue
        if check.outcome in ("wrong_value", "missing"):
            came = f"got {check.got}" if check.got is not None else "not there"
            told = f"{check.check}: expected {check.expected}, {came}"
            parts.append(f"{told} ({check.detail})" if check.detail else told)
        elif check.detail:
            return check.detail
    return "; ".join(parts)
