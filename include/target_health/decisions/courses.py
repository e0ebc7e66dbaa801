"""How a site's state moves: by a planned action, by a human's pause, by a human's resume."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from target_health.config.policy import Mode
from target_health.decisions.orders import orders
from target_health.decisions.records import (
    LAST_STEP,
    Action,
    Course,
    Decisions,
    Kind,
    Mandate,
    SiteState,
    StateName,
)
from target_health.times import iso

HUMAN = "human"


def states_after(decisions: Decisions) -> dict[str, SiteState]:
    """Every site's state once all actions are carried out."""
    states = {state.site: state for state in decisions.states}
    for action in decisions.actions:
        if action.site is not None:
            states[action.site] = after(states[action.site], action)
    return states


def after(state: SiteState, action: Action) -> SiteState:
    """The state once an automatic action is carried out on the course that it was decided for."""
    if action.to_state is None or action.to_step is None or action.run_end is None:
        raise ValueError(f"{action.kind} is no automatic action on a site")
    before = state.course(action.mode)
    reasons = action.reasons
    if action.kind == "restore":
        reasons = before.reasons if action.to_step else ()
    refused = action.kind == "pause" or "fuse" in action.reasons
    moved = replace(
        before,
        state=action.to_state,
        step=action.to_step,
        since=action.run_end if action.to_state != before.state else before.since,
        reasons=reasons,
        evidence_from=later(before.evidence_from, action.run_end),
        healthy_since=before.healthy_since if action.kind == "restore" else None,
        acted_run_end=action.run_end,
        refused_run_end=action.run_end if refused else before.refused_run_end,
    )
    return with_course(state, action.applied, moved)


def with_course(state: SiteState, applied: bool, course: Course) -> SiteState:
    """The state with its real course, or only its shadow, exchanged."""
    revision = state.revision + 1
    if applied:
        return replace(state, real=course, revision=revision)
    return replace(state, shadow=course, revision=revision)


def later(moment: datetime | None, other: datetime) -> datetime:
    return other if moment is None else max(moment, other)


def with_both_courses(state: SiteState, mode: Mode, move: Callable[[Course], Course]) -> SiteState:
    """The state with its real course moved by a human, and outside act mode its shadow too."""
    return replace(
        state,
        real=move(state.real),
        shadow=None if mode == "act" else move(state.course(mode)),
        revision=state.revision + 1,
    )


def held(course: Course, name: StateName, state: SiteState, mandate: Mandate) -> Course:
    """The course halted by a human."""
    return replace(
        course,
        state=name,
        since=mandate.at,
        reasons=(HUMAN, *(reason for reason in course.reasons if reason != HUMAN)),
        # Also when the clock jumps back, what a run has shown before is no news.
        evidence_from=later(state.last_run_end, mandate.present),
        healthy_since=None,
        paused_by_human=True,
    )


def human_pause(state: SiteState, mode: Mode, mandate: Mandate) -> tuple[SiteState, Action] | None:
    """Pause a site for a human; None when it is paused or stopped already."""
    before = state.real
    if before.halted:
        return None

    def paused(course: Course) -> Course:
        return course if course.halted else held(course, "paused", state, mandate)

    moved = with_both_courses(state, mode, paused)
    action = human_action(
        "human_pause", state, before, moved.real, mandate=mandate, mode=mode, applied=True
    )
    return moved, action


def human_stop(state: SiteState, mode: Mode, mandate: Mandate) -> tuple[SiteState, Action] | None:
    """Stop a site for good; None when it is stopped already. Only a human resumes it, by name."""
    before = state.real
    if before.state == "stopped":
        return None

    def stopped(course: Course) -> Course:
        return held(course, "stopped", state, mandate)

    moved = with_both_courses(state, mode, stopped)
    action = human_action(
        "human_stop", state, before, moved.real, mandate=mandate, mode=mode, applied=True
    )
    return moved, action


def human_resume(
    state: SiteState,
    mode: Mode,
    mandate: Mandate,
    *,
    slowest: int = LAST_STEP,
    step: int | None = None,
) -> tuple[SiteState, Action] | None:
    """Resume a halted site for a human; None when there is nothing to resume.

    A site that the system paused, or that a human stopped, comes back at ``slowest``; one that a
    human paused at the step it had before; ``step`` overrides both. In observe mode a site that
    would only have been paused has its shadow resumed, which is recorded as not applied.
    """

    def resumed(course: Course) -> Course:
        if not course.halted:
            return course
        by_human = course.state == "paused" and course.paused_by_human
        to_step = step if step is not None else course.step if by_human else slowest
        reasons = tuple(reason for reason in course.reasons if reason != HUMAN)
        return replace(
            course,
            state="slowed" if to_step else "active",
            step=to_step,
            since=mandate.at,
            reasons=reasons if to_step else (),
            evidence_from=later(state.last_run_end, mandate.present),
            healthy_since=None,
            paused_by_human=False,
        )

    applied = state.real.halted
    before = state.real if applied else state.course(mode)
    if not before.halted:
        return None
    moved = with_both_courses(state, mode, resumed)
    to = moved.real if applied else moved.course(mode)
    action = human_action(
        "human_resume", state, before, to, mandate=mandate, mode=mode, applied=applied
    )
    return moved, action


def human_action(
    kind: Kind,
    state: SiteState,
    before: Course,
    to: Course,
    *,
    mandate: Mandate,
    mode: Mode,
    applied: bool,
) -> Action:
    """The record of a human's decision; its id holds the revision, so that none is lost."""
    order = orders(to.state, to.step)
    return Action(
        action_id=f"{iso(mandate.at)}/{kind}/{state.revision}/{state.site}",
        site=state.site,
        decided_at=mandate.at,
        run_end=None,
        kind=kind,
        from_state=before.state,
        to_state=to.state,
        from_step=before.step,
        to_step=to.step,
        concurrency_factor=order.concurrency_factor,
        revisit_factor=order.revisit_factor,
        reasons=to.reasons,
        decided_by=mandate.by,
        why=mandate.why,
        applied=applied,
        mode=mode,
        incident_id=state.incident_id,
    )
