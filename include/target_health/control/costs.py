"""What a valid record effectively costs at a site: a scheduler's reason to go elsewhere."""

from __future__ import annotations

import duckdb

from target_health.config import Configuration
from target_health.config.sites import SiteEntry
from target_health.warehouse.rows import rows_of

# However low a score falls, a record is not called more than ten times as dear.
LOWEST_SCORE = 10.0


def effective_cost(cost_per_record: float | None, smoothed_score: float | None) -> float | None:
    """Cost of a valid record × 100 / max(smoothed score, 10); None where either is not known."""
    if cost_per_record is None or smoothed_score is None:
        return None
    return cost_per_record * 100 / max(smoothed_score, LOWEST_SCORE)


def in_money(cost_per_record: float | None, unit: str | None, entry: SiteEntry) -> float | None:
    """The cost at the site's price for its unit, or as it is where ``sites.yaml`` gives none."""
    if cost_per_record is None:
        return None
    price = entry.price_per_credit if unit == "credits" else entry.price_per_attempt
    return cost_per_record if price is None else cost_per_record * price


def set_effective_costs(con: duckdb.DuckDBPyConnection, configuration: Configuration) -> None:
    """Put each site's effective cost into ``site_state``, from ``site_health``."""
    rows = rows_of(con, "SELECT site, smoothed_score, cost_per_record, cost_unit FROM site_health")
    costs = [
        (
            row["site"],
            effective_cost(
                in_money(
                    row["cost_per_record"],
                    row["cost_unit"],
                    configuration.sites.entry(row["site"]),
                ),
                row["smoothed_score"],
            ),
        )
        for row in rows
    ]
    if not costs:
        return
    con.execute(
        "UPDATE site_state SET effective_cost = costs.cost FROM ("
        "SELECT unnest(?::VARCHAR[]) AS site, unnest(?::DOUBLE[]) AS cost"
        ") AS costs WHERE site_state.site = costs.site"
        " AND site_state.effective_cost IS DISTINCT FROM costs.cost",
        [[site for site, _ in costs], [cost for _, cost in costs]],
    )
