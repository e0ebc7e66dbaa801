"""The hourly job, step by step; each DAG task and each command calls these.

Every step opens the warehouse under the writer's lock, does its part in whole transactions, and
may be run again at any time: what was done already stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import duckdb

from target_health.config import Configuration
from target_health.config.canaries import load_canaries
from target_health.config.marker_files import marker_files
from target_health.control import build_control, set_effective_costs, write_control
from target_health.decisions import (
    BRANCHES,
    Action,
    HumanDecision,
    apply_planned,
    decide,
    last_acted,
    load_states,
    pause_sites,
    planned_branches,
    record_plan,
    refuse_if_later,
    resume_sites,
)
from target_health.decisions.evidence import site_evidence
from target_health.errors import UsageError
from target_health.extraction import ExtractionReport
from target_health.extraction.suites import load_suites
from target_health.incidents import Incident, close_incident, follow_run, refresh_incidents
from target_health.landing import LandingReport, crawl_log_view_sql, land
from target_health.modelling import make_scores, make_windows, modelled_until
from target_health.modelling.models import run_select
from target_health.modelling.ranges import Range
from target_health.modelling.settings import fleet_parameters
from target_health.paging import Page, PagingReport, Target, configured_targets, page_people
from target_health.paging.digests import daily_digest, weekly_digest
from target_health.paths import Home, configured_inbox, expectations_directory
from target_health.times import iso
from target_health.warehouse import open_writer
from target_health.warehouse.publishing import publish_copy

Progress = Callable[[str], None]


def quiet(message: str) -> None:
    """No progress shown."""


@dataclass(frozen=True, slots=True)
class RunReport:
    """What one run did: its range, what landed, items validated, how far the models are, what was
    decided."""

    start: datetime
    end: datetime
    acted: bool
    landing: LandingReport | None
    modelled_until: datetime | None
    actions: tuple[Action, ...]
    why_it_acts: str = "A backfill never acts."
    extraction: ExtractionReport | None = None
    paging: PagingReport | None = None


def check_range(start: datetime, end: datetime) -> Range:
    if start >= end:
        raise UsageError(f"--start {iso(start)} must be before --end {iso(end)}")
    return Range(start, end)


def land_step(
    home: Home,
    configuration: Configuration,
    *,
    now: datetime,
    inbox: str | Path | None = None,
    progress: Progress = quiet,
) -> LandingReport:
    """Land what is new in the inbox: the one named, ``TARGET_HEALTH_INBOX``, or the home's.

    Canary fetches among it are checked and recorded.
    """
    from target_health.canaries.landed import LandingCanaries
    from target_health.canaries.recording import record_landed

    canaries = load_canaries(configuration.directory)
    report = land(
        home,
        configuration=configuration,
        inbox=inbox or configured_inbox(),
        now=now,
        progress=progress,
        watcher=LandingCanaries(canaries, marker_files(configuration.directory)),
    )
    record_landed(home, configuration, now=now)
    return report


def windows_step(
    home: Home, configuration: Configuration, requested: Range, progress: Progress = quiet
) -> datetime | None:
    """Make the windows of the range, those since the last run, and those that late rows touched."""
    with open_writer(home) as connection:
        return make_windows(connection, home, configuration, requested, progress)


def extraction_step(
    home: Home,
    configuration: Configuration,
    requested: Range,
    *,
    now: datetime,
    progress: Progress = quiet,
) -> ExtractionReport:
    """Validate the items of the range's windows, and of all that hold others than they did."""
    from target_health.extraction.step import validate_items

    suites = load_suites(expectations_directory())
    with open_writer(home) as connection:
        return validate_items(
            connection, home, configuration, suites, requested.start, now=now, progress=progress
        )


def scores_step(
    home: Home, configuration: Configuration, requested: Range, progress: Progress = quiet
) -> datetime | None:
    """Score the range's windows, and all whose score can have changed."""
    with open_writer(home) as connection:
        return make_scores(connection, configuration, requested, progress)


def may_act(
    connection: duckdb.DuckDBPyConnection,
    configuration: Configuration,
    end: datetime,
    now: datetime,
    act: bool | None,
) -> bool:
    """Whether a run up to ``end`` acts: as told, else only close to the clock.

    Raises ``UsageError`` when told to act though a later run has acted.
    """
    if act is False:
        return False
    if act:
        refuse_if_later(connection, end)
        return True
    acted = last_acted(connection)
    return is_near(configuration, end, now) and (acted is None or acted <= end)


