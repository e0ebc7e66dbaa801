"""``control show``: what crawlers are told."""

from __future__ import annotations

import typer
from rich.table import Table

from target_health.commands.output import console, print_json
from target_health.commands.runs import Json
from target_health.control import control_rows, read_control
from target_health.paths import Home

control = typer.Typer(help="The control file that crawlers obey.")


@control.callback()
def group() -> None:
    """The control file that crawlers obey."""


@control.command()
def show(json: Json = False) -> None:
    """What crawlers are told now."""
    home = Home.from_environment()
    document = read_control(home)
    if json:
        print_json(document)
        return
    rows = control_rows(document)
    table = Table(title=f"{home.control}, generated {document['generated_at']}", show_lines=False)
    columns = list(rows[0]) if rows else ["site"]
    for column in columns:
        table.add_column(column)
    for row in rows:
        table.add_row(*("-" if row[column] is None else str(row[column]) for column in columns))
    console().print(table)
