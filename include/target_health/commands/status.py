"""``status``: the fleet in a table, one site with its evidence, the arithmetic of a score."""

from __future__ import annotations

from datetime import timedelta
from difflib import get_close_matches
from typing import Annotated, Any

import duckdb
import typer

from target_health.commands.output import console, print_json
from target_health.commands.ownership import diagnosed_route, owner_text, ownership
from target_health.commands.runs import Json
from target_health.config import Configuration, load_configuration
from target_health.config.sites import normal_host
from target_health.errors import UsageError
from target_health.fleet_table import fleet_table
from target_health.paths import Home
from target_health.score_arithmetic import arithmetic
from target_health.times import stamp
from target_health.warehouse.published import open_published
from target_health.warehouse.rows import rows_of

FLEET = """
SELECT * FROM site_health
ORDER BY
    list_position(['resisting', 'degraded', 'healthy', 'unscored'], band),
    smoothed_score NULLS LAST, site
"""
SAMPLE = """
SELECT ts, status, error, verdict, evidence, url
FROM crawl_log
WHERE site = ? AND ts > ? AND ts <= ? AND verdict NOT IN ('ok', 'redirect')
ORDER BY ts DESC
LIMIT 10
"""
# Of the newest day that has windows.
UNCHECKED = """
SELECT page_type, reason, sum(items)::BIGINT AS items
FROM unchecked_items
WHERE
    window_start >= (SELECT max(window_end) FROM site_windows) - INTERVAL 1 DAY
    AND site = coalesce(?, site)
GROUP BY page_type, reason
ORDER BY page_type, reason
"""
UNHEARD = """
SELECT
    count(DISTINCT pages.page_id) AS waiting,
    min(pages.queued_at) AS oldest,
    arg_max(page_deliveries.error, page_deliveries.attempted_at) AS error
FROM pages LEFT JOIN page_deliveries USING (page_id)
WHERE pages.state = 'waiting'
"""


def status(
    site: Annotated[str | None, typer.Argument(metavar="[SITE]", show_default=False)] = None,
    why: Annotated[
        bool, typer.Option("--why", help="Show the penalty arithmetic line by line.")
    ] = False,
    json: Json = False,
) -> None:
    """How the fleet stands, or one site with its evidence."""
    configuration = load_configuration()
    with open_published(Home.from_environment()) as connection:
        rows = rows_of(connection, FLEET)
        if site is not None:
            if not json and is_only_watched(connection, rows, site):
                print_canaries(connection, normal_host(site))
                return
            rows = [only_row(rows, site)]
        if json:
            print_json(
                [
                    {
                        **row,
                        "why": arithmetic(row, configuration),
                        "route": diagnosed_route(connection, row),
                    }
                    for row in rows
                ]
                if why
                else rows
            )
            return
        shown = console()
        if not rows:
            shown.print("No sites yet: land a crawl log and run.")
            return
        shown.print(fleet_table(rows))
        for left_out in rows_of(connection, UNCHECKED, [site and rows[0]["site"]]):
            shown.print(unchecked_line(left_out), markup=False, soft_wrap=True)
        for line in unheard(connection):
            shown.print(line, markup=False, soft_wrap=True)
        for row in rows if why or site else []:
            shown.print()
            lines = explanation(row, configuration) if why else summary(row)
            if why and row["window_start"] is not None:
                lines += ownership(connection, row, configuration)
            for line in lines:
                shown.print(line, markup=False, soft_wrap=True)
        if site is not None:
            print_sample(connection, rows[0])
            print_canaries(connection, rows[0]["site"])


def print_sample(connection: duckdb.DuckDBPyConnection, row: dict[str, Any]) -> None:
    """The newest fetches of a site's last day that did not bring the page."""
    end = row["window_end"]
    if end is None:
        return
    shown = console()
    sample = rows_of(connection, SAMPLE, [row["site"], end - timedelta(days=1), end])
    shown.print("\nThe newest fetches of the last day that did not bring the page:")
    for fetch in sample:
        shown.print(fetch_line(fetch), markup=False, soft_wrap=True)
    if not sample:
        shown.print("  none")


