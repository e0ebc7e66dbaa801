"""Learned coverage: the fields that were always there, for page types without a suite.

They are learned once a UTC day, from windows at least a day older, and learned anew when an earlier
day's items changed; the windows that they judged are then validated again.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

import duckdb
import pandas as pd

from target_health.config import Configuration
from target_health.modelling.settings import make_site_settings
from target_health.warehouse.frames import registered
from target_health.warehouse.transactions import transaction

# The usual baseline period, or the longest one where that holds too few records.
LEARN = """
CREATE OR REPLACE TEMP TABLE learned_now AS
WITH periods AS (
    SELECT
        site,
        greatest($day_start - to_days(baseline_days), baseline_from) AS period_start,
        greatest($day_start - to_days(baseline_max_days), baseline_from) AS longest_start,
        $day_start - to_days(baseline_gap_days) AS period_end
    FROM (
        SELECT
            * REPLACE (CASE WHEN baseline_from <= $day_start THEN baseline_from END
                AS baseline_from)
        FROM site_settings
    )
),
history AS (
    SELECT
        coverage.site,
        coverage.page_type,
        coverage.field,
        sum(coverage.records) FILTER (
            coverage.window_start >= periods.period_start
        ) AS usual_records,
        sum(coverage.records) AS longest_records
    FROM field_coverage AS coverage
    INNER JOIN periods
        ON
            coverage.site = periods.site
            AND coverage.window_start >= periods.longest_start
            AND coverage.window_end <= periods.period_end
    GROUP BY coverage.site, coverage.page_type, coverage.field
),
totals AS (
    SELECT
        site,
        page_type,
        coalesce(usual_records, 0) >= $min_records AS is_usual,
        CASE
            WHEN coalesce(usual_records, 0) >= $min_records THEN usual_records
            ELSE longest_records
        END AS records
    FROM history
    WHERE field = ''
)
SELECT
    history.site,
    history.page_type,
    history.field
FROM history
INNER JOIN totals ON history.site = totals.site AND history.page_type = totals.page_type
WHERE
    history.field <> ''
    AND totals.records >= $min_records
    AND CASE WHEN totals.is_usual THEN history.usual_records ELSE history.longest_records END
    >= $always_share * totals.records - 1e-9
UNION ALL
SELECT site, '' AS page_type, '' AS field FROM site_settings
"""

# Of windows that are no more, too: those that lie across the ones that take their place.
COVERAGE_BEFORE = """
CREATE OR REPLACE TEMP TABLE coverage_before AS
SELECT coverage.*
FROM field_coverage AS coverage
SEMI JOIN piece_windows AS windows
    ON
        coverage.site = windows.site
        AND coverage.window_start < windows.window_end
        AND coverage.window_end > windows.window_start
"""

COVERAGE_NOW = """
CREATE OR REPLACE TEMP TABLE coverage_now AS
SELECT
    windows.site,
    windows.window_start,
    windows.window_end,
    coverage.page_type::VARCHAR AS page_type,
    coverage.field::VARCHAR AS field,
    coverage.records
FROM coverage INNER JOIN piece_windows AS windows ON coverage.number = windows.number
ORDER BY windows.window_start, windows.site
"""


def learn_day(
    connection: duckdb.DuckDBPyConnection,
    configuration: Configuration,
    day_start: datetime,
    touched: Collection[str],
) -> list[str]:
    """Learn the day's fields where they are unknown or may have changed.

    Returns the sites whose fields are others than those that their windows were judged by.
    """
    rows = connection.execute(
        "SELECT DISTINCT site FROM pending_windows WHERE day_start = $day_start"
        " EXCEPT SELECT site FROM learned_fields WHERE day_start = $day_start"
        " UNION SELECT DISTINCT site FROM learned_fields"
        " WHERE day_start = $day_start AND list_contains($touched::VARCHAR[], site)"
        " ORDER BY site",
        {"day_start": day_start, "touched": list(touched)},
    ).fetchall()
    sites = [site for (site,) in rows]
    if not sites:
        return []
    make_site_settings(connection, configuration, sites)
    connection.execute(
        LEARN,
        {
            "day_start": day_start,
            "min_records": configuration.extraction.min_records,
            "always_share": configuration.extraction.always_share,
        },
    )
    before = (
        "SELECT site, page_type, field FROM learned_fields"
        " WHERE day_start = $day_start AND site IN (SELECT site FROM site_settings)"
    )
    changed = connection.execute(
        f"SELECT DISTINCT site FROM (({before} EXCEPT FROM learned_now)"
        f" UNION ALL (FROM learned_now EXCEPT ({before})))"
        " WHERE site IN (SELECT site FROM learned_fields WHERE day_start = $day_start)"
        " ORDER BY site",
        {"day_start": day_start},
    ).fetchall()
    changed_sites = [site for (site,) in changed]
    with transaction(connection):
        connection.execute(
            "DELETE FROM learned_fields"
            " WHERE day_start = ? AND site IN (SELECT site FROM site_settings)",
            [day_start],
        )
        connection.execute(
            "INSERT INTO learned_fields SELECT site, ?, page_type, field FROM learned_now"
            " ORDER BY ALL",
            [day_start],
        )
        if changed_sites:
            # Should this run be killed now, the next one finds these windows by their marks.
            connection.execute(
                "DELETE FROM validated_windows WHERE window_start >= $day_start"
                " AND window_start < $day_start + INTERVAL 1 DAY"
                " AND list_contains($sites::VARCHAR[], site)",
                {"day_start": day_start, "sites": changed_sites},
            )
            connection.execute(
                "INSERT INTO rescore_sites SELECT unnest($sites::VARCHAR[]), $day_start",
                {"day_start": day_start, "sites": changed_sites},
            )
    return changed_sites


def learned_of_day(
    connection: duckdb.DuckDBPyConnection, day_start: datetime
) -> dict[tuple[str, str], frozenset[str]]:
    """The fields that were always there, by site and page type."""
    rows = connection.execute(
        "SELECT site, page_type, list(field) FROM learned_fields"
        " WHERE day_start = ? AND field <> '' GROUP BY site, page_type",
        [day_start],
    ).fetchall()
    return {(site, page_type): frozenset(fields) for site, page_type, fields in rows}


def later_learned_days(
    connection: duckdb.DuckDBPyConnection, day_start: datetime, sites: Collection[str]
) -> list[datetime]:
    """The days after this one for which something was learned about these sites."""
    rows = connection.execute(
        "SELECT DISTINCT day_start FROM learned_fields"
        " WHERE day_start > ? AND list_contains(?::VARCHAR[], site) ORDER BY 1",
        [day_start, list(sites)],
    ).fetchall()
    return [day for (day,) in rows]


def store_coverage(connection: duckdb.DuckDBPyConnection, coverage: pd.DataFrame) -> list[str]:
    """Replace the coverage of ``piece_windows``; the sites whose coverage changed."""
    with registered(connection, {"coverage": coverage}), transaction(connection):
        connection.execute(COVERAGE_BEFORE)
        connection.execute(
            "DELETE FROM field_coverage USING coverage_before AS before"
            " WHERE field_coverage.site = before.site"
            " AND field_coverage.window_start = before.window_start"
        )
        connection.execute(COVERAGE_NOW)
        connection.execute("INSERT INTO field_coverage BY NAME FROM coverage_now")
        changed = connection.execute(
            "SELECT DISTINCT site FROM ((FROM coverage_now EXCEPT FROM coverage_before)"
            " UNION ALL (FROM coverage_before EXCEPT FROM coverage_now)) ORDER BY site"
        ).fetchall()
    return [site for (site,) in changed]
