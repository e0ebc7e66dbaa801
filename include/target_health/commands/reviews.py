"""``decide`` and ``review``: what people decide about a site, and say of an alarm afterwards."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from target_health import human_steps
from target_health.commands.output import console, print_json
from target_health.commands.people import By, Why
from target_health.commands.runs import Json
from target_health.config import load_configuration
from target_health.decisions.answers import CHOICES, OFFERED
from target_health.errors import UsageError
from target_health.paths import Home
from target_health.reviews import SignalReport, review_report
from target_health.times import parse_time, stamp, utc_now
from target_health.warehouse.published import open_published
from target_health.warehouse.rows import rows_of

UNREVIEWED = """
SELECT incidents.*
FROM incidents LEFT JOIN incident_reviews USING (incident_id)
WHERE incidents.closed_at IS NOT NULL AND incident_reviews.incident_id IS NULL
ORDER BY incidents.closed_at DESC
"""
YES_NO = {"yes": True, "no": False, "unknown": None}

review = typer.Typer(help="Alarms judged afterwards.", invoke_without_command=True)


def decide(
    site: Annotated[str, typer.Argument(help="The site.")],
    choice: Annotated[str, typer.Argument(help=", ".join(CHOICES))],
    by: By,
    why: Why,
    until: Annotated[
        str | None, typer.Option("--until", help="keep: ask again at this time (ISO 8601).")
    ] = None,
    since: Annotated[
        str | None,
        typer.Option("--from", help="accept: the new normal holds from this time. Default: now."),
    ] = None,
    json: Json = False,
) -> None:
    """Decide about a site: resume slower, keep paused, switch to an API, stop, accept as normal."""
    picked = next((one for one in CHOICES if one == choice), None)
    if picked is None:
        offered = ", ".join(f"{name} ({words.lower()})" for name, words in OFFERED.items())
        raise UsageError(f"{choice}: must be one of {offered}")
    answer = human_steps.decide(
        Home.from_environment(),
        load_configuration(),
        site,
        picked,
        by=by,
        why=why,
        now=utc_now(),
        keep_until=parse_time(until, "--until") if until else None,
        baseline_from=parse_time(since, "--from") if since else None,
    )
    if json:
        print_json(answer)
        return
    console().print(answer.outcome, markup=False, soft_wrap=True)


@review.callback()
def group(context: typer.Context, json: Json = False) -> None:
    """Alarms judged afterwards: closed incidents that nobody reviewed yet."""
    if context.invoked_subcommand is not None:
        return
    with open_published(Home.from_environment()) as connection:
        rows = rows_of(connection, UNREVIEWED)
    if json:
        print_json([{**row, "evidence": None} for row in rows])
        return
    shown = console()
    for row in rows:
        line = f"{row['incident_id']}: {row['kind']}, closed {stamp(row['closed_at'])}"
        shown.print(f"{line} by {row['closed_by']}", markup=False, soft_wrap=True)
    if not rows:
        shown.print("Every closed incident is reviewed.")


@review.command("file")
def file(
    incident_id: str,
    by: Annotated[str, typer.Option("--by", help="Who reviews.")],
    false_alarm: Annotated[
        bool, typer.Option("--false-alarm/--real", help="Was there a trouble at all?")
    ] = False,
    early: Annotated[
        str, typer.Option("--early", help="Did the score move early enough? yes, no, unknown.")
    ] = "unknown",
    reasons: Annotated[
        str, typer.Option("--reasons", help="Did the reasons name the cause? yes, no, unknown.")
    ] = "unknown",
    helped: Annotated[
        str, typer.Option("--helped", help="Did the action help? yes, no, unknown.")
    ] = "unknown",
    onset: Annotated[
        str | None, typer.Option("--onset", help="When it really began (ISO 8601).")
    ] = None,
    note: Annotated[str | None, typer.Option("--note", help="Anything else.")] = None,
    json: Json = False,
) -> None:
    """File the review of a closed incident, in place of an earlier one."""
    filed = human_steps.review_step(
        Home.from_environment(),
        load_configuration(),
        incident_id,
        by=by,
        now=utc_now(),
        is_false_alarm=false_alarm,
        was_early_enough=yes_no(early, "--early"),
        are_reasons_right=yes_no(reasons, "--reasons"),
        did_action_help=yes_no(helped, "--helped"),
        onset_at=parse_time(onset, "--onset") if onset else None,
        note=note,
    )
    if json:
        print_json(filed)
        return
    console().print(f"The review of {incident_id} is filed.", markup=False, soft_wrap=True)


def yes_no(text: str, name: str) -> bool | None:
    if text.strip().lower() not in YES_NO:
        raise UsageError(f"{name}: must be yes, no or unknown, not {text!r}")
    return YES_NO[text.strip().lower()]


@review.command()
def report(json: Json = False) -> None:
    """Lead time, false alarms a site-month, reasons right: all, and by signal."""
    with open_published(Home.from_environment()) as connection:
        found = review_report(connection)
    if json:
        print_json(found)
        return
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for heading in (
        "signal",
        "reviewed",
        "false alarms",
        "early enough",
        "reasons right",
        "action helped",
        "onset to movement",
        "onset to action",
    ):
        table.add_column(heading, overflow="fold")
    for one in (found.total, *found.signals):
        table.add_row(*signal_cells(one))
    shown = console()
    shown.print(table)
    rate = found.false_alarms_a_site_month
    shown.print(
        f"False alarms a site-month: {'unknown' if rate is None else f'{rate:.2f}'} "
        f"({found.site_months:.1f} site-months watched).",
        markup=False,
    )


def signal_cells(one: SignalReport) -> list[str]:
    shares = (one.early_enough_share, one.reasons_right_share, one.action_helped_share)
    delays = (one.onset_to_movement_minutes, one.onset_to_action_minutes)
    return [
        one.signal,
        str(one.reviewed),
        str(one.false_alarms),
        *("–" if share is None else f"{share:.0%}" for share in shares),
        *("–" if delay is None else f"{delay:.0f} min" for delay in delays),
    ]