def unheard(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """A warning while pages wait that reached nobody."""
    (row,) = rows_of(connection, UNHEARD)
    if not row["waiting"]:
        return []
    why = f": {row['error']}" if row["error"] else ""
    return [
        f"{row['waiting']} pages reached nobody yet, the oldest since {stamp(row['oldest'])}{why} "
        "(`target-health pages`)"
    ]


def only_row(rows: list[dict[str, Any]], site: str) -> dict[str, Any]:
    names = {row["site"]: row for row in rows}
    row = names.get(site) or names.get(normal_host(site))
    if row is None:
        close = get_close_matches(site, names, 3, 0.5)
        hint = f"; did you mean {', '.join(close)}?" if close else ""
        raise UsageError(f"{site}: no such site in the published database{hint}")
    return row


def unchecked_line(left_out: dict[str, Any]) -> str:
    """What parser health does not know, and why."""
    return (
        f"Not validated: page type {left_out['page_type'] or '(none)'} ({left_out['items']:,} "
        f"items of the newest day): {left_out['reason']}"
    )


def is_only_watched(
    connection: duckdb.DuckDBPyConnection, rows: list[dict[str, Any]], site: str
) -> bool:
    """Whether a site has canaries, and was never crawled yet."""
    name = normal_host(site)
    return name not in {row["site"] for row in rows} and bool(canary_lines(connection, name))


def print_canaries(connection: duckdb.DuckDBPyConnection, site: str) -> None:
    shown = console()
    for line in canary_lines(connection, site):
        shown.print(line, markup=False, soft_wrap=True)


def canary_lines(connection: duckdb.DuckDBPyConnection, site: str) -> list[str]:
    """What the site's canaries say, and how each one stands; nothing where it has none."""
    from target_health.canaries.storage import load_states, load_verdicts
    from target_health.canaries.tables import told

    verdict = load_verdicts(connection).get(site)
    if verdict is None:
        return []
    lines = [
        f"\nCanaries: {verdict.verdict}, {verdict.good_pages} of {verdict.pages} pages good as of "
        f"{stamp(verdict.observed_at)}",
        *(f"  {line}" for line in told(verdict)),
    ]
    for state in load_states(connection, [site]).values():
        detail = f": {state.newest_detail}" if state.newest_detail else ""
        good = f", last good {stamp(state.last_good_at)}" if state.last_good_at else ""
        lines.append(
            f"  {stamp(state.newest_at)}  {state.page} through {state.route}  "
            f"{state.newest_outcome}{detail}{good}"
        )
    return lines


def fetch_line(fetch: dict[str, Any]) -> str:
    answer = fetch["status"] if fetch["status"] is not None else fetch["error"] or "no answer"
    marks = f" [{', '.join(fetch['evidence'])}]" if fetch["evidence"] else ""
    return f"  {stamp(fetch['ts'])}  {answer}  {fetch['verdict']}{marks}  {fetch['url']}"


def summary(row: dict[str, Any]) -> list[str]:
    """One site in a few lines."""
    since = f" since {stamp(row['since'])}" if row["since"] else ""
    lines = [
        f"{row['site']}: {row['band']}, {row['state']}{since}",
        f"  window {span(row)}",
        f"  served share {number(row['served_share'])} (smoothed "
        f"{number(row['smoothed_served_share'])}), delivery {number(row['delivery_share'])} "
        f"(own normal {number(row['base_delivery_share'])})",
        f"  last fetch {stamp(row['last_fetch_at']) if row['last_fetch_at'] else 'unknown'}",
    ]
    if row["unscored_reason"]:
        lines.append(f"  no score for the newest window: {row['unscored_reason']}")
    if row["diagnosis"] or row["owner"]:
        lines.append(f"  diagnosis {row['diagnosis'] or 'none'}, owner {owner_text(row['owner'])}")
    if row["incident_id"]:
        lines.append(f"  incident {row['incident_id']} (`target-health incidents show`)")
    return lines


def span(row: dict[str, Any]) -> str:
    if row["window_start"] is None:
        return "none yet"
    return f"{stamp(row['window_start'])} to {stamp(row['window_end'])}"


def explanation(row: dict[str, Any], configuration: Configuration) -> list[str]:
    """The score's arithmetic, line by line."""
    head = f"{row['site']}: window {span(row)}"
    if row["window_start"] is None:
        return [head]
    if row["unscored_reason"]:
        return [
            head,
            f"  no score: {row['unscored_reason']} "
            f"({row['baseline_requests']} judged fetches on {row['baseline_days']} days in "
            "the baseline)",
        ]
    scoring = configuration.scoring_of(row["site"])
    parts = arithmetic(row, configuration)
    total = sum(part["points"] for part in parts)
    lines = [head, *("  " + part["text"] for part in parts)]
    lines.append(f"  score = 100 - {total:.3f} = {row['score']:.0f} (rounded half to even)")
    lines.append(
        f"  smoothed over {scoring.smoothing_hours} h, half-life "
        f"{scoring.smoothing_half_life_minutes:g} min: {number(row['smoothed_score'])}"
    )
    lines.append(
        f"  served share {number(row['served_share'])}, smoothed "
        f"{number(row['smoothed_served_share'])}; refusal below "
        f"{number(scoring.pause_below_served_share)}"
    )
    lines.append(f"  band {row['band']}, reasons: {', '.join(row['reasons']) or 'none'}")
    return lines


def number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"
