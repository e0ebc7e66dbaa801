"""When incidents open, go on and close: pure functions from standings to incidents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from target_health.config.policy import IncidentRules, Mode, Policy
from target_health.config.sites import Sites
from target_health.decisions.modes import mode_of
from target_health.decisions.records import SYSTEM, FuseBlown, SiteState
from target_health.incidents.records import (
    BAND_RANK,
    OWNERS,
    SITE_KINDS,
    Incident,
    Kind,
    Movement,
    Standing,
    incident_id,
)
from target_health.times import HOUR

Latest = Mapping[tuple[str | None, Kind], Incident]

# Movements kept of one incident: its first, and then the newest.
MOVEMENTS_KEPT = 200


def shows(kind: Kind, standing: Standing) -> bool | None:
    """Whether a site shows a trouble of this kind; None when the run cannot tell.

    Hostility is looked at first: while a site refuses, nothing is said of its delivery, its parser
    or its cost, which all follow from the refusal. What was known before the site's last action or
    a human's decision says nothing new.
    """
    unscored = standing.band == "unscored"
    refuses = standing.band in ("degraded", "resisting")
    stale = not standing.is_fresh
    low = standing.delivery_low
    answers: dict[Kind, bool | None] = {
        "hostility": None if unscored or (refuses and stale) else refuses,
        "deception": standing.deceived,
        "delivery": None if unscored or refuses or (low and stale) else low,
        "route": names_route(standing) or (None if unscored else False),
        "parser": None if refuses else standing.parser_low,
        "cost": None if refuses else standing.cost_high,
    }
    return answers[kind]


def names_route(standing: Standing) -> bool:
    return (standing.diagnosis or "").startswith("route:")


def follow_incidents(
    standings: Iterable[Standing],
    latest: Latest,
    states: Mapping[str, SiteState],
    policy: Policy,
    sites: Sites,
    run_end: datetime,
    fuse: FuseBlown | None = None,
) -> tuple[Incident, ...]:
    """The incidents that an hourly run opens, changes or closes.

    ``latest`` holds the newest incident of each site and kind, open or closed; ``states`` how sites
    stand before the run's actions. Following a run again gives the same incidents.
    """
    changed = followed_sites(standings, latest, states, policy, sites, run_end)
    changed.extend(followed_fuse(latest.get((None, "fuse")), fuse, policy, run_end))
    return tuple(changed)


def followed_sites(
    standings: Iterable[Standing],
    latest: Latest,
    states: Mapping[str, SiteState],
    policy: Policy,
    sites: Sites,
    run_end: datetime,
    kinds: Iterable[Kind] = SITE_KINDS,
) -> list[Incident]:
    """The changed incidents of sites, of these kinds only."""
    changed: list[Incident] = []
    for standing in standings:
        mode = mode_of(policy, sites, standing.site)
        state = states.get(standing.site)
        pace = state.course(mode).state if state else "active"
        for kind in kinds:
            last = latest.get((standing.site, kind))
            found = shows(kind, standing)
            settled = kind not in ("hostility", "delivery", "deception") or pace == "active"
            after = followed(last, kind, standing, found, settled, mode, policy.incidents, run_end)
            if after is not None and after != last:
                changed.append(after)
    return changed


def followed(
    last: Incident | None,
    kind: Kind,
    standing: Standing,
    found: bool | None,
    settled: bool,
    mode: Mode,
    rules: IncidentRules,
    run_end: datetime,
) -> Incident | None:
    """The newest incident of one site and kind after a run; ``settled``: its pace is the normal."""
    if found is None or (last is not None and run_end < last.last_run_end):
        return last
    if not found:
        if last is None or not last.is_open or last.seen_at == run_end:
            return last
        return quiet(last, standing, settled, rules, run_end)
    if last is not None and last.is_open:
        return moved(replace(last, mode=mode), standing, run_end)
    if last is not None and comes_back(last, rules, run_end):
        back = replace(last, closed_at=None, closed_by=None, close_reason=None, mode=mode)
        return moved(replace(back, openings=last.openings + 1), standing, run_end)
    if last is not None and is_settled_by_human(last, standing, rules, run_end):
        return last
    return opened(kind, standing, mode, run_end)


def comes_back(last: Incident, rules: IncidentRules, run_end: datetime) -> bool:
    """Whether it recovered so lately that this is the same incident; not after a human's word."""
    if last.closed_at is None or last.closed_by != SYSTEM:
        return False
    return run_end - last.closed_at <= rules.reopen_within_hours * HOUR


