"""The temporary view ``lake_fetches``: the landed fetches of some hours, for the models."""

from __future__ import annotations

from datetime import datetime

import duckdb

from target_health.landing.schema import LAKE
from target_health.landing.view import lake_sql
from target_health.paths import Home
from target_health.times import floor_hour

# DuckDB's own names for where a row stands: a row's identity that costs next to nothing to read.
ROW_PLACE = {"file_index": "UBIGINT", "file_row_number": "BIGINT"}
LAKE_ROWS = {**LAKE, **ROW_PLACE}


def show_lake_fetches(
    connection: duckdb.DuckDBPyConnection,
    home: Home,
    start: datetime,
    end: datetime,
    *,
    only_site_settings: bool = False,
) -> None:
    """Make ``lake_fetches`` the committed fetches with ts in [start, end)."""
    # The largest first: DuckDB takes the first file's rows for each one's when it plans the joins,
    # and stragglers' few made it hash all fetches instead of the sites.
    paths = connection.execute(
        "SELECT path FROM lake_files WHERE hour_start >= ? AND hour_start < ?"
        " ORDER BY row_count DESC, path",
        [floor_hour(start), end],
    ).fetchall()
    fetches = lake_sql([str(home.root / path) for (path,) in paths], LAKE_ROWS)
    condition = f"ts >= TIMESTAMP '{start}' AND ts < TIMESTAMP '{end}'"
    if only_site_settings:
        condition += " AND site IN (SELECT site FROM site_settings)"
    connection.execute(
        f"CREATE OR REPLACE TEMP VIEW lake_fetches AS SELECT * FROM ({fetches}) WHERE {condition}"
    )
