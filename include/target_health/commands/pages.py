"""``pages``: who was told what, and what reached nobody yet; ``digest``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from target_health import job
from target_health.commands.output import console, print_json
from target_health.commands.runs import Json
from target_health.config import load_configuration
from target_health.paging import PagingReport, configured_targets
from target_health.paging.digests import daily_digest, weekly_digest
from target_health.paths import Home
from target_health.times import stamp, utc_now
from target_health.warehouse.published import open_published
from target_health.warehouse.rows import rows_of

NEWEST = "SELECT * FROM pages ORDER BY (state <> 'waiting'), queued_at DESC LIMIT ?"
DELIVERIES = "SELECT * FROM page_deliveries ORDER BY page_id, target"


def pages(
    send: Annotated[bool, typer.Option("--send", help="Try now those that wait.")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many to show.")] = 20,
    json: Json = False,
) -> None:
    """Pages and digests: first those that reached nobody yet, then the newest."""
    home = Home.from_environment()
    if send:
        report = job.page_step(
            home, load_configuration(), configured_targets(), now=utc_now(), due=False
        )
        if not json:
            print_paging(report)
    with open_published(home) as connection:
        rows = rows_of(connection, NEWEST, [limit])
        deliveries = rows_of(connection, DELIVERIES)
    for row in rows:
        row["deliveries"] = [one for one in deliveries if one["page_id"] == row["page_id"]]
    if json:
        print_json(rows)
        return
    shown = console()
    for row in rows:
        for line in page_lines(row):
            shown.print(line, markup=False, soft_wrap=True)
    if not rows:
        shown.print("No page was ever due.")


def digest(
    weekly: Annotated[bool, typer.Option("--weekly", help="The week's digest.")] = False,
    send: Annotated[bool, typer.Option("--send", help="Send it too, once a day.")] = False,
) -> None:
    """What is worth a look and no page: the day's digest, or the week's."""
    home, configuration, now = Home.from_environment(), load_configuration(), utc_now()
    if send:
        report = job.digest_step(home, configuration, configured_targets(), now=now, weekly=weekly)
        print_paging(report)
        return
    with open_published(home) as connection:
        page = (weekly_digest if weekly else daily_digest)(connection, configuration, now)
    shown = console()
    shown.print(page.title, markup=False)
    shown.print(page.body, markup=False, soft_wrap=True)


def page_lines(row: dict[str, Any]) -> list[str]:
    """One page and where it went."""
    lines = [f"{stamp(row['queued_at'])}  {row['state']}  {row['owner']}  {row['title']}"]
    for one in row["deliveries"]:
        came = "delivered" if one["delivered_at"] else f"not delivered: {one['error']}"
        lines.append(f"    {one['target']}: {came}")
    return lines


def print_paging(report: PagingReport) -> None:
    shown = console()
    for line in report.lines() or ["No page is due or waiting."]:
        shown.print(line, markup=False, soft_wrap=True)
