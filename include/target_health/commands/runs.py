"""The commands that do the work: land, run, backfill."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from target_health import job
from target_health.commands.output import console, print_json, progress_shown
from target_health.config import Configuration, load_configuration
from target_health.config.scoring import Scoring
from target_health.decisions import Action
from target_health.landing import LandingReport
from target_health.paths import Home
from target_health.times import parse_time, stamp, utc_now

Start = Annotated[str, typer.Option("--start", help="Begin of the range, ISO 8601, UTC.")]
End = Annotated[str, typer.Option("--end", help="End of the range, ISO 8601, UTC.")]
Json = Annotated[bool, typer.Option("--json", help="Print what is reported as JSON.")]
Inbox = Annotated[
    str | None,
    typer.Option("--inbox", help="Directory or fsspec URL to land from, instead of the inbox."),
]

#: Numbers by which windows are made, not scored.
WINDOW_NUMBERS = ("window_minutes", "soft_block_", "route_")


def land(inbox: Inbox = None, json: Json = False) -> None:
    """Land what is new in the inbox."""
    home, configuration = Home.from_environment(), load_configuration()
    with progress_shown() as progress:
        report = job.land_step(home, configuration, now=utc_now(), inbox=inbox, progress=progress)
    if json:
        print_json(report.as_json())
        return
    print_landing(report)


def run(
    start: Start,
    end: End,
    act: Annotated[
        bool | None,
        typer.Option(
            "--act/--no-act",
            help="Act as if the range's end were now, or not at all. Default: act only when the "
            "range ends close to the clock.",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """The whole hourly job for a range: land, model, score, decide, publish."""
    home, configuration = Home.from_environment(), load_configuration()
    with progress_shown() as progress:
        report = job.run(
            home,
            configuration,
            parse_time(start, "--start"),
            parse_time(end, "--end"),
            now=utc_now(),
            act=act,
            progress=progress,
        )
    report_run(report, json)


def backfill(
    start: Start,
    end: End,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config", help="A scoring.yaml to score the range under, beside the active."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Windows and scores of a range in one pass, and the scores after it that it reaches."""
    home, active = Home.from_environment(), load_configuration()
    other = load_configuration(scoring_file=config) if config else None
    with progress_shown() as progress:
        report = job.backfill(
            home,
            other or active,
            parse_time(start, "--start"),
            parse_time(end, "--end"),
            now=utc_now(),
            active=active if other else None,
            progress=progress,
        )
    report_run(report, json, other=other, active=active)


def print_landing(report: LandingReport) -> None:
    """One line for all, one a source, and what each took for what."""
    shown = console()
    for line in report.lines():
        shown.print(line, markup=False, soft_wrap=True)


def report_run(
    report: job.RunReport,
    json: bool,
    *,
    other: Configuration | None = None,
    active: Configuration | None = None,
) -> None:
    """What a run did; ``other`` is the configuration that it scored under beside ``active``."""
    changes = changed_numbers(active.scoring, other.scoring) if active and other else {}
    if json:
        print_json(
            {
                "start": report.start,
                "end": report.end,
                "acted": report.acted,
                "landing": report.landing.as_json() if report.landing else None,
                "extraction": report.extraction.as_json() if report.extraction else None,
                "modelled_until": report.modelled_until,
                "config_version": other.version if other else None,
                "config_changes": changes if other else None,
                "actions": report.actions,
                "paging": report.paging,
            }
        )
        return
    shown = console()
    if report.landing:
        print_landing(report.landing)
    for line in report.extraction.lines() if report.extraction else []:
        shown.print(line, markup=False, soft_wrap=True)
    if report.modelled_until is None:
        shown.print("No windows yet: nothing was landed before the end of the range.")
        return
    shown.print(f"Windows and scores are made until {stamp(report.modelled_until)}.", markup=False)
    if other:
        for line in (f"Scored under config_version {other.version}.", *told_changes(changes)):
            shown.print(line, markup=False, soft_wrap=True)
    shown.print(report.why_it_acts, markup=False, soft_wrap=True)
    for action in report.actions:
        shown.print(action_line(action), markup=False, soft_wrap=True)
    for line in report.paging.lines() if report.paging else []:
        shown.print(line, markup=False, soft_wrap=True)


def changed_numbers(active: Scoring, other: Scoring) -> dict[str, dict[str, Any]]:
    """The numbers in which two differ, by name: ``{"active": …, "config": …}``."""
    before, after = active.model_dump(mode="json"), other.model_dump(mode="json")
    return {
        name: {"active": before[name], "config": after[name]}
        for name in before
        if before[name] != after[name]
    }


def told_changes(changes: dict[str, dict[str, Any]]) -> list[str]:
    """What ``--config`` changed; and what of it had no effect, as windows stay as they are."""
    if not changes:
        return ["--config changes no number: these are the active numbers, scored again."]
    told = ", ".join(f"{name} {was['active']} → {was['config']}" for name, was in changes.items())
    lines = [f"--config changes {told}; every other number is the active one."]
    of_windows = [name for name in changes if name.startswith(WINDOW_NUMBERS)]
    if of_windows:
        lines.append(
            f"Windows stay as they are, so {', '.join(of_windows)} changed none of them: set it "
            "in scoring.yaml and run backfill without --config to make windows anew."
        )
    return lines


def action_line(action: Action) -> str:
    """One action in a line: what, where, why."""
    held = "" if action.applied else " (observed only)"
    return f"{action.kind} {action.site or 'fleet'}{held}: {action.why}"
