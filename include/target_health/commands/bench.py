"""``bench``: every benchmark, each beside a floor timed in the same run."""

from __future__ import annotations

import json as json_format
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from target_health.commands.output import console, plain, progress_shown
from target_health.errors import UsageError
from target_health.paths import Home

if TYPE_CHECKING:
    from target_health.benchmarks.results import Result

VERDICTS = {True: Text("yes", style="green"), False: Text("no", style="bold red"), None: Text("")}


def bench(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME…", show_default=False, help="Only these. Default: all, half an hour."
        ),
    ] = None,
    json: Annotated[
        Path | None, typer.Option("--json", help="File to write the figures to, as JSON.")
    ] = None,
) -> None:
    """Measure speed and memory against floors timed in the same run; status 1 if one fails."""
    from target_health.benchmarks.catalogue import run_benchmarks

    if json is not None and not json.parent.is_dir():
        raise UsageError(f"--json {json}: there is no directory {json.parent}")
    with progress_shown() as progress:
        results = list(run_benchmarks(Home.from_environment(), names or (), progress=progress))
    if json is not None:
        rows = [plain(asdict(result)) for result in results]
        json.write_text(json_format.dumps(rows, indent=2) + "\n", encoding="utf-8")
    console().print(results_table(results))
    if any(result.holds is False for result in results):
        raise typer.Exit(1)


def results_table(results: Sequence[Result]) -> Table:
    """One row a figure."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("name", no_wrap=True)
    for column in ("value", "unit", "floor", "ratio", "target", "holds"):
        table.add_column(column, justify="left" if column in ("unit", "holds") else "right")
    for result in results:
        table.add_row(
            result.name,
            number(result.value),
            result.unit,
            number(result.floor),
            number(result.ratio),
            number(result.target),
            VERDICTS[result.holds],
        )
    return table


def number(value: float | None) -> str:
    """Three digits are all that timing is good for."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
