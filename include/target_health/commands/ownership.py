"""Whose trouble it is, for ``status --why``: diagnosis, owner, and the arithmetic behind them."""

from __future__ import annotations

from typing import Any

import duckdb

from target_health.config import Configuration
from target_health.control import effective_cost, in_money
from target_health.times import stamp
from target_health.warehouse.rows import rows_of

OWNERS = {
    "crawl": "the site turned against us",
    "parser": "the site changed, and extraction with it",
    "route": "the route broke: its owner is to be told, the site is not slowed for it",
}
DIAGNOSED = """
SELECT
    diagnoses.*,
    health.sites,
    health.diagnosed_sites,
    coalesce(health.down, FALSE) AS down
FROM route_diagnoses AS diagnoses
LEFT JOIN route_health AS health
    ON diagnoses.dimension = health.dimension AND diagnoses.value = health.value
WHERE diagnoses.site = ? AND diagnoses.window_start = ? AND diagnoses.config_version = ?
"""
EXTRACTED = """
SELECT
    found.extractions,
    found.valid,
    bases.base_invalid_rate
FROM extraction_windows AS found
INNER JOIN site_baselines AS bases
    ON found.site = bases.site AND found.window_start = bases.window_start
WHERE found.site = ? AND found.window_start = ? AND bases.config_version = ?
"""


def diagnosed_route(
    connection: duckdb.DuckDBPyConnection, row: dict[str, Any]
) -> dict[str, Any] | None:
    """The row of ``route_diagnoses`` behind a row of ``site_health``, with the route's health."""
    if row["owner"] != "route":
        return None
    key = [row["site"], row["window_start"], row["config_version"]]
    return next(iter(rows_of(connection, DIAGNOSED, key)), None)


def ownership(
    connection: duckdb.DuckDBPyConnection, row: dict[str, Any], configuration: Configuration
) -> list[str]:
    """Whose trouble a row of ``site_health`` is, line by line."""
    lines = [f"  diagnosis {row['diagnosis'] or 'none'}, owner {owner_text(row['owner'])}"]
    route = diagnosed_route(connection, row)
    if route is not None:
        lines += ["  " + line for line in route_lines(route)]
    if row["parser_health"] is not None:
        key = [row["site"], row["window_start"], row["config_version"]]
        scoring = configuration.scoring_of(row["site"])
        for found in rows_of(connection, EXTRACTED, key):
            lines.append("  " + parser_line(row, found, scoring.full_invalid_rise))
    return lines + ["  " + line for line in cost_lines(row, configuration)]


def owner_text(owner: str | None) -> str:
    return "nobody" if owner is None else f"{owner} ({OWNERS[owner]})"


def route_lines(route: dict[str, Any]) -> list[str]:
    """Why the route and not the site."""
    name = f"{route['dimension']}={route['value']}"
    held = route["value_excess_failures"] / route["excess_failures"]
    rest = route["rest_failures"] / route["rest_fetches"]
    lines = [
        f"since {stamp(route['split_start'])} {route['split_failures']} of "
        f"{route['split_fetches']} fetches failed, {route['excess_failures']:.1f} beyond the "
        f"site's usual {route['base_failure_share']:.1%}",
        f"{name} holds {held:.0%} of those: {route['value_failures']} of its "
        f"{route['value_fetches']} failed; of the other {route['rest_fetches']} "
        f"{route['rest_failures']}, {rest:.1%} against their usual "
        f"{route['rest_base_failure_share']:.1%}",
        f"score, served share, delivery and p95 are of what did not take {name}",
    ]
    if route["down"]:
        lines.append(
            f"{name} is down: named on {route['diagnosed_sites']} of the {route['sites']} sites "
            "that it serves"
        )
    return lines


def parser_line(row: dict[str, Any], found: dict[str, Any], full_rise: float) -> str:
    invalid = 1 - found["valid"] / found["extractions"]
    return (
        f"parser health = 100 x (1 - min(1, max(0, ({invalid:.4f} - "
        f"{found['base_invalid_rate']:.4f}) / {full_rise:g}))) = {row['parser_health']:.1f} "
        f"({found['valid']} of {found['extractions']} valid)"
    )


def cost_lines(row: dict[str, Any], configuration: Configuration) -> list[str]:
    """What a record costs, against the usual; in money where a price is known."""
    cost, unit = row["cost_per_record"], row["cost_unit"]
    if cost is None:
        return []
    entry = configuration.sites.entry(row["site"])
    price = entry.price_per_credit if unit == "credits" else entry.price_per_attempt
    paid = in_money(cost, unit, entry)
    money = "" if price is None else f" at {price:g} = {paid:.4g}"
    ratio = "" if row["cost_ratio"] is None else f", {row['cost_ratio']:.2f} times the usual"
    lines = [f"cost of a record {cost:.3g} {unit}{money}{ratio}"]
    effective = effective_cost(paid, row["smoothed_score"])
    if effective is not None:
        lines.append(f"effective cost = cost x 100 / max(smoothed score, 10) = {effective:.4g}")
    return lines