def is_near(configuration: Configuration, end: datetime, now: datetime) -> bool:
    """Whether a range's end is close enough to the clock for a run to act by itself."""
    return abs(now - end) <= timedelta(hours=configuration.policy.act_within_hours)


def decide_step(
    home: Home,
    configuration: Configuration,
    end: datetime,
    *,
    now: datetime,
    act: bool | None = None,
) -> list[str]:
    """Plan what the sites need as of ``end``; the branches to follow, none when not acting."""
    with open_writer(home) as connection:
        if not may_act(connection, configuration, end, now, act):
            return []
        evidence = site_evidence(connection, configuration, end)
        states = load_states(connection)
        decisions = decide(evidence, states, configuration.policy, configuration.sites, end)
        record_plan(
            connection,
            follow_run(connection, home, configuration, evidence, states, decisions),
        )
        return planned_branches(connection, end)


def act_step(
    home: Home,
    configuration: Configuration,
    branch: str,
    end: datetime,
    *,
    now: datetime,
    act: bool | None = None,
) -> list[Action]:
    """Carry out what the plan up to ``end`` holds for one branch, once.

    Raises ``UsageError`` when the plan has grown old, as when a task is cleared hours later; told
    to act, the range's end counts as now.
    """
    if not act and not is_near(configuration, end, now):
        raise UsageError(
            f"the plan up to {iso(end)} is more than {configuration.policy.act_within_hours:g} h "
            "old: leave it to the newest run"
        )
    with open_writer(home) as connection:
        return apply_planned(connection, end, BRANCHES[branch])


def publish_step(
    home: Home, configuration: Configuration, *, now: datetime, control: bool
) -> datetime | None:
    """Publish the database, and with ``control`` the control file; returns its ``as_of``."""
    with open_writer(home) as connection:
        return publish(connection, home, configuration, now=now, control=control)


def publish(
    connection: duckdb.DuckDBPyConnection,
    home: Home,
    configuration: Configuration,
    *,
    now: datetime,
    control: bool,
) -> datetime | None:
    """``publish_step`` on an open warehouse."""
    as_of = modelled_until(connection, "windows")
    refresh_incidents(connection)
    run_select(
        connection,
        "CREATE OR REPLACE TABLE site_health AS ",
        "site_health",
        {
            "as_of": as_of or now,
            "config_version": configuration.version,
            **fleet_parameters(configuration),
        },
    )
    run_select(
        connection,
        "CREATE OR REPLACE TABLE route_health AS ",
        "route_health",
        {
            "as_of": as_of or now,
            "route_minutes": configuration.scoring.route_minutes,
            "route_down_sites": configuration.policy.route_down_sites,
            "route_down_share": configuration.policy.route_down_share,
        },
    )
    view = crawl_log_view_sql(connection, home)
    connection.execute(f"CREATE OR REPLACE VIEW crawl_log AS {view}")
    if control:
        set_effective_costs(connection, configuration)
        write_control(home, build_control(connection, configuration, now))
    publish_copy(connection, home)
    return as_of


def page_step(
    home: Home,
    configuration: Configuration,
    targets: Sequence[Target],
    *,
    now: datetime,
    base_url: str | None = None,
    due: bool = True,
) -> PagingReport:
    """Page people about what calls for them, and try again what did not reach them.

    ``base_url`` is that of Airflow's UI, for links; without ``due`` only what waits is tried.
    """
    return page_people(home, configuration, targets, now=now, base_url=base_url, due=due)


def digest_step(
    home: Home,
    configuration: Configuration,
    targets: Sequence[Target],
    *,
    now: datetime,
    weekly: bool,
) -> PagingReport:
    """Send the day's digest, and with ``weekly`` the week's; each goes out once."""

    def digests(connection: duckdb.DuckDBPyConnection) -> list[Page]:
        daily = daily_digest(connection, configuration, now)
        return [daily, weekly_digest(connection, configuration, now)] if weekly else [daily]

    return page_people(home, configuration, targets, now=now, due=False, more=digests)


