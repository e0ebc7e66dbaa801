"""Frames as tables, for a while."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import duckdb
import pandas as pd


@contextmanager
def registered(
    connection: duckdb.DuckDBPyConnection, frames: Mapping[str, pd.DataFrame]
) -> Iterator[None]:
    """Let queries read the frames under their names."""
    # A result that nobody read to its end keeps DuckDB from taking another frame.
    connection.execute("SELECT 0").fetchall()
    for name, frame in frames.items():
        connection.register(name, frame)
    try:
        yield
    finally:
        connection.execute("SELECT 0").fetchall()
        for name in frames:
            connection.unregister(name)
