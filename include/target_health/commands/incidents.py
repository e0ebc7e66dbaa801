"""``incidents``: sites' spells outside healthy; what each shows; a person closes one."""

from __future__ import annotations

import json as json_text
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from target_health import job
from target_health.commands.output import console, print_json
from target_health.commands.people import By, Why
from target_health.commands.runs import Json
from target_health.config import load_configuration
from target_health.config.sites import normal_host
from target_health.errors import UsageError
from target_health.paths import Home
from target_health.times import stamp, utc_now
from target_health.warehouse.published import open_published
from target_health.warehouse.rows import rows_of

LIST = """
SELECT * FROM incidents
WHERE (closed_at IS NULL OR $closed) AND ($site IS NULL OR site = $site)
ORDER BY closed_at IS NOT NULL, opened_at DESC, site
"""

incidents = typer.Typer(help="Sites' spells outside healthy.", invoke_without_command=True)


@incidents.callback()
def group(
    context: typer.Context,
    site: Annotated[str | None, typer.Option("--site", help="Only this site's.")] = None,
    closed: Annotated[bool, typer.Option("--closed", help="Closed ones too.")] = False,
    json: Json = False,
) -> None:
    """Sites' spells outside healthy: those that are open."""
    if context.invoked_subcommand is not None:
        return
    given = {"closed": closed, "site": normal_host(site) if site else None}
    with open_published(Home.from_environment()) as connection:
        rows = [with_evidence(row) for row in rows_of(connection, LIST, given)]
    if json:
        print_json(rows)
        return
    shown = console()
    if not rows:
        shown.print("No incident." if closed else "No open incident; --closed shows past ones.")
        return
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    # An id is copied from here into the next command: never broken over two lines.
    table.add_column("incident", no_wrap=True)
    for heading in ("band", "score", "reasons", "owner", "since", "closed"):
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(
            row["incident_id"],
            f"{row['band']} (worst {row['worst_band']})",
            "–" if row["score"] is None else f"{row['score']:.0f}",
            ", ".join(row["reasons"]),
            row["owner"],
            stamp(row["first_movement_at"]),
            f"{stamp(row['closed_at'])} by {row['closed_by']}" if row["closed_at"] else "",
        )
    shown.print(table)


@incidents.command()
def show(incident_id: str, json: Json = False) -> None:
    """One incident: how it moved, what it shows, what was done."""
    with open_published(Home.from_environment()) as connection:
        rows = rows_of(connection, "SELECT * FROM incidents WHERE incident_id = ?", [incident_id])
    if not rows:
        raise UsageError(f"{incident_id}: no such incident; `target-health incidents` lists them")
    row = with_evidence(rows[0])
    if json:
        print_json(row)
        return
    shown = console()
    for line in incident_lines(row):
        shown.print(line, markup=False, soft_wrap=True)


@incidents.command()
def close(incident_id: str, by: By, why: Why, json: Json = False) -> None:
    """Close an incident; the site's pace stays as it is."""
    closed = job.close(
        Home.from_environment(),
        load_configuration(),
        incident_id,
        now=utc_now(),
        by=by,
        why=why,
    )
    if json:
        print_json(closed)
        return
    console().print(f"{closed.incident_id} is closed.", markup=False, soft_wrap=True)


def with_evidence(row: dict[str, Any]) -> dict[str, Any]:
    """The row with its evidence as a mapping."""
    evidence = row["evidence"]
    return {**row, "evidence": None if evidence is None else json_text.loads(evidence)}


def incident_lines(row: dict[str, Any]) -> list[str]:
    """An incident in plain lines; ``evidence`` is a mapping or None."""
    score = "unknown" if row["worst_score"] is None else f"{row['worst_score']:.0f}"
    end = f"closed {stamp(row['closed_at'])} by {row['closed_by']}" if row["closed_at"] else "open"
    lines = [
        f"{row['incident_id']}: {row['kind']} at {row['site'] or 'the fleet'}, {end}",
        f"  first movement {stamp(row['first_movement_at'])}, opened {stamp(row['opened_at'])}"
        + (f", came back {row['openings'] - 1} times" if row["openings"] > 1 else ""),
        f"  worst: {row['worst_band']}, smoothed score {score}; owner {row['owner']}"
        + (f"; diagnosis {row['diagnosis']}" if row["diagnosis"] else ""),
        "  how it moved:",
    ]
    for moved in row["reasons_over_time"]:
        number = "–" if moved["score"] is None else f"{moved['score']:.0f}"
        reasons = ", ".join(moved["reasons"]) or "no reason"
        lines.append(f"    {stamp(moved['moved_at'])}  {moved['band']} {number}  {reasons}")
    lines.append("  what was done:" if row["actions"] else "  nothing was done")
    for action in row["actions"]:
        held = "" if action["applied"] else " (observed only)"
        lines.append(
            f"    {stamp(action['decided_at'])}  {action['kind']}{held} by {action['decided_by']}: "
            f"{action['why']}"
        )
    return lines + evidence_lines(row["evidence"] or {})


def evidence_lines(evidence: dict[str, Any]) -> list[str]:
    """Samples, routes and canaries in plain lines."""
    lines: list[str] = []
    if evidence.get("samples"):
        lines.append(f"  fetches before {evidence['as_of']}:")
        for fetch in evidence["samples"]:
            answer = fetch["status"] if fetch["status"] is not None else fetch["error"]
            lines.append(
                f"    {fetch['ts']}  {answer or 'no answer'}  {fetch['verdict']}  {fetch['url']}"
            )
    if evidence.get("routes"):
        lines.append("  failed by route:")
        lines.extend(
            f"    {one['dimension']}={one['value']}: {one['failed']} of {one['fetches']}"
            for one in evidence["routes"]
        )
    if evidence.get("canaries"):
        lines.append("  canaries:")
        for canary in evidence["canaries"]:
            known = (f"{key} {value}" for key, value in canary.items() if value is not None)
            lines.append("    " + ", ".join(known))
    if evidence.get("sites"):
        lines.append(f"  {len(evidence['sites'])} sites: {', '.join(evidence['sites'])}")
    return lines
