"""Warehouses made of given rows, for tests of the models."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd

from target_health.config import Configuration, load_configuration
from target_health.landing.schema import LAKE
from target_health.modelling.progress import set_modelled_until
from target_health.paths import Home
from target_health.warehouse.migrations import migrate


def make_warehouse(home: Home) -> duckdb.DuckDBPyConnection:
    home.work.mkdir(parents=True, exist_ok=True)
    connection = duckdb.connect(str(home.warehouse))
    connection.execute("SET TimeZone = 'UTC'")
    migrate(connection)
    return connection


def insert_rows(
    connection: duckdb.DuckDBPyConnection, table: str, rows: Sequence[dict[str, Any]]
) -> None:
    if not rows:
        return
    names = ", ".join(rows[0])
    marks = ", ".join("?" for _ in rows[0])
    connection.executemany(
        f"INSERT INTO {table} ({names}) VALUES ({marks})", [list(row.values()) for row in rows]
    )


def put_rows(
    connection: duckdb.DuckDBPyConnection, table: str, rows: Sequence[dict[str, Any]]
) -> None:
    """Many rows at once, their columns by name."""
    if not rows:
        return
    frame = pd.DataFrame(rows)
    connection.register("frame", frame)
    connection.execute(f"INSERT INTO {table} BY NAME SELECT * FROM frame")
    connection.unregister("frame")


def put_windows(
    connection: duckdb.DuckDBPyConnection, windows: Sequence[dict[str, Any]], until: datetime
) -> None:
    """Rows of ``site_windows`` as if they had been made until then."""
    put_rows(connection, "site_windows", windows)
    connection.execute("INSERT INTO known_sites SELECT DISTINCT site, NULL FROM site_windows")
    set_modelled_until(connection, "windows", until)


def put_fetches(
    connection: duckdb.DuckDBPyConnection, home: Home, fetches: Sequence[dict[str, Any]]
) -> None:
    """Fetches as landing leaves them: a file an hour, listed; and the hours that they touch."""
    rows = [
        {
            **{column: fetch.get(column) for column in LAKE},
            "event_id": fetch.get("event_id") or f"event-{number}",
            "item": json.dumps(fetch["item"]) if "item" in fetch else None,
            "evidence": list(fetch.get("evidence") or []),
        }
        for number, fetch in enumerate(fetches)
    ]
    frame = pd.DataFrame(rows, dtype=object)
    connection.register("frame", frame)
    casts = ", ".join(f"{name}::{kind} AS {name}" for name, kind in LAKE.items())
    connection.execute(f"CREATE OR REPLACE TEMP TABLE fetches AS SELECT {casts} FROM frame")
    connection.unregister("frame")
    hours = connection.execute(
        "SELECT DISTINCT date_trunc('hour', ts) FROM fetches ORDER BY 1"
    ).fetchall()
    for (hour,) in hours:
        path = Path("lake/crawl_log") / f"date={hour:%Y-%m-%d}" / f"hour={hour:%H}"
        (home.root / path).mkdir(parents=True, exist_ok=True)
        path /= f"{len(list((home.root / path).iterdir()))}.parquet"
        connection.execute(
            f"COPY (SELECT * FROM fetches WHERE date_trunc('hour', ts) = TIMESTAMP '{hour}')"
            f" TO '{home.root / path}' (FORMAT parquet)"
        )
        connection.execute(
            "INSERT INTO lake_files BY NAME SELECT ? AS path, ? AS hour_start, 1 AS row_count,"
            " 1 AS byte_count, TIMESTAMP '2000-01-01' AS landed_at",
            [str(path), hour],
        )
    connection.execute(
        "INSERT INTO landed_hours SELECT DISTINCT site, date_trunc('hour', ts) FROM fetches"
    )


def configuration_with(
    directory: Path,
    scoring: dict[str, Any] | None = None,
    sites: dict[str, dict[str, Any]] | None = None,
    policy: dict[str, Any] | None = None,
) -> Configuration:
    """A configuration directory with these changes, loaded."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, content in (
        ("scoring.yaml", scoring),
        ("sites.yaml", {"sites": sites} if sites else None),
        ("policy.yaml", policy),
    ):
        if content:
            text = json.dumps(content, default=lambda moment: moment.isoformat())
            (directory / name).write_text(text)
    return load_configuration(directory)
