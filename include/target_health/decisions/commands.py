"""What a human decides: pause and resume, with who, why and when."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import duckdb

from target_health.config import Configuration
from target_health.config.policy import Policy
from target_health.config.sites import normal_host
from target_health.decisions.courses import human_pause, human_resume
from target_health.decisions.modes import mode_of
from target_health.decisions.records import SYSTEM, Action, Course, Mandate, SiteState
from target_health.decisions.runs import last_acted
from target_health.decisions.storage import (
    add_actions,
    load_states,
    rows_of,
    save_states,
)
from target_health.errors import UsageError
from target_health.times import iso
from target_health.warehouse.transactions import transaction


@dataclass(frozen=True, slots=True)
class HumanDecision:
    """What a command changed, and for each site that it left alone a clause that says why.

    A command for all sites names only the stopped ones that it left.
    """

    actions: tuple[Action, ...]
    unchanged: tuple[tuple[str, str], ...]


def pause_sites(
    con: duckdb.DuckDBPyConnection,
    configuration: Configuration,
    sites: Sequence[str] | None,
    *,
    by: str,
    why: str,
    now: datetime,
    since: datetime | None = None,
) -> HumanDecision:
    """Pause the named sites, or every known one (``None``), until a human resumes them.

    ``since`` keeps to sites whose present state began at or after it. A site that is paused or
    stopped already is left. Raises ``UsageError``, and changes nothing, for an unknown site or
    when who or why is missing.
    """

    policy = configuration.policy
    mandate = mandate_of(con, policy, by, why, now)

    def move(state: SiteState) -> tuple[SiteState, Action] | str:
        refusal = too_old(state.real, since)
        if refusal:
            return refusal
        mode = mode_of(policy, configuration.sites, state.site)
        already = f"is {state.real.state} already{since_words(state.real)}"
        return human_pause(state, mode, mandate) or already

    return decide_for(con, configuration, sites, move)


def resume_sites(
    con: duckdb.DuckDBPyConnection,
    configuration: Configuration,
    sites: Sequence[str] | None,
    *,
    by: str,
    why: str,
    now: datetime,
    since: datetime | None = None,
    step: int | None = None,
) -> HumanDecision:
    """Resume the named sites, or every paused one (``None``).

    A site that the system paused comes back at the lowest step and is restored step by step; one
    that a human paused comes back at the step it had; ``step`` (0 is the normal) overrides both.
    A stopped site is resumed only by its name. ``since`` as for ``pause_sites``. Raises
    ``UsageError``, and changes nothing, for an unknown site, a step that is none, or when who or
    why is missing.
    """
    policy = configuration.policy
    mandate = mandate_of(con, policy, by, why, now)
    slowest = policy.max_steps
    if step is not None and not 0 <= step <= slowest:
        raise UsageError(f"step: must be 0 (normal) to {slowest} (slowest), not {step}")

    def move(state: SiteState) -> tuple[SiteState, Action] | str:
        mode = mode_of(policy, configuration.sites, state.site)
        course = state.real if state.real.halted else state.course(mode)
        if not course.halted:
            return f"is not paused but {course.state}"
        if sites is None and "stopped" in (state.real.state, course.state):
            return "is stopped: resume it by its name"
        return too_old(course, since) or (
            human_resume(state, mode, mandate, slowest=slowest, step=step) or "is not paused"
        )

    return decide_for(con, configuration, sites, move)


def mandate_of(
    con: duckdb.DuckDBPyConnection, policy: Policy, by: str, why: str, now: datetime
) -> Mandate:
    """Who decides and why; ``UsageError`` when either is missing.

    Where the runs are far behind the clock, as when a past is replayed, their time is the present:
    by the clock nothing that they bring would ever be newer than the decision.
    """
    if not by.strip() or not why.strip():
        raise UsageError("say who decides and why: --by NAME --why TEXT")
    if by.strip() == SYSTEM:
        raise UsageError(f"--by: {SYSTEM} is the system's own name; give the name of a person")
    acted = last_acted(con)
    behind = acted is not None and now - acted > timedelta(hours=policy.act_within_hours)
    return Mandate(by.strip(), why.strip(), now, acted if acted is not None and behind else now)


def decide_for(
    con: duckdb.DuckDBPyConnection,
    configuration: Configuration,
    names: Sequence[str] | None,
    move: Callable[[SiteState], tuple[SiteState, Action] | str],
) -> HumanDecision:
    """Move each site and record it, in one transaction; a text from ``move`` leaves it."""
    known = known_sites(con, configuration)
    chosen = sorted(known) if names is None else chosen_sites(names, known, configuration)
    actions: list[Action] = []
    moved: list[SiteState] = []
    unchanged: list[tuple[str, str]] = []
    with transaction(con):
        states = load_states(con, chosen)
        for site in chosen:
            state = states.get(site) or SiteState(site)
            entry = configuration.sites.entry(site)
            outcome = move(
                replace(
                    state,
                    normal_concurrency=entry.concurrency,
                    normal_revisit_interval_s=entry.revisit_interval_s,
                )
            )
            if not isinstance(outcome, str):
                moved.append(outcome[0])
                actions.append(outcome[1])
            elif names is not None or state.real.state == "stopped":
                unchanged.append((site, outcome))
        save_states(con, moved)
        add_actions(con, actions)
    return HumanDecision(tuple(actions), tuple(unchanged))


def known_sites(con: duckdb.DuckDBPyConnection, configuration: Configuration) -> set[str]:
    """Sites with a state or a window, and those that ``sites.yaml`` names."""
    rows = rows_of(con, "SELECT site FROM site_state UNION SELECT site FROM site_windows")
    return {row["site"] for row in rows} | set(configuration.sites.entries)


def chosen_sites(names: Sequence[str], known: set[str], configuration: Configuration) -> list[str]:
    """The sites meant by names or hosts, each once; ``UsageError`` names all that are unknown."""
    chosen: dict[str, None] = {}
    problems: list[str] = []
    for name in names:
        host = normal_host(name)
        candidates = (name, host, configuration.sites.site_of(host))
        site = next((candidate for candidate in candidates if candidate in known), None)
        if site is not None:
            chosen[site] = None
            continue
        close = difflib.get_close_matches(host, sorted(known), n=3)
        problems.append(f"{name!r}" + (f" (close: {', '.join(close)})" if close else ""))
    if problems:
        plural = "s" if len(problems) > 1 else ""
        raise UsageError(f"unknown site{plural} {', '.join(problems)}; nothing was changed")
    if not chosen:
        raise UsageError("name a site, or take them all with --all")
    return list(chosen)


def too_old(course: Course, since: datetime | None) -> str:
    """Why ``since`` leaves a course out, or nothing."""
    if since is None or (course.since is not None and course.since >= since):
        return ""
    return f"has been {course.state} for longer{since_words(course)}"


def since_words(course: Course) -> str:
    return f", since {iso(course.since)}" if course.since else ""
