"""``tune``: today's numbers against others on the reviewed past; a proposal, never applied."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from target_health.commands.output import console, print_json, progress_shown
from target_health.commands.runs import Json
from target_health.config import load_configuration
from target_health.paths import Home
from target_health.times import utc_now
from target_health.tuning import Outcome, Proposal, write_proposal

FEW_REVIEWS = 10


def tune(
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Where to write the proposal. Default: under the home."),
    ] = None,
    number: Annotated[
        int, typer.Option("--candidates", min=1, help="How many sets of numbers to try.")
    ] = 16,
    any_weights: Annotated[
        bool,
        typer.Option("--any-weights", help="Hard and soft blocks need not weigh the most."),
    ] = False,
    config: Annotated[
        Path | None,
        typer.Option("--config", help="Try only the numbers of this scoring.yaml."),
    ] = None,
    json: Json = False,
) -> None:
    """Try other weights and thresholds on reviewed incidents, and propose a scoring.yaml."""
    from target_health.tuning import tune as tune_numbers

    home, configuration = Home.from_environment(), load_configuration()
    given = load_configuration(scoring_file=config).scoring if config else None
    with progress_shown() as progress:
        proposal = tune_numbers(
            home,
            configuration,
            number=number,
            any_weights=any_weights,
            given=given,
            progress=progress,
        )
    now = utc_now()
    path = None
    if proposal.best is not None:
        path = out or home.root / "proposals" / f"scoring-{now:%Y%m%dT%H%M%S}.yaml"
        write_proposal(proposal, configuration.directory, path, now)
    if json:
        print_json(
            {
                "reviews": proposal.reviews,
                "tried": proposal.tried,
                "today": proposal.today,
                "proposed": proposal.best,
                "changes": proposal.changes,
                "file": path,
            }
        )
        return
    print_proposal(proposal, path)


def print_proposal(proposal: Proposal, path: Path | None) -> None:
    shown = console()
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for heading in ("", "today", "proposal"):
        table.add_column(heading, overflow="fold")
    today, best = outcome_cells(proposal.today), outcome_cells(proposal.best)
    for name, now, then in zip(ROWS, today, best, strict=True):
        table.add_row(name, now, then)
    shown.print(table)
    words = f"{proposal.tried} sets of numbers tried on {proposal.reviews} reviewed incidents."
    shown.print(words, markup=False)
    if proposal.reviews < FEW_REVIEWS:
        shown.print(f"That is little to go by: {FEW_REVIEWS} reviews or more say more.")
    if path is None:
        shown.print("None was better than today's.")
        return
    for key, value in proposal.changes.items():
        shown.print(f"  {key}: {value}", markup=False)
    shown.print(
        f"The proposal is in {path}. Nothing reads it until you put it in place of scoring.yaml.",
        markup=False,
        soft_wrap=True,
    )


ROWS = ("real troubles seen", "missed", "false alarms", "onset to alarm", "would have paused")


def outcome_cells(outcome: Outcome | None) -> list[str]:
    if outcome is None:
        return ["–"] * len(ROWS)
    delay = outcome.delay_minutes
    return [
        f"{outcome.real - len(outcome.missed)} of {outcome.real}",
        ", ".join(outcome.missed) or "none",
        str(outcome.false_alarms),
        "–" if delay is None else f"{delay:.0f} min",
        ", ".join(outcome.would_pause) or "none",
    ]
