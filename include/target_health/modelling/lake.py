"""The temporary view ``lake_fetches``: the landed fetches of some hours, for the models."""

from __future__ import annotations

from datetime import datetime

import duckdb

from target_health.paths import Home
from target_health.times import floor_hour

EMPTY_FETCHES = """
SELECT
    NULL::VARCHAR AS event_id, NULL::TIMESTAMP AS ts, NULL::VARCHAR AS site, NULL::VARCHAR AS url,
    NULL::VARCHAR AS page_type, NULL::INTEGER AS status, NULL::DOUBLE AS latency_ms,
    NULL::BIGINT AS bytes, NULL::BIGINT AS attempts, NULL::DOUBLE AS credits,
    NULL::VARCHAR AS final_url, NULL::VARCHAR AS content_hash, NULL::VARCHAR AS text_hash,
    NULL::VARCHAR AS verdict, NULL::VARCHAR AS item, NULL::BOOLEAN AS has_item_value,
    NULL::VARCHAR AS canary
WHERE FALSE
"""


def show_lake_fetches(
    connection: duckdb.DuckDBPyConnection,
    home: Home,
    start: datetime,
    end: datetime,
    *,
    only_site_settings: bool = False,
) -> None:
    """Make ``lake_fetches`` the committed fetches with ts in [start, end)."""
    rows = connection.execute(
        "SELECT path FROM lake_files WHERE hour_start >= ? AND hour_start < ? ORDER BY path",
        [floor_hour(start), end],
    ).fetchall()
    source = EMPTY_FETCHES
    if rows:
        files = ", ".join(quoted(str(home.root / path)) for (path,) in rows)
        source = (
            f"SELECT * FROM read_parquet([{files}], hive_partitioning = false)"
            f" WHERE ts >= TIMESTAMP '{start}' AND ts < TIMESTAMP '{end}'"
        )
        if only_site_settings:
            source += " AND site IN (SELECT site FROM site_settings)"
    connection.execute(f"CREATE OR REPLACE TEMP VIEW lake_fetches AS {source}")


def quoted(text: str) -> str:
    """Text as an SQL string literal."""
    return "'" + text.replace("'", "''") + "'"
