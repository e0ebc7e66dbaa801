"""Items as records: shapes, dotted paths, what counts as a value."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from target_health.extraction.items import fields_with_value, getter, holds_a_value, records_of
from target_health.verdicts import has_item_value

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("text", "records"),
    [
        ('{"a": 1}', [{"a": 1}]),
        ('[{"a": 1}, {"b": 2}]', [{"a": 1}, {"b": 2}]),
        ('[{"a": 1}, null, "x", [1]]', [{"a": 1}, None, None, None]),
        ("{}", [{}]),
        ("null", [None]),
        ("[]", [None]),
        ('"a title"', [None]),
        ("17", [None]),
        ("true", [None]),
        ("no JSON {", [None]),
        ("", [None]),
        ("[" * 100_000, [None]),
        ('{"a":' * 50_000 + "1" + "}" * 50_000, [None]),
    ],
)
def test_an_extraction_is_a_record_or_none(text: str, records: list[Any]) -> None:
    assert records_of(text) == records


def test_half_a_character_becomes_one_that_can_be_stored() -> None:
    (record,) = records_of(
        r'{"name \ud83d": "\ud83d lamp", "list": ["\udc00"], "whole": "\ud83d\ude00"}'
    )
    assert record is not None
    json.dumps(record, ensure_ascii=False).encode("utf-8")
    assert record["whole"] == "😀"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("name", "lamp"),
        ("seller.name", "Ada"),
        ("seller.address.city", "Łódź"),
        ("a.b", "literal"),
        ("seller.vat.id", 7),
        ("images.0.url", "u0"),
        ("images.1.url", "u1"),
        ("images.2.url", None),
        ("images.url", None),
        ("name.first", None),
        ("missing", None),
        ("preis €", 3),
    ],
)
def test_a_dotted_path_finds_nested_values_and_keys_with_dots(path: str, value: Any) -> None:
    record = {
        "name": "lamp",
        "seller": {"name": "Ada", "address": {"city": "Łódź"}, "vat.id": 7},
        "a.b": "literal",
        "a": {"b": "nested"},
        "images": [{"url": "u0"}, {"url": "u1"}],
        "preis €": 3,
    }
    assert getter(path)(record) == value


def test_a_key_with_dots_that_is_null_gives_way_to_the_nested_value() -> None:
    assert getter("a.b")({"a.b": None, "a": {"b": 1}}) == 1


@settings(deadline=None)
@given(st.dictionaries(st.text(), json_values, max_size=5))
def test_a_record_holds_a_value_as_the_verdicts_see_it(record: dict[str, Any]) -> None:
    assert holds_a_value(record) == has_item_value(record)
    if fields_with_value(record):
        assert holds_a_value(record)


def test_no_record_holds_no_value() -> None:
    assert not holds_a_value(None)


def test_fields_with_a_value_are_leaves_by_path() -> None:
    record = {"a": 0, "b": "", "c": " ", "d": [], "e": {"f": False, "g": None, "h": {"i": "x"}}}
    assert fields_with_value(record) == {"a", "e.f", "e.h.i"}


def test_a_field_without_a_name_does_not_count_as_the_whole_item() -> None:
    assert fields_with_value({"": 1, "a": {}, "b": 2}) == {"b"}


def test_of_ten_thousand_fields_a_thousand_are_looked_at() -> None:
    assert len(fields_with_value({f"key {n}": n for n in range(10_000)})) == 1000
