"""How far the models have been made, and what is to be made again."""

from __future__ import annotations

from datetime import datetime

import duckdb


def modelled_until(connection: duckdb.DuckDBPyConnection, name: str) -> datetime | None:
    """The time up to which every window has its rows; None before the first run.

    ``name`` is ``windows``, or ``scores`` and a configuration's version.
    """
    row = connection.execute(
        "SELECT max(until_at) FROM model_progress WHERE name = ?", [name]
    ).fetchone()
    return row[0] if row else None


def set_modelled_until(connection: duckdb.DuckDBPyConnection, name: str, until: datetime) -> None:
    connection.execute("DELETE FROM model_progress WHERE name = ?", [name])
    connection.execute("INSERT INTO model_progress VALUES (?, ?)", [name, until])


def scores_name(config_version: str) -> str:
    """The progress name of the scores under one configuration."""
    return f"scores {config_version}"
