"""Reading what incidents are made from: one row a site, measured by SQL as of a run's end."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import duckdb

from target_health.config import Configuration
from target_health.decisions.records import SiteEvidence
from target_health.incidents.records import Standing
from target_health.warehouse.rows import rows_of

# A first movement is looked for this far back: slower than that, it is the site's own drift.
LOOKED_BACK_DAYS = 7
LOW = ("degraded", "resisting")

MEASURED = """
WITH windows AS (
    SELECT
        site, window_start, window_end, window_minutes, score, reasons, smoothed_served_share,
        diagnosis, parser_health, cost_ratio
    FROM site_scores
    WHERE
        config_version = $config_version
        AND window_end <= $as_of
        AND window_start >= $as_of - to_days($days)
),

newest_windows AS (
    SELECT
        site,
        arg_max_null(smoothed_served_share, window_start) AS served_share,
        arg_max_null(diagnosis, window_start) AS diagnosis,
        max(window_start) FILTER (len(reasons) > 0) AS reasoned_start,
        max(window_end) FILTER (parser_health IS NOT NULL) AS parser_end,
        arg_max(parser_health, window_start) < $parser_below AS is_parser_low,
        max(window_end) FILTER (cost_ratio IS NOT NULL) AS cost_end,
        arg_max(cost_ratio, window_start) >= $cost_above AS is_cost_high
    FROM windows
    GROUP BY site
),

quiet_windows AS (
    SELECT
        windows.site,
        max(windows.window_start) AS window_start
    FROM windows
    INNER JOIN newest_windows USING (site)
    WHERE
        windows.score IS NOT NULL
        AND len(windows.reasons) = 0
        AND windows.window_start < newest_windows.reasoned_start
    GROUP BY windows.site
),

lasting AS (
    SELECT
        windows.site,
        min(windows.window_start) FILTER (
            len(windows.reasons) > 0
            AND (quiet_windows.site IS NULL OR windows.window_start > quiet_windows.window_start)
        ) AS moved_at,
        sum(windows.window_minutes) FILTER (
            windows.parser_health < $parser_below
            AND windows.window_end > newest_windows.parser_end - to_hours($low_within_hours)
        ) AS parser_low_minutes,
        sum(windows.window_minutes) FILTER (
            windows.cost_ratio >= $cost_above
            AND windows.window_end > newest_windows.cost_end - to_hours($low_within_hours)
        ) AS cost_high_minutes
    FROM windows
    INNER JOIN newest_windows USING (site)
    LEFT JOIN quiet_windows USING (site)
    GROUP BY windows.site
)

SELECT
    newest_windows.site,
    newest_windows.served_share,
    newest_windows.diagnosis,
    lasting.moved_at,
    CASE
        WHEN newest_windows.parser_end > $as_of - INTERVAL 24 HOUR
            THEN
                newest_windows.is_parser_low
                AND coalesce(lasting.parser_low_minutes, 0) >= $low_minutes
    END AS parser_low,
    CASE
        WHEN newest_windows.cost_end > $as_of - INTERVAL 24 HOUR
            THEN
                newest_windows.is_cost_high
                AND coalesce(lasting.cost_high_minutes, 0) >= $low_minutes
    END AS cost_high
FROM newest_windows
INNER JOIN lasting USING (site)
"""


def site_standings(
    con: duckdb.DuckDBPyConnection,
    configuration: Configuration,
    evidence: Iterable[SiteEvidence],
    as_of: datetime,
) -> list[Standing]:
    """How every site of the run's evidence stands as of ``as_of`` (naive UTC)."""
    rules = configuration.policy.incidents
    rows = rows_of(
        con,
        MEASURED,
        {
            "config_version": configuration.version,
            "as_of": as_of,
            "days": LOOKED_BACK_DAYS,
            "parser_below": rules.parser_below,
            "cost_above": rules.cost_above,
            "low_minutes": rules.low_minutes,
            "low_within_hours": rules.low_within_hours,
        },
    )
    measured = {row["site"]: row for row in rows}
    return [
        Standing(
            **{
                **measured.get(row.site, {}),
                "site": row.site,
                "band": row.band,
                "reasons": row.reasons,
                "score": row.smoothed_score,
                "delivery_low": row.delivery_low,
                "is_fresh": (row.fresh_band in LOW if row.band in LOW else row.fresh_delivery_low),
            }
        )
        for row in evidence
    ]
