"""Great Expectations' own verdict on each value, counted back, against a plain count."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from target_health.benchmarks.extraction_pieces import (
    EXPECTATIONS,
    count_plainly,
    great_expectations_alone,
    validate_and_count,
)
from target_health.extraction.collecting import SuiteItems
from target_health.extraction.counting import Tally, count_back
from target_health.extraction.draft import draft_suite
from target_health.extraction.rules import HOLDS_A_VALUE, RULES
from target_health.extraction.suites import Suite, load_suites, make_suite
from target_health.extraction.validation import (
    CannotValidate,
    expectation_of,
    frame_of,
    great_expectations,
    validate,
)
from target_health.paths import SHIPPED_EXPECTATIONS
from target_health.verdicts import has_item_value

Value = Any
ARGUMENTS: dict[str, dict[str, Any]] = {
    "expect_column_values_to_not_be_null": {},
    "expect_column_values_to_be_null": {},
    "expect_column_values_to_be_between": {"min_value": 1, "max_value": 5},
    "expect_column_value_lengths_to_be_between": {"min_value": 1, "max_value": 3},
    "expect_column_value_lengths_to_equal": {"value": 2},
    "expect_column_values_to_be_in_set": {"value_set": ["a", "b", 1]},
    "expect_column_values_to_not_be_in_set": {"value_set": ["a", 2]},
    "expect_column_values_to_be_of_type": {"type_": "str"},
    "expect_column_values_to_be_in_type_list": {"type_list": ["int", "float", "dict"]},
    "expect_column_values_to_match_regex": {"regex": "^a"},
    "expect_column_values_to_not_match_regex": {"regex": "^a"},
    "expect_column_values_to_match_regex_list": {"regex_list": ["^a", "b$"]},
    "expect_column_values_to_not_match_regex_list": {"regex_list": ["^a", "b$"]},
    "expect_column_values_to_match_strftime_format": {"strftime_format": "%Y-%m-%d"},
    "expect_column_values_to_be_dateutil_parseable": {},
    "expect_column_values_to_be_json_parseable": {},
}
# What a plain reading of some expectations says of a value that is there.
PLAIN: dict[str, Callable[[Value], bool]] = {
    "expect_column_values_to_be_between": lambda v: isinstance(v, int | float) and 1 <= v <= 5,
    "expect_column_values_to_be_in_set": lambda v: (
        not isinstance(v, list | dict) and v in ("a", "b", 1)
    ),
    "expect_column_values_to_be_of_type": lambda v: isinstance(v, str),
    "expect_column_values_to_be_in_type_list": lambda v: isinstance(v, int | float | dict),
    "expect_column_values_to_match_regex": lambda v: str(v).startswith("a"),
    "expect_column_values_to_not_be_null": lambda v: True,
}
FIELDS = ("price", "seller.name", "größe")

values = (
    st.none()
    | st.sampled_from(["a", "ab", "b", "", " ", "2026-01-01", "{}", "ü€", "\U0001f600"])
    | st.text(max_size=4)
    | st.integers(-3, 9)
    | st.integers(10**30, 10**31)
    | st.floats(allow_nan=False)
    | st.booleans()
    | st.lists(st.integers(), max_size=2)
    | st.dictionaries(st.text(max_size=2), st.integers(), max_size=2)
)
records = st.fixed_dictionaries(
    {},
    optional={
        "name": values,
        "price": values,
        "seller": st.fixed_dictionaries({}, optional={"name": values}) | values,
        "a.b": values,
        "größe": values,
        "other": values,
    },
)
entries = records | st.none() | st.text(max_size=3) | st.integers() | st.lists(st.none())
items = entries | st.lists(entries, max_size=3)


def counted(suite: Suite, fetches: list[tuple[int, str]]) -> Tally:
    """Validate fetches of (window, item's text) as the job does."""
    held, tally = SuiteItems(suite), Tally()
    for window, text in fetches:
        held.add(window, text)
    outcomes = validate(suite, frame_of(held.columns)).outcomes if held.windows else ()
    count_back(
        tally,
        suite.page_type,
        np.array(held.windows, dtype=np.int64),
        outcomes,
        lost=held.lost,
        empty=np.array(held.empty, dtype=np.int64),
    )
    return tally


def counts_of(tally: Tally) -> dict[tuple[int, str, str], tuple[int, int]]:
    return {
        (row.number, row.field, row.expectation): (row.checked, row.failed)
        for row in tally.check_rows().itertuples()
    }


def value_of(record: dict[str, Any], path: str) -> Value:
    if path == "seller.name":
        seller = record.get("seller")
        return seller.get("name") if isinstance(seller, dict) else None
    return record.get(path)


def test_an_object_beside_other_values_costs_nothing_but_itself() -> None:
    suite = make_suite(
        "product",
        "product",
        {"price": {"expect_column_values_to_be_in_set": {"value_set": [5]}}},
    )
    items = [{"price": {}}, {"price": 7}, {"price": 5}, {"price": {"amount": 5}}]
    tally = counted(suite, [(1, json.dumps(item)) for item in items])
    assert counts_of(tally)[1, "price", "expect_column_values_to_be_in_set"] == (4, 3)


# Each example takes a run of Great Expectations, so a failing one is shown as it was found.
@settings(max_examples=8, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(st.lists(st.tuples(st.integers(0, 3), items), min_size=1, max_size=12))
def test_counts_by_field_equal_a_plain_pandas_count(fetches: list[tuple[int, Any]]) -> None:
    suite = make_suite(
        "product", "product", {name: {key: ARGUMENTS[key] for key in PLAIN} for name in FIELDS}
    )
    tally = counted(suite, [(window, json.dumps(item)) for window, item in fetches])
    rows = pd.DataFrame(
        [
            (window, entry if isinstance(entry, dict) else None)
            for window, item in fetches
            for entry in (item if isinstance(item, list) and item else [item])
        ],
        columns=["window", "record"],
    )
    rows["held"] = [bool(record) and has_item_value(record) for record in rows["record"]]
    is_record = rows["record"].notna()
    is_valid = rows["held"].copy()
    found = counts_of(tally)
    for window, group in rows.groupby("window"):
        assert found.pop((window, "", HOLDS_A_VALUE)) == (len(group), int((~group["held"]).sum()))
    for name in FIELDS:
        found_values = [value_of(record, name) for record in rows.loc[is_record, "record"]]
        index = rows.index[is_record]
        there = pd.Series([value is not None for value in found_values], index, dtype=bool)
        for expectation, plain in PLAIN.items():
            is_null_check = expectation == "expect_column_values_to_not_be_null"
            passes = pd.Series([plain(value) for value in found_values], index, dtype=bool)
            is_checked = pd.Series(True, index) if is_null_check else there
            fails = ~there if is_null_check else there & ~passes
            is_valid[index] &= ~fails
            for window, group in rows[is_record].groupby("window"):
                expected = (int(is_checked[group.index].sum()), int(fails[group.index].sum()))
                key = (window, name, expectation)
                assert found.pop(key) == expected, key
    assert found == {}
    totals = pd.concat(tally.extractions).groupby("number").sum()
    assert totals["extractions"].to_dict() == rows.groupby("window").size().to_dict()
    assert totals["valid"].to_dict() == is_valid.groupby(rows["window"]).sum().to_dict()


def test_every_rule_is_an_expectation_that_judges_each_value_alone() -> None:
    gx = great_expectations()
    from great_expectations.expectations.expectation import ColumnMapExpectation

    assert set(ARGUMENTS) == set(RULES)
    suite = make_suite("all", "all", {"field": ARGUMENTS})
    for check in suite.checks:
        expectation = expectation_of(check, check.field)
        assert isinstance(expectation, ColumnMapExpectation)
        # An argument that the rules allow is one that Great Expectations knows.
        assert RULES[check.expectation].allowed <= set(type(expectation).__fields__)
    assert gx.__version__


def test_one_odd_value_costs_itself_alone() -> None:
    """Each kind of value among the others, and by itself, for each expectation."""
    suite = make_suite("all", "all", {"field": ARGUMENTS})
    odd = ["text", 3, True, [1], {"a": 1}, 10**30, float("inf"), "2026-01-02"]
    among = validate(suite, frame_of({"field": odd})).outcomes
    for number, value in enumerate(odd):
        alone = validate(suite, frame_of({"field": [value]})).outcomes
        for one, all_of_them in zip(alone, among, strict=True):
            fails = number in all_of_them.failed
            assert fails == bool(len(one.failed)), (value, one.expectation)


def test_a_field_that_no_item_has_is_null_everywhere() -> None:
    suite = make_suite("product", "product", {"nothing": {**ARGUMENTS}})
    tally = counted(suite, [(0, '{"name": 1}'), (0, '{"name": 2}')])
    found = counts_of(tally)
    assert found[0, "nothing", "expect_column_values_to_not_be_null"] == (2, 2)
    assert found[0, "nothing", "expect_column_values_to_be_between"] == (0, 0)


def test_arguments_that_great_expectations_refuses_say_where() -> None:
    suite = make_suite(
        "product", "product", {"price": {"expect_column_values_to_be_between": {"min_value": []}}}
    )
    with pytest.raises(CannotValidate, match="price: expect_column_values_to_be_between: ") as told:
        validate(suite, frame_of({"price": [1]}))
    assert "\n" not in str(told.value)


def test_shipped_suites_are_accepted() -> None:
    for suite in load_suites(SHIPPED_EXPECTATIONS).good.values():
        assert len({type(expectation_of(check, check.field)) for check in suite.checks}) > 2


def test_a_proposal_is_met_by_the_items_it_comes_from() -> None:
    texts = [
        json.dumps({"name": f"n{n}", "price": n + 0.5, "tags": ["x"], "kind": "ab"[n % 2]})
        for n in range(60)
    ]
    draft = draft_suite("product", texts, usual_share=0.9, fields_kept=100)
    tally = counted(make_suite("product", "product", draft.fields), [(0, text) for text in texts])
    failed = Counter(row.failed for row in tally.check_rows().itertuples())
    assert failed == {0: 1 + sum(len(checks) for checks in draft.fields.values())}


def test_the_benchmark_counts_what_is_wrong() -> None:
    """Here, where Great Expectations is imported already, rather than beside the benchmarks."""
    done = validate_and_count(items=150)
    assert done["failed"] == count_plainly(items=150)["failed"] > 0
    assert EXPECTATIONS == 12
    assert great_expectations_alone(items=20)["seconds"] > 0


def test_the_commands_start_without_great_expectations() -> None:
    program = (
        "import sys, target_health.cli, target_health.job; target_health.cli.make_app();"
        "from target_health.extraction import suites, draft, step, validation, data_docs;"
        "sys.exit('great_expectations' in sys.modules)"
    )
    root = Path(__file__).parents[2] / "include"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
