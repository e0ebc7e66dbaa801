"""The published view ``crawl_log`` over the lake's committed files."""

from __future__ import annotations

import duckdb

from target_health.landing.schema import CRAWL_LOG, LAKE
from target_health.paths import Home
from target_health.readers.sql_text import literal


def crawl_log_view_sql(
    connection: duckdb.DuckDBPyConnection, home: Home, *, internal: bool = False
) -> str:
    """A SELECT of ``crawl_log``'s columns over the committed files, by absolute path.

    Typed and empty when there are none. ``internal`` adds the columns that only models use.
    """
    columns = LAKE if internal else CRAWL_LOG
    paths = connection.execute("SELECT path FROM lake_files ORDER BY hour_start, path").fetchall()
    return lake_sql([str(home.root / path) for (path,) in paths], columns)


def lake_sql(paths: list[str], columns: dict[str, str]) -> str:
    """A SELECT of the columns over lake files."""
    if not paths:
        typed = ", ".join(f"NULL::{kind} AS {name}" for name, kind in columns.items())
        return f"SELECT {typed} WHERE false"
    files = ", ".join(literal(path) for path in paths)
    return f"SELECT {', '.join(columns)} FROM read_parquet([{files}], hive_partitioning = false)"
