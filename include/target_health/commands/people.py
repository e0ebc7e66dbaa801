"""The commands by which a person decides: pause, resume."""

from __future__ import annotations

from typing import Annotated

import typer

from target_health import job
from target_health.commands.output import console, print_json
from target_health.commands.runs import Json, action_line
from target_health.config import load_configuration
from target_health.decisions import HumanDecision
from target_health.errors import UsageError
from target_health.paths import Home
from target_health.times import parse_time, utc_now

SiteNames = Annotated[list[str] | None, typer.Argument(metavar="SITE…", show_default=False)]
All = Annotated[bool, typer.Option("--all", help="Every site that it can apply to.")]
Since = Annotated[
    str | None,
    typer.Option(
        "--since", help="Only sites whose present state began at this time or later (ISO 8601)."
    ),
]
By = Annotated[str, typer.Option("--by", help="Who decides.")]
Why = Annotated[str, typer.Option("--why", help="Why; it is recorded.")]


def pause(
    by: By,
    why: Why,
    sites: SiteNames = None,
    all_sites: All = False,
    since: Since = None,
    json: Json = False,
) -> None:
    """Pause sites until a person resumes them."""
    decision = job.pause(
        Home.from_environment(),
        load_configuration(),
        chosen(sites, all_sites, since),
        now=utc_now(),
        by=by,
        why=why,
        since=parse_time(since, "--since") if since else None,
    )
    report_decision(decision, json)


def resume(
    by: By,
    why: Why,
    sites: SiteNames = None,
    all_sites: All = False,
    since: Since = None,
    step: Annotated[
        int | None,
        typer.Option(
            "--step",
            help="Come back at this step, 0 (normal) to 3 (an eighth).",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Resume paused sites: slowly after an automatic pause, as they were after a person's."""
    decision = job.resume(
        Home.from_environment(),
        load_configuration(),
        chosen(sites, all_sites, since),
        now=utc_now(),
        by=by,
        why=why,
        step=step,
        since=parse_time(since, "--since") if since else None,
    )
    report_decision(decision, json)


def chosen(sites: list[str] | None, all_sites: bool, since: str | None) -> list[str] | None:
    """The sites named, or None for all; one of the two must be said."""
    if sites and all_sites:
        raise UsageError("name sites or say --all, not both")
    if not sites and not all_sites and since is None:
        raise UsageError("name the sites, or say --all (or --since TIME)")
    return sites or None


def report_decision(decision: HumanDecision, json: bool) -> None:
    if json:
        print_json({"actions": decision.actions, "unchanged": dict(decision.unchanged)})
        return
    shown = console()
    for action in decision.actions:
        shown.print(action_line(action), markup=False, soft_wrap=True)
    for site, clause in decision.unchanged:
        shown.print(f"{site} {clause}", markup=False, soft_wrap=True)
    if not decision.actions and not decision.unchanged:
        shown.print("No site to change.")