def run(
    home: Home,
    configuration: Configuration,
    start: datetime,
    end: datetime,
    *,
    now: datetime,
    act: bool | None = None,
    inbox: str | Path | None = None,
    validate: bool = True,
    progress: Progress = quiet,
) -> RunReport:
    """The whole hourly job for a range: land, model, validate, score, decide, publish.

    With ``act`` the range's end counts as now; without, windows that the clock has not ended yet
    are left for the next run. Without ``validate`` items are left for the next run. Raises
    ``UsageError`` for an empty range, and when told to act though a later range has acted.
    """
    requested = check_range(start, end)
    if act:
        if end > now and not is_near(configuration, end, now):
            raise UsageError(f"--act: the range's end {iso(end)} lies in the future")
        with open_writer(home) as connection:
            refuse_if_later(connection, end)
    elif now < end:
        requested = Range(min(start, now), now)
    landing = land_step(home, configuration, now=now, inbox=inbox, progress=progress)
    windows_step(home, configuration, requested, progress)
    extraction = None
    if validate:
        extraction = extraction_step(home, configuration, requested, now=now, progress=progress)
    until = scores_step(home, configuration, requested, progress)
    branches = decide_step(home, configuration, requested.end, now=now, act=act)
    actions = [
        action
        for branch in branches
        for action in act_step(home, configuration, branch, requested.end, now=now, act=act)
    ]
    publish_step(home, configuration, now=now, control=bool(branches))
    acted = bool(branches)
    paging = None
    if acted:
        moment = requested.end if act else now
        paging = page_step(home, configuration, configured_targets(), now=moment)
    why = "This run may act." if acted else why_not(configuration, requested.end, now, act)
    return RunReport(
        start,
        requested.end,
        acted,
        landing,
        until,
        tuple(actions),
        why,
        extraction,
        paging,
    )


def why_not(configuration: Configuration, end: datetime, now: datetime, act: bool | None) -> str:
    """Why a run up to ``end`` did not act, in a sentence."""
    if act is False:
        return "This run does not act: --no-act."
    if not is_near(configuration, end, now):
        hours = configuration.policy.act_within_hours
        return f"This run does not act: its range ends more than {hours:g} hours from the clock."
    return "This run does not act: a later range has acted already."


def backfill(
    home: Home,
    configuration: Configuration,
    start: datetime,
    end: datetime,
    *,
    now: datetime,
    active: Configuration | None = None,
    progress: Progress = quiet,
) -> RunReport:
    """Windows and scores of a range in one pass, and every later score that it reaches.

    ``active`` is the configuration in force, where ``configuration`` is another one to score
    history with: windows then stay as they are. Never acts.
    """
    requested = check_range(start, min(end, max(now, start)))
    landing = extraction = None
    if active is None:
        landing = land_step(home, configuration, now=now, progress=progress)
        windows_step(home, configuration, requested, progress)
        extraction = extraction_step(home, configuration, requested, now=now, progress=progress)
    until = scores_step(home, configuration, requested, progress)
    publish_step(home, active or configuration, now=now, control=False)
    return RunReport(start, end, False, landing, until, (), extraction=extraction)


def pause(
    home: Home,
    configuration: Configuration,
    sites: list[str] | None,
    *,
    now: datetime,
    by: str,
    why: str,
    since: datetime | None = None,
) -> HumanDecision:
    """A human pauses sites (None: all); state, control file and published copy change at once."""
    with open_writer(home) as connection:
        decision = pause_sites(
            connection, configuration, sites, by=by, why=why, now=now, since=since
        )
        publish(connection, home, configuration, now=now, control=True)
    return decision


def resume(
    home: Home,
    configuration: Configuration,
    sites: list[str] | None,
    *,
    now: datetime,
    by: str,
    why: str,
    since: datetime | None = None,
    step: int | None = None,
) -> HumanDecision:
    """A human resumes sites (None: all paused ones), at once."""
    with open_writer(home) as connection:
        decision = resume_sites(
            connection, configuration, sites, by=by, why=why, now=now, since=since, step=step
        )
        publish(connection, home, configuration, now=now, control=True)
    return decision


def close(
    home: Home, configuration: Configuration, incident_id: str, *, now: datetime, by: str, why: str
) -> Incident:
    """A human closes an incident, at once; the site's pace stays as it is."""
    with open_writer(home) as connection:
        closed = close_incident(connection, incident_id, by=by, why=why, at=now)
        publish(connection, home, configuration, now=now, control=True)
    return closed
