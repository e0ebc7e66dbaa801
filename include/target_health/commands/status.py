"""``status``: the fleet in a table, one site with its evidence, the arithmetic of a score."""

from __future__ import annotations

from datetime import timedelta
from difflib import get_close_matches
from typing import Annotated, Any

import duckdb
import typer

from target_health.commands.output import console, print_json
from target_health.commands.runs import Json
from target_health.config import Configuration, load_configuration
from target_health.config.scoring import Scoring
from target_health.config.sites import normal_host
from target_health.errors import UsageError
from target_health.fleet_table import fleet_table
from target_health.paths import Home
from target_health.times import iso
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
                [{**row, "why": arithmetic(row, configuration)} for row in rows] if why else rows
            )
            return
        shown = console()
        if not rows:
            shown.print("No sites yet: land a crawl log and run.")
            return
        shown.print(fleet_table(rows))
        for line in unheard(connection):
            shown.print(line, markup=False, soft_wrap=True)
        for row in rows if why or site else []:
            shown.print()
            for line in explanation(row, configuration) if why else summary(row):
                shown.print(line, markup=False, soft_wrap=True)
        if site is not None and rows[0]["window_end"] is not None:
            end = rows[0]["window_end"]
            sample = rows_of(connection, SAMPLE, [rows[0]["site"], end - timedelta(days=1), end])
            shown.print("\nThe newest fetches of the last day that did not bring the page:")
            for fetch in sample:
                shown.print(fetch_line(fetch), markup=False, soft_wrap=True)
            if not sample:
                shown.print("  none")
        if site is not None:
            print_canaries(connection, rows[0]["site"])


def unheard(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """A warning while pages wait that reached nobody."""
    (row,) = rows_of(connection, UNHEARD)
    if not row["waiting"]:
        return []
    why = f": {row['error']}" if row["error"] else ""
    return [
        f"{row['waiting']} pages reached nobody yet, the oldest since {iso(row['oldest'])}{why} "
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
        f"{iso(verdict.observed_at)}",
        *(f"  {line}" for line in told(verdict)),
    ]
    for state in load_states(connection, [site]).values():
        detail = f": {state.newest_detail}" if state.newest_detail else ""
        good = f", last good {iso(state.last_good_at)}" if state.last_good_at else ""
        lines.append(
            f"  {iso(state.newest_at)}  {state.page} through {state.route}  "
            f"{state.newest_outcome}{detail}{good}"
        )
    return lines


def fetch_line(fetch: dict[str, Any]) -> str:
    answer = fetch["status"] if fetch["status"] is not None else fetch["error"] or "no answer"
    marks = f" [{', '.join(fetch['evidence'])}]" if fetch["evidence"] else ""
    return f"  {iso(fetch['ts'])}  {answer}  {fetch['verdict']}{marks}  {fetch['url']}"


def summary(row: dict[str, Any]) -> list[str]:
    """One site in a few lines."""
    since = f" since {iso(row['since'])}" if row["since"] else ""
    lines = [
        f"{row['site']}: {row['band']}, {row['state']}{since}",
        f"  window {span(row)}",
        f"  served share {number(row['served_share'])} (smoothed "
        f"{number(row['smoothed_served_share'])}), delivery {number(row['delivery_share'])} "
        f"(own normal {number(row['base_delivery_share'])})",
        f"  last fetch {iso(row['last_fetch_at']) if row['last_fetch_at'] else 'unknown'}",
    ]
    if row["unscored_reason"]:
        lines.append(f"  no score for the newest window: {row['unscored_reason']}")
    if row["incident_id"]:
        lines.append(f"  incident {row['incident_id']} (`target-health incidents show`)")
    return lines


def span(row: dict[str, Any]) -> str:
    if row["window_start"] is None:
        return "none yet"
    return f"{iso(row['window_start'])} to {iso(row['window_end'])}"


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
    lines = [head]
    for part in arithmetic(row, configuration):
        lines.append("  " + part["text"])
    total = sum(part["points"] for part in arithmetic(row, configuration))
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


def arithmetic(row: dict[str, Any], configuration: Configuration) -> list[dict[str, Any]]:
    """Each signal's points: now, own normal, weight, and the sum as text."""
    if row["score"] is None:
        return []
    scoring = configuration.scoring_of(row["site"])
    signals = ("hard_block", "challenge", "soft_block")
    parts = [rate_part(row, signal, scoring) for signal in signals]
    return [*parts, latency_part(row, scoring)]


def rate_part(row: dict[str, Any], signal: str, scoring: Scoring) -> dict[str, Any]:
    now, base = row[f"{signal}_rate"], row[f"base_{signal}_rate"]
    points, weight = row[f"{signal}_penalty"], getattr(scoring.weights, signal)
    return {
        "signal": signal,
        "now": now,
        "base": base,
        "weight": weight,
        "points": points,
        "text": f"{signal:<10} {weight:g} x min(1, max(0, ({now:.4f} - {base:.4f}) / "
        f"{scoring.full_rate_rise:g})) = {points:.3f}",
    }


def latency_part(row: dict[str, Any], scoring: Scoring) -> dict[str, Any]:
    now, base, points = row["p95_latency_ms"], row["base_p95_latency_ms"], row["latency_penalty"]
    weight = scoring.weights.latency
    if now is None or base is None:
        text = f"{'latency':<10} no p95 now or in the baseline = {points:.3f}"
    else:
        text = (
            f"{'latency':<10} {weight:g} x min(1, max(0, ({now:.1f} ms / {max(base, 1):.1f} ms - 1)"
            f" / {scoring.full_latency_factor - 1:g})) = {points:.3f}"
        )
    return {
        "signal": "latency",
        "now": now,
        "base": base,
        "weight": weight,
        "points": points,
        "text": text,
    }


def number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"
