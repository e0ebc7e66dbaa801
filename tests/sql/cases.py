"""Cases of the models as a tree of YAML, a folder a case: ``<model>/<case>/``.

``given/<table>.yaml`` lists the rows of an input table; what a row leaves out comes from
``defaults/<table>.yaml``, else it is null. ``parameters.yaml`` names the parameters that matter,
the others come from ``defaults/parameters.yaml``. ``expect.yaml`` lists every row that the model
gives, in any order, each with its grain and with those columns that the case is about.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import yaml

from target_health.modelling.models import PARAMETER, model_sql

TREE = Path(__file__).parent
DEFAULTS = TREE / "defaults"
TOLERANCE = 1e-8

Row = dict[str, Any]


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@cache
def defaults_of(name: str) -> dict[str, Any]:
    path = DEFAULTS / f"{name}.yaml"
    return read(path) if path.exists() else {}


@dataclass(frozen=True)
class Case:
    """One folder of the tree."""

    model: str
    path: Path

    @property
    def name(self) -> str:
        return f"{self.model}/{self.path.name}"

    def given(self) -> dict[str, list[Row]]:
        """Rows by input table."""
        return {
            path.stem: [{**defaults_of(path.stem), **row} for row in read(path)]
            for path in sorted((self.path / "given").glob("*.yaml"))
        }

    def parameters(self) -> dict[str, Any]:
        return {**defaults_of("parameters"), **read(self.path / "parameters.yaml")}

    def expected(self) -> list[Row]:
        rows: list[Row] = read(self.path / "expect.yaml")
        return rows


def all_cases() -> list[Case]:
    return [
        Case(path.parent.parent.name, path.parent) for path in sorted(TREE.glob("*/*/expect.yaml"))
    ]


def types_of(connection: duckdb.DuckDBPyConnection, table: str) -> dict[str, str]:
    """Types by column, in the table's order."""
    rows = connection.execute(f"DESCRIBE {table}").fetchall()
    return {row[0]: row[1] for row in rows}


def insert(connection: duckdb.DuckDBPyConnection, table: str, rows: Sequence[Row]) -> None:
    """Put rows in, every value as the type of its column; unknown columns are an error."""
    types = types_of(connection, table)
    for row in rows:
        marks = ", ".join(f"?::{types[column]}" for column in row)
        connection.execute(
            f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", list(row.values())
        )


def result_of(
    connection: duckdb.DuckDBPyConnection, model: str, parameters: Mapping[str, Any]
) -> list[Row]:
    """The rows that the model gives on what the tables hold."""
    select = model_sql(model)
    used = {name: parameters[name] for name in set(PARAMETER.findall(select))}
    connection.execute(f"CREATE OR REPLACE TEMP TABLE result AS {select}", used)
    return rows_of(connection, "result")


def rows_of(connection: duckdb.DuckDBPyConnection, table: str) -> list[Row]:
    cursor = connection.execute(f"SELECT * FROM {table}")
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def expected_rows(connection: duckdb.DuckDBPyConnection, expected: Sequence[Row]) -> list[Row]:
    """The expected rows with their values as the types of the result's columns."""
    connection.execute("CREATE OR REPLACE TEMP TABLE expected AS SELECT * FROM result WHERE FALSE")
    insert(connection, "expected", expected)
    typed = rows_of(connection, "expected")
    return [
        {column: row[column] for column in named}
        for row, named in zip(typed, expected, strict=True)
    ]


def differences(ours: Sequence[Row], expected: Sequence[Row], grain: Sequence[str]) -> list[str]:
    """What the model gives and was not expected, and the other way round; one line each."""
    left = by_grain(ours, grain)
    right = by_grain(expected, grain)
    found = []
    for key in sorted(left.keys() | right.keys(), key=str):
        given, wanted = left.get(key, []), right.get(key, [])
        if len(given) != len(wanted):
            found.append(f"{key}: {len(given)} rows, expected {len(wanted)}")
            continue
        for one, other in paired(given, wanted):
            found += [
                f"{key} {column}: {one[column]!r}, expected {other[column]!r}"
                for column in other
                if not same(one[column], other[column])
            ]
    return found


def by_grain(rows: Sequence[Row], grain: Sequence[str]) -> dict[tuple[Any, ...], list[Row]]:
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[column] for column in grain), []).append(row)
    return groups


def paired(given: Sequence[Row], wanted: Sequence[Row]) -> list[tuple[Row, Row]]:
    """Rows side by side; where the grain is no key, in the order of what is expected of them."""
    if len(wanted) == 1:
        return [(given[0], wanted[0])]
    columns = list(wanted[0])
    return list(
        zip(
            sorted(given, key=lambda row: str([row[column] for column in columns])),
            sorted(wanted, key=lambda row: str([row[column] for column in columns])),
            strict=True,
        )
    )


def same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return bool(one == other)
