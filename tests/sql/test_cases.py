"""Every model on given rows gives the expected rows; the tree beside this file is the data."""

from __future__ import annotations

import duckdb
import pytest

from target_health.paths import MODELS
from tests.sql.cases import Case, all_cases, differences, expected_rows, insert, result_of
from tests.sql.sidecars import sidecar

CASES = all_cases()


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in CASES])
def test_model_gives_what_is_expected(case: Case, warehouse: duckdb.DuckDBPyConnection) -> None:
    for table, rows in case.given().items():
        insert(warehouse, table, rows)
    ours = result_of(warehouse, case.model, case.parameters())
    expected = expected_rows(warehouse, case.expected())
    found = differences(ours, expected, sidecar(case.model)["grain"])
    assert not found, "\n".join(found)


def test_every_model_has_cases() -> None:
    assert {path.stem for path in MODELS.glob("*.sql")} == {case.model for case in CASES}


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in CASES])
def test_case_gives_all_that_the_model_reads(case: Case) -> None:
    """No file of a case is without effect: what is given is read."""
    assert case.given().keys() <= set(sidecar(case.model)["reads"])