def is_settled_by_human(
    last: Incident, standing: Standing, rules: IncidentRules, run_end: datetime
) -> bool:
    """Whether a human lately closed this very trouble: it opens anew only where it gets worse.

    A site that resists anew always opens one: it will be paused, and nobody is to be left untold.
    """
    if last.closed_at is None or run_end - last.closed_at > rules.reopen_within_hours * HOUR:
        return False
    return standing.band != "resisting" and BAND_RANK[standing.band] <= BAND_RANK[last.worst_band]


def opened(kind: Kind, standing: Standing, mode: Mode, run_end: datetime) -> Incident:
    return Incident(
        incident_id=incident_id(kind, standing.site, run_end),
        site=standing.site,
        kind=kind,
        owner=OWNERS[kind],
        mode=mode,
        first_movement_at=min(standing.moved_at or run_end, run_end),
        opened_at=run_end,
        band=standing.band,
        worst_band=standing.band,
        score=standing.score,
        worst_score=standing.score,
        worst_served_share=standing.served_share,
        reasons=standing.reasons,
        reasons_over_time=(movement_of(standing, run_end),),
        diagnosis=standing.diagnosis,
        seen_at=run_end,
        last_run_end=run_end,
    )


def moved(incident: Incident, standing: Standing, run_end: datetime) -> Incident:
    """An open incident that shows again."""
    worse = BAND_RANK[standing.band] > BAND_RANK[incident.worst_band]
    return replace(
        incident,
        band=standing.band,
        worst_band=standing.band if worse else incident.worst_band,
        score=standing.score,
        worst_score=lower(incident.worst_score, standing.score),
        worst_served_share=lower(incident.worst_served_share, standing.served_share),
        reasons=standing.reasons,
        reasons_over_time=with_movement(incident.reasons_over_time, movement_of(standing, run_end)),
        diagnosis=standing.diagnosis or incident.diagnosis,
        seen_at=run_end,
        quiet_since=None,
        last_run_end=run_end,
    )


def quiet(
    incident: Incident, standing: Standing, settled: bool, rules: IncidentRules, run_end: datetime
) -> Incident:
    """An open incident that does not show; closed once it stayed so and the pace is the normal."""
    since = incident.quiet_since or run_end
    still = replace(
        incident,
        band=standing.band,
        score=standing.score,
        reasons=standing.reasons,
        reasons_over_time=with_movement(incident.reasons_over_time, movement_of(standing, run_end)),
        quiet_since=since,
        last_run_end=run_end,
    )
    if not settled or run_end - since < (rules.close_after_healthy_runs - 1) * HOUR:
        return still
    return replace(still, closed_at=run_end, closed_by=SYSTEM, close_reason="recovered")


def movement_of(standing: Standing, run_end: datetime) -> Movement:
    return Movement(run_end, standing.band, standing.score, standing.reasons, standing.diagnosis)


def with_movement(movements: tuple[Movement, ...], newest: Movement) -> tuple[Movement, ...]:
    """The movements with the newest, if it differs in more than the score from the last one."""
    kept = tuple(movement for movement in movements if movement.moved_at != newest.moved_at)
    if kept and replace(newest, moved_at=kept[-1].moved_at, score=kept[-1].score) == kept[-1]:
        return kept
    every = (*kept, newest)
    return every if len(every) <= MOVEMENTS_KEPT else (every[0], *every[1 - MOVEMENTS_KEPT :])


def lower(one: float | None, other: float | None) -> float | None:
    known = [number for number in (one, other) if number is not None]
    return min(known, default=None)


def followed_fuse(
    last: Incident | None, fuse: FuseBlown | None, policy: Policy, run_end: datetime
) -> list[Incident]:
    """The fleet's incident of kind fuse, if the run opens, changes or closes it."""
    if last is None and fuse is None:
        return []
    mode: Mode = policy.mode if fuse is None or fuse.applied else "observe"
    standing = Standing("", "resisting" if fuse else "healthy", ("fuse",) if fuse else ())
    after = followed(
        last, "fuse", standing, fuse is not None, True, mode, policy.incidents, run_end
    )
    if after is None or after == last:
        return []
    if after.site == "":
        after = replace(after, site=None, incident_id=incident_id("fuse", None, run_end))
    return [after]
