"""Validating made items, and Great Expectations or plain Python on the same ones, as pieces."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import numpy as np

from target_health.benchmarks.measuring import Report
from target_health.extraction.arguments import Arguments
from target_health.extraction.collecting import SuiteItems
from target_health.extraction.counting import Tally, count_back
from target_health.extraction.items import Record
from target_health.extraction.suites import Suite, make_suite
from target_health.extraction.validation import (
    expectation_of,
    frame_of,
    great_expectations,
    passing_context,
    validate,
)

PAGE_TYPES = ("product", "article", "listing")
WINDOWS = 1000

_THERE: dict[str, Arguments] = {"expect_column_values_to_not_be_null": {}}
_TEXT: dict[str, Arguments] = {"expect_column_values_to_match_regex": {"regex": r"\S"}}
FIELDS: dict[str, dict[str, Arguments]] = {
    "name": {**_THERE, **_TEXT, "expect_column_value_lengths_to_be_between": {"max_value": 40}},
    "price": {
        **_THERE,
        "expect_column_values_to_be_in_type_list": {"type_list": ["int", "float"]},
        "expect_column_values_to_be_between": {"min_value": 0, "strict_min": True},
    },
    "currency": {
        **_THERE,
        "expect_column_values_to_be_in_set": {"value_set": ["EUR", "USD", "GBP"]},
    },
    "in_stock": {"expect_column_values_to_be_in_type_list": {"type_list": ["bool"]}},
    "sku": {"expect_column_values_to_match_regex": {"regex": r"^SKU-\d{6}$"}},
    "rating": {"expect_column_values_to_be_between": {"min_value": 0, "max_value": 5}},
    "seller.name": _TEXT,
}
EXPECTATIONS = sum(len(checks) for checks in FIELDS.values())


def made_record(number: int) -> Record:
    """An item; some five in a hundred have something wrong."""
    wrong = number % 20 if number % 7 == 0 else 0
    return {
        "name": "" if wrong == 1 else f"Blue lamp {number % 9973}",
        "price": None if wrong == 2 else -1 if wrong == 3 else 4.99 + number % 300,
        "currency": None if wrong == 4 else "???" if wrong == 5 else "EUR",
        "in_stock": "yes" if wrong == 6 else number % 7 > 0,
        "sku": "none" if wrong == 7 else f"SKU-{number % 1_000_000:06}",
        "rating": 11 if wrong == 8 else 1 + number % 41 / 10,
        "seller": {"name": " " if wrong == 9 else f"Seller {number % 40}", "country": "DE"},
    }


def suites() -> list[Suite]:
    return [make_suite(page_type, page_type, FIELDS) for page_type in PAGE_TYPES]


def read_items(suite: Suite, items: int) -> SuiteItems:
    """The items of a page type, from the text that the lake holds."""
    held = SuiteItems(suite)
    for number in range(items):
        held.add(number % WINDOWS, json.dumps(made_record(number)))
    return held


def validate_and_count(items: int) -> Report:
    """What the job does: read, validate, count back."""
    great_expectations()
    tally = Tally()
    reading = validating = 0.0
    for suite in suites():
        began = time.perf_counter()
        held = read_items(suite, items)
        read = time.perf_counter()
        validation = validate(suite, frame_of(held.columns))
        count_back(
            tally,
            suite.page_type,
            np.array(held.windows, dtype=np.int64),
            validation.outcomes,
            lost=held.lost,
            empty=np.array(held.empty, dtype=np.int64),
        )
        reading += read - began
        validating += time.perf_counter() - read
    failed = sum(int(counts.failed.sum()) for counts in tally.checks)
    return {"seconds": validating, "reading_seconds": reading, "failed": failed}


def great_expectations_alone(items: int) -> Report:
    """Great Expectations on the same frames, as its documentation runs it."""
    gx = great_expectations()
    seconds = 0.0
    for suite in suites():
        frame = frame_of(read_items(suite, items).columns)
        expectations = [expectation_of(check, check.field) for check in suite.checks]
        began = time.perf_counter()
        asset = passing_context().data_sources.add_pandas("items").add_dataframe_asset(suite.name)
        batch = asset.add_batch_definition_whole_dataframe("all").get_batch({"dataframe": frame})
        batch.validate(gx.ExpectationSuite(name=suite.name, expectations=expectations))
        seconds += time.perf_counter() - began
    return {"seconds": seconds}


def count_plainly(items: int) -> Report:
    """How many failures there are, counted without any library."""
    failed = len(PAGE_TYPES) * sum(failures_of(made_record(number)) for number in range(items))
    return {"failed": failed}


def failures_of(record: Record) -> int:
    return sum(failures(record))


def failures(record: Record) -> Iterator[bool]:
    price, currency = record["price"], record["currency"]
    yield not record["name"].strip()
    yield len(record["name"]) > 40
    yield price is None
    yield price is not None and price <= 0
    yield currency is None
    yield currency is not None and currency != "EUR"
    yield not isinstance(record["in_stock"], bool)
    yield record["sku"] == "none"
    yield not 0 <= record["rating"] <= 5
    yield not record["seller"]["name"].strip()
