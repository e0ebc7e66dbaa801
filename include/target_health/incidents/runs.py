"""A run's incidents: followed, given their evidence, and tied to the run's decisions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime

import duckdb

from target_health.config import Configuration
from target_health.decisions.records import Decisions, SiteEvidence, SiteState
from target_health.errors import UsageError
from target_health.incidents.evidence import gather_evidence, save_evidence
from target_health.incidents.records import Incident, Standing
from target_health.incidents.rules import follow_incidents, followed_sites
from target_health.incidents.standings import site_standings
from target_health.incidents.storage import (
    incident_of_sites,
    known_incident,
    latest_incidents,
    open_incidents,
    refresh_incidents,
    save_incidents,
)
from target_health.paths import Home
from target_health.warehouse.transactions import transaction


def follow_run(
    con: duckdb.DuckDBPyConnection,
    home: Home,
    configuration: Configuration,
    evidence: Iterable[SiteEvidence],
    states: Mapping[str, SiteState],
    decisions: Decisions,
) -> Decisions:
    """Follow all incidents through a run that may act; its decisions with their incidents' ids.

    Call it before the decisions are recorded, so that no state names an incident that is not there.
    """
    run_end = decisions.run_end
    standings = site_standings(con, configuration, evidence, run_end)
    before = latest_incidents(con)
    changed = follow_incidents(
        standings,
        before,
        states,
        configuration.policy,
        configuration.sites,
        run_end,
        decisions.fuse,
    )
    worse = those_that_show_more(before.values(), changed)
    shown = gather_evidence(con, home, worse, run_end)
    if decisions.fuse is not None:
        content = {"as_of": run_end, "sites": decisions.fuse.sites, "fleet": decisions.fuse.fleet}
        shown |= {one.incident_id: content for one in worse if one.kind == "fuse"}
    with transaction(con):
        save_incidents(con, changed)
        save_evidence(con, shown)
    return with_incidents(decisions, open_incidents(con))


def those_that_show_more(before: Iterable[Incident], after: Iterable[Incident]) -> list[Incident]:
    known = {incident.incident_id: incident for incident in before}
    return [one for one in after if shows_more(known.get(one.incident_id), one)]


def shows_more(before: Incident | None, after: Incident) -> bool:
    """Whether the incident's evidence is to be taken (again): new, back, or worse than ever."""
    if before is None or after.openings > before.openings:
        return True
    return after.worst_band != before.worst_band


def with_incidents(decisions: Decisions, incidents: Iterable[Incident]) -> Decisions:
    """States and actions with the open incident that they belong to."""
    every = list(incidents)
    of_sites = incident_of_sites(every)
    fuse = next((one.incident_id for one in every if one.kind == "fuse"), None)
    return replace(
        decisions,
        states=tuple(
            replace(state, incident_id=of_sites.get(state.site)) for state in decisions.states
        ),
        actions=tuple(
            replace(
                action,
                incident_id=fuse if action.site is None else of_sites.get(action.site),
            )
            for action in decisions.actions
        ),
    )


def record_deceptions(
    con: duckdb.DuckDBPyConnection,
    home: Home,
    configuration: Configuration,
    states: Mapping[str, SiteState],
    deceived: Mapping[str, bool],
    at: datetime,
    since: Mapping[str, datetime | None] | None = None,
) -> tuple[Incident, ...]:
    """Open, change or close incidents of kind deception, from what canaries say of sites at ``at``.

    ``since`` says of a deceived site when its canaries were right last. Returns those that changed.
    """
    began = since or {}
    standings = [
        Standing(
            site,
            "unscored",
            ("deception",) if found else (),
            deceived=found,
            moved_at=began.get(site),
        )
        for site, found in sorted(deceived.items())
    ]
    before = latest_incidents(con)
    changed = followed_sites(
        standings,
        before,
        states,
        configuration.policy,
        configuration.sites,
        at,
        kinds=("deception",),
    )
    shown = gather_evidence(con, home, those_that_show_more(before.values(), changed), at)
    with transaction(con):
        save_incidents(con, changed)
        save_evidence(con, shown)
        refresh_incidents(con)
    return tuple(changed)


def close_incident(
    con: duckdb.DuckDBPyConnection, name: str, *, by: str, why: str, at: datetime
) -> Incident:
    """A human closes an incident; ``UsageError`` when there is none such, or it is closed."""
    if not by.strip() or not why.strip():
        raise UsageError("say who closes it and why: --by NAME --why TEXT")
    incident = known_incident(con, name)
    if incident.closed_at is not None:
        raise UsageError(f"{name} is closed already, by {incident.closed_by}")
    closed = replace(
        incident,
        closed_at=max(at, incident.opened_at),
        closed_by=by.strip(),
        close_reason=why.strip(),
    )
    with transaction(con):
        save_incidents(con, [closed])
        refresh_incidents(con)
    return closed
