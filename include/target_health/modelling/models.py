"""Running a model: one SELECT file, into the table of its name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import duckdb

from target_health.paths import MODELS

PARAMETER = re.compile(r"\$([a-z_]+)")


@cache
def model_sql(name: str, directory: Path = MODELS) -> str:
    """The SELECT of ``sql/models/<name>.sql``."""
    return (directory / f"{name}.sql").read_text(encoding="utf-8")


def run_select(
    connection: duckdb.DuckDBPyConnection,
    prefix: str,
    name: str,
    parameters: Mapping[str, object],
) -> None:
    """Execute ``prefix`` and the model's SELECT, with those parameters that it names."""
    select = model_sql(name)
    used = {key: parameters[key] for key in set(PARAMETER.findall(select))}
    connection.execute(prefix + select, used)


def replace_range(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    parameters: Mapping[str, object],
    owned: str,
) -> None:
    """Replace the rows that a run owns by the model's; the caller holds the transaction.

    ``owned`` is the condition, over the table's columns, of the rows that the run replaces; like
    the model's own text it comes from this package, never from input. Rows of sites outside the
    temporary table ``site_settings`` are never touched.
    """
    condition = f"({owned}) AND site IN (SELECT site FROM site_settings)"
    used = {key: parameters[key] for key in set(PARAMETER.findall(condition))}
    connection.execute(f"DELETE FROM {name} WHERE {condition}", used)
    run_select(connection, f"INSERT INTO {name} BY NAME ", name, parameters)
