"""What follows from the bands: pure functions from evidence and states to decisions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from target_health.config.policy import Mode, Policy
from target_health.config.sites import Sites
from target_health.decisions.modes import mode_of
from target_health.decisions.orders import orders
from target_health.decisions.records import (
    SYSTEM,
    Action,
    AutomaticKind,
    Course,
    Decisions,
    FuseBlown,
    SiteEvidence,
    SiteState,
    StateName,
)
from target_health.times import HOUR, iso

# A fuse names this many of its sites in its line; `acting_runs` holds them all.
NAMED_IN_A_LINE = 10


def decide(
    evidence: Iterable[SiteEvidence],
    states: Mapping[str, SiteState],
    policy: Policy,
    sites: Sites,
    run_end: datetime,
) -> Decisions:
    """What to do about each site as of ``run_end``: at most one action a site, none upwards.

    ``states`` are those of every known site by name; a site without one is new and active, a site
    without evidence is unscored. Deciding a run again decides the same until its actions are
    carried out, and nothing for the sites that they were carried out on.
    """
    known = {row.site: row for row in evidence}
    fleet = sum(row.scored_lately for row in known.values())
    seen: list[SiteState] = []
    moves: dict[str, tuple[SiteState, SiteEvidence, Mode, AutomaticKind]] = {}
    refusing: set[str] = set()
    for site in sorted({*known, *states}):
        row = known.get(site) or SiteEvidence(site, "unscored", scored_lately=False)
        mode = mode_of(policy, sites, site)
        before = states.get(site) or SiteState(site, Course(since=run_end))
        if before.last_run_end is not None and run_end < before.last_run_end:
            seen.append(before)
            continue
        state = learned(before, row, mode, sites, run_end)
        seen.append(state)
        course = state.course(mode)
        if course.refused_run_end == run_end:
            refusing.add(site)
        kind = next_move(course, row, policy, run_end)
        if kind is not None:
            moves[site] = (state, row, mode, kind)
    pausing = {site for site, (*_, kind) in moves.items() if kind == "pause"}
    refusing |= pausing
    blown = (
        bool(pausing)
        and len(refusing) >= policy.fuse_sites
        and len(refusing) > policy.fuse_fleet_share * fleet
    )
    actions: list[Action] = []
    for state, row, mode, kind in moves.values():
        if blown and kind == "pause":
            if state.course(mode).step < policy.max_steps:
                actions.append(automatic_action(state, row, mode, "slow_down", run_end, fuse=True))
        else:
            actions.append(automatic_action(state, row, mode, kind, run_end))
    fuse = None
    if blown:
        applied = any(moves[site][2] == "act" for site in pausing)
        fuse = FuseBlown(run_end, tuple(sorted(refusing)), fleet, applied)
        actions.append(fuse_action(fuse, policy.mode))
    return Decisions(run_end, tuple(actions), fuse, tuple(seen), fleet)


def learned(
    state: SiteState, row: SiteEvidence, mode: Mode, sites: Sites, run_end: datetime
) -> SiteState:
    """The state with what a run teaches without acting: the healthy row, the mode, the normals."""
    entry = sites.entry(state.site)
    healthy = row.band == "healthy" and not row.delivery_low
    shadow = None if mode == "act" else with_streak(state.course(mode), healthy, run_end)
    return replace(
        state,
        real=with_streak(state.real, healthy, run_end),
        shadow=shadow,
        normal_concurrency=entry.concurrency,
        normal_revisit_interval_s=entry.revisit_interval_s,
        last_run_end=run_end,
    )


def with_streak(course: Course, healthy: bool, run_end: datetime) -> Course:
    """The course with its row of healthy runs begun, kept or broken."""
    if not healthy or course.halted:
        return replace(course, healthy_since=None)
    return replace(course, healthy_since=course.healthy_since or run_end)


def next_move(
    course: Course, row: SiteEvidence, policy: Policy, run_end: datetime
) -> AutomaticKind | None:
    """The one step that the evidence asks of a course, or None."""
    if course.halted or row.band == "unscored":
        return None
    if row.band == "healthy" and not row.delivery_low:
        return "restore" if may_restore(course, policy, run_end) else None
    # No run acts twice on a site, and none on what was known at a human's decision.
    if course.evidence_from is not None and run_end <= course.evidence_from:
        return None
    if row.band == "resisting" and row.fresh_band == "resisting":
        return "pause"
    worse = row.band != "healthy" and row.fresh_band in ("degraded", "resisting")
    undelivered = row.delivery_low and row.fresh_delivery_low
    return "slow_down" if (worse or undelivered) and course.step < policy.max_steps else None


def may_restore(course: Course, policy: Policy, run_end: datetime) -> bool:
    """Whether a slowed course has been healthy for long enough to come up a step."""
    if course.step == 0 or course.healthy_since is None:
        return False
    if course.acted_run_end is not None and run_end - course.acted_run_end < HOUR:
        return False
    return run_end - course.healthy_since >= (policy.restore_after_healthy_runs - 1) * HOUR


def automatic_action(
    state: SiteState,
    row: SiteEvidence,
    mode: Mode,
    kind: AutomaticKind,
    run_end: datetime,
    *,
    fuse: bool = False,
) -> Action:
    """The action of one site; ``fuse`` marks a step that stands for a pause."""
    course = state.course(mode)
    step = course.step + {"slow_down": 1, "restore": -1, "pause": 0}[kind]
    to_state: StateName = "paused" if kind == "pause" else "slowed" if step else "active"
    order = orders(to_state, step)
    reasons = () if kind == "restore" else row.reasons
    if kind == "slow_down" and row.delivery_low and "delivery" not in reasons:
        reasons = (*reasons, "delivery")
    return Action(
        action_id=f"{iso(run_end)}/{kind}/{mode}/{state.site}",
        site=state.site,
        decided_at=run_end,
        run_end=run_end,
        kind=kind,
        from_state=course.state,
        to_state=to_state,
        from_step=course.step,
        to_step=step,
        concurrency_factor=order.concurrency_factor,
        revisit_factor=order.revisit_factor,
        reasons=("fuse", *reasons) if fuse else reasons,
        decided_by=SYSTEM,
        why=reason_in_words(course, row, kind, fuse),
        applied=mode == "act",
        mode=mode,
    )


def reason_in_words(course: Course, row: SiteEvidence, kind: AutomaticKind, fuse: bool) -> str:
    """One plain clause for the history."""
    if kind == "restore" and course.healthy_since is not None:
        return f"healthy since the run up to {iso(course.healthy_since)}"
    score = "" if row.smoothed_score is None else f", smoothed score {row.smoothed_score:.0f}"
    what = "delivery fell" if row.band == "healthy" else f"{row.band}{score}"
    if row.owner == "route":
        what += f", without what took the failing {row.diagnosis}"
    return f"{what}; slowed instead of paused because the fuse blew" if fuse else what


def fuse_action(fuse: FuseBlown, mode: Mode) -> Action:
    """The record that the trouble is probably ours."""
    named = ", ".join(fuse.sites[:NAMED_IN_A_LINE])
    more = len(fuse.sites) - NAMED_IN_A_LINE
    return Action(
        action_id=f"{iso(fuse.run_end)}/fuse",
        site=None,
        decided_at=fuse.run_end,
        run_end=fuse.run_end,
        kind="fuse",
        from_state=None,
        to_state=None,
        from_step=None,
        to_step=None,
        concurrency_factor=None,
        revisit_factor=None,
        reasons=("fuse",),
        decided_by=SYSTEM,
        why=(
            f"{len(fuse.sites)} of {fuse.fleet} sites would have paused in one run, so the trouble "
            f"is probably ours: {named}{f' and {more} more' if more > 0 else ''}"
        ),
        applied=fuse.applied,
        mode=mode,
    )
