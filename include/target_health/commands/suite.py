"""``suite``: what the items of a page type must be."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import duckdb
import typer
from rich.table import Table

from target_health.commands.output import console, print_json
from target_health.commands.runs import Json
from target_health.config import load_configuration
from target_health.errors import ConfigurationError, UsageError
from target_health.extraction.draft import draft_suite
from target_health.extraction.suites import Suites, load_suites
from target_health.paths import Home, expectations_directory
from target_health.times import stamp
from target_health.warehouse.published import open_published
from target_health.warehouse.rows import rows_of

suite = typer.Typer(help="Great Expectations suites: what the items of a page type must be.")

# Enough to see what is usual; more would take long to read.
ITEMS_PROFILED = 20_000
LOOK_BACK = timedelta(days=14)

ITEMS = """
SELECT ts, site, item
FROM crawl_log
WHERE verdict = 'ok' AND item IS NOT NULL AND coalesce(page_type, '') = ? AND ts >= ?
ORDER BY ts DESC
LIMIT ?
"""
PAGE_TYPES = """
SELECT coalesce(page_type, '') AS page_type
FROM crawl_log
WHERE verdict = 'ok' AND item IS NOT NULL AND ts >= ?
GROUP BY ALL ORDER BY count(*) DESC
"""


@suite.callback()
def group() -> None:
    """Great Expectations suites: what the items of a page type must be."""


@suite.command()
def draft(
    page_type: Annotated[str, typer.Argument(metavar="PAGE_TYPE")],
    write: Annotated[
        bool, typer.Option("--write", help="Write the file, where the page type has none.")
    ] = False,
) -> None:
    """Propose a suite from the newest landed items of a page type."""
    limits = load_configuration().extraction
    with open_published(Home.from_environment()) as connection:
        rows = newest_items(connection, page_type)
    proposed = draft_suite(
        page_type,
        (row["item"] for row in rows),
        usual_share=limits.draft_usual_share,
        fields_kept=limits.fields_kept,
    )
    if not proposed.fields:
        raise UsageError(f"the items of page type {page_type!r} hold no values to propose from")
    sites = len({row["site"] for row in rows})
    text = proposed.as_yaml(
        f"of {sites:,} site{'s' if sites > 1 else ''}, "
        f"{stamp(rows[-1]['ts'])} to {stamp(rows[0]['ts'])}"
    )
    if not write:
        typer.echo(text, nl=False)
        return
    path = write_new(page_type, text)
    console().print(f"Wrote {path}: edit it; the next run uses it.", markup=False, soft_wrap=True)


def newest_items(connection: duckdb.DuckDBPyConnection, page_type: str) -> list[dict[str, Any]]:
    """Fetches with an item, newest first; raises ``UsageError`` where there are none."""
    (newest,) = connection.execute("SELECT max(ts) FROM crawl_log").fetchone() or (None,)
    since = newest - LOOK_BACK if newest else None
    rows = rows_of(connection, ITEMS, [page_type, since, ITEMS_PROFILED])
    if rows:
        return rows
    known = [row["page_type"] or "''" for row in rows_of(connection, PAGE_TYPES, [since])]
    there = f"there are {', '.join(known)}" if known else "no log had any `item`"
    raise UsageError(f"no items of page type {page_type!r} in the newest two weeks; {there}")


def write_new(page_type: str, text: str) -> Path:
    directory = expectations_directory()
    suites = load_suites(directory)
    known = suites.good.get(page_type) or suites.broken.get(page_type)
    name = re.sub(r"[^\w.-]+", "_", page_type).strip("._") or "no_page_type"
    path = directory / f"{known.name if known else name}.yaml"
    if known or path.exists():
        raise UsageError(f"{path}: page type {page_type!r} has a suite already; edit that one")
    directory.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@suite.command()
def check(json: Json = False) -> None:
    """Read every suite, and have Great Expectations read it too."""
    directory = expectations_directory()
    suites = load_suites(directory)
    rows = checked(suites)
    if json:
        print_json(rows)
    else:
        columns = ("page type", "file", "fields", "expectations", "problem")
        table = Table(*columns, title=str(directory))
        for row in rows:
            table.add_row(*("" if value is None else str(value) for value in row.values()))
        console().print(table)
    wrong = [row for row in rows if row["problem"]]
    if wrong:
        raise ConfigurationError(str(wrong[0]["problem"]))


def checked(suites: Suites) -> list[dict[str, Any]]:
    """One row a suite, with what is wrong with it."""
    from target_health.extraction.validation import CannotValidate, expectation_of

    rows: list[dict[str, Any]] = []
    for good in suites.good.values():
        problem = None
        try:
            for one in good.checks:
                expectation_of(one, one.field)
        except CannotValidate as refused:
            problem = f"{good.name}: {refused}"
        rows.append(
            {
                "page_type": good.page_type,
                "file": good.name,
                "fields": len(good.fields),
                "expectations": len(good.checks),
                "problem": problem,
            }
        )
    for broken in suites.broken.values():
        rows.append(
            {
                "page_type": broken.page_type,
                "file": broken.name,
                "fields": None,
                "expectations": None,
                "problem": broken.reason,
            }
        )
    return sorted(rows, key=lambda row: row["page_type"])
