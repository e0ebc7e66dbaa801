"""Every model is one SELECT, and its sidecar says what it is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import duckdb
import pytest

from target_health.modelling.models import PARAMETER, model_sql
from target_health.paths import MODELS
from tests.sql.cases import defaults_of, types_of
from tests.sql.sidecars import sidecar

MODEL_NAMES = sorted(path.stem for path in MODELS.glob("*.sql"))
MADE_BY_MODELS = {"window_fetches", "site_health", "route_health", "site_evidence"}
NOT_REPEATABLE = re.compile(
    r"\b(now|today|random|uuid|get_current_\w+|transaction_timestamp)\s*\("
    r"|\b(current_timestamp|current_date|current_time|localtimestamp|localtime)\b",
    re.IGNORECASE,
)


def code_of(model: str) -> str:
    """The SELECT without its comments."""
    return re.sub(r"--.*", "", model_sql(model))


def select_of(model: str) -> str:
    """The SELECT with values of their types in place of its parameters."""
    parameters = {
        **defaults_of("parameters"),
        "start": "2026-01-01",
        "end": "2026-01-02",
        "as_of": "2026-01-02",
    }
    return PARAMETER.sub(
        lambda match: f"'{parameters[match[1]]}'::{type_of(match[1])}", code_of(model)
    )


def nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """Every object of a JSON tree."""
    if isinstance(tree, dict):
        yield tree
    for part in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from nodes(part)


def tables_in(tree: Any) -> set[str]:
    """Tables of a parsed SELECT that are not its CTEs.

    ``get_table_names`` cannot tell them of an ASOF join.
    """
    named = {node["table_name"] for node in nodes(tree) if node.get("type") == "BASE_TABLE"}
    steps = {step["key"] for node in nodes(tree) for step in node.get("cte_map", {}).get("map", ())}
    return named - steps


@pytest.mark.parametrize("model", MODEL_NAMES)
def test_model_is_one_select_with_named_parameters(model: str) -> None:
    statements = duckdb.extract_statements(model_sql(model))
    assert len(statements) == 1
    assert statements[0].type == duckdb.StatementType.SELECT
    assert statements[0].named_parameters == set(PARAMETER.findall(code_of(model)))
    assert statements[0].named_parameters == set(sidecar(model)["parameters"])


@pytest.mark.parametrize("model", MODEL_NAMES)
def test_model_gives_the_same_whenever_it_runs(model: str) -> None:
    assert not NOT_REPEATABLE.search(code_of(model))


@pytest.mark.parametrize("text", ["now()", "CURRENT_TIMESTAMP", "x > today ()", "random()"])
def test_what_differs_from_run_to_run_is_recognised(text: str) -> None:
    assert NOT_REPEATABLE.search(text)


def test_every_sidecar_has_its_model() -> None:
    assert sorted(path.stem for path in MODELS.glob("*.yml")) == MODEL_NAMES


@pytest.mark.parametrize("model", MODEL_NAMES)
def test_sidecar_says_what_the_model_is_for(model: str) -> None:
    content = sidecar(model)
    assert list(content) == ["purpose", "grain", "parameters", "reads", "columns"]
    assert len(content["purpose"].split()) >= 10
    for part in ("parameters", "reads"):
        assert all(isinstance(meaning, str) for meaning in content[part].values()), part


@pytest.mark.parametrize("model", MODEL_NAMES)
def test_sidecar_names_every_table_that_is_read(
    model: str, warehouse: duckdb.DuckDBPyConnection
) -> None:
    (tree,) = warehouse.execute("SELECT json_serialize_sql(?)", [select_of(model)]).fetchone() or ()
    assert set(sidecar(model)["reads"]) == tables_in(json.loads(tree))


@pytest.mark.parametrize("model", MODEL_NAMES)
def test_sidecar_columns_are_the_models(model: str, warehouse: duckdb.DuckDBPyConnection) -> None:
    """Names, order and types: of the table from the migrations, and of what the SELECT gives."""
    content = sidecar(model)
    described = {name: column["type"] for name, column in content["columns"].items()}
    warehouse.execute(f"CREATE OR REPLACE TEMP TABLE made AS {select_of(model)}")
    made = types_of(warehouse, "made")
    if model in MADE_BY_MODELS:
        assert made == described
        assert list(made) == list(described)
    else:
        table = types_of(warehouse, model)
        assert table == described
        assert list(table) == list(described)
        assert made.keys() == described.keys()
    assert set(content["grain"]) <= described.keys()


def type_of(parameter: str) -> str:
    if parameter in ("start", "end", "as_of"):
        return "TIMESTAMP"
    return "VARCHAR" if parameter == "config_version" else "BIGINT"


@pytest.mark.parametrize("model", MODEL_NAMES)
def test_every_column_has_type_unit_and_meaning(model: str) -> None:
    for name, column in sidecar(model)["columns"].items():
        assert list(column) == ["type", "unit", "meaning"], name
        assert all(isinstance(text, str) and text for text in column.values()), name


@pytest.mark.parametrize("model", MODEL_NAMES)
def test_units_stand_in_the_names(model: str) -> None:
    """A column named for its unit has that unit."""
    units = {
        "_ms": "ms",
        "_minutes": "minutes",
        "_at": "UTC",
        "_start": "UTC",
        "_end": "UTC",
        "_rate": "share",
        "_share": "share",
        "_bytes": "bytes",
        "_penalty": "points",
    }
    for name, column in sidecar(model)["columns"].items():
        for ending, unit in units.items():
            if name.endswith(ending):
                assert column["unit"].startswith(unit), name
