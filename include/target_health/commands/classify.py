"""``classify``: the verdict on saved pages, and why."""

from __future__ import annotations

import itertools
import json as json_format
import os
import sys
from collections.abc import Iterable
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from target_health.commands.output import console, plain
from target_health.pages.markers import active_markers
from target_health.paths import config_directory

#: From as many pages on a table shows more than sentences do.
TABLE_FROM = 10

Page = dict[str, Any]


def classify(
    files: Annotated[list[str], typer.Argument(metavar="FILE…", show_default=False)],
    status: Annotated[
        int, typer.Option("--status", min=100, max=999, help="The status of saved pages.")
    ] = 200,
    url: Annotated[str, typer.Option("--url", help="The URL of saved pages.")] = "",
    json: Annotated[bool, typer.Option("--json", help="One JSON document a line.")] = False,
) -> None:
    """Say what saved pages (HTML, WARC, directories, - for standard input) really are, and why."""
    from target_health.pages.command import classify_paths

    markers = active_markers(config_directory())
    failed = False
    pages = classify_paths(files, status=status, url=url, markers=markers)
    if json:
        for page in pages:
            failed = failed or bool(page.get("error"))
            sys.stdout.write(json_format.dumps(plain(page), ensure_ascii=False) + "\n")
    else:
        failed = show(pages)
    if failed:
        raise typer.Exit(1)


def show(pages: Iterable[Page]) -> bool:
    """Print few pages in sentences, many as a table; whether one of them could not be read."""
    first = list(itertools.islice(pages, TABLE_FROM))
    if len(first) < TABLE_FROM:
        for page in first:
            sys.stdout.write("".join(f"{line}\n" for line in described(page)))
        return any(page.get("error") for page in first)
    shown = [*first, *pages]
    console().print(table_of(shown))
    return any(page.get("error") for page in shown)


def described(row: Page) -> list[str]:
    """One page in a line, and a line for each piece of evidence."""
    if row.get("error"):
        return [f"{row['file']}: not read: {row['error']}"]
    head = f"{_place(row)}: {row['verdict']} (confidence {row['confidence']:.2f}, {row['paywall']})"
    return [head, *(f"    {sentence}" for sentence in row.get("why") or ())]


def table_of(rows: list[Page]) -> Table:
    """A row a page, with its evidence and the first reason for its verdict."""
    table = Table(title=f"{len(rows):,} pages")
    beside = _directory({row["file"] for row in rows})
    for name in ("page", "status", "verdict", "confidence", "paywall", "evidence and why"):
        right = name in ("status", "confidence")
        table.add_column(name, justify="right" if right else "left", overflow="fold")
    for row in rows:
        place = Text(_place(row).removeprefix(beside))
        if row.get("error"):
            table.add_row(place, "", "not read", "", "", Text(row["error"]))
            continue
        table.add_row(
            place,
            "-" if row["status"] is None else str(row["status"]),
            row["verdict"],
            f"{row['confidence']:.2f}",
            row["paywall"].lower(),
            Text("\n".join([" ".join(row["evidence"]), *(row.get("why") or ())[:1]]).strip()),
        )
    return table


def _directory(files: set[str]) -> str:
    """The directory that all files lie in, as their names begin; none for a single file."""
    common = os.path.commonpath(files) if len(files) > 1 and "-" not in files else ""
    return common + os.sep if common else ""


def _place(row: Page) -> str:
    return f"{row['file']} {row['url']}" if row.get("url") else str(row["file"])
