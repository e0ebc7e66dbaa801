"""Proposed suites: readable, and met by the items that they come from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from target_health.extraction.draft import Draft, draft_suite
from target_health.extraction.suites import read_suite

LIMITS = {"usual_share": 0.9, "fields_kept": 100}


def drafted(*items: Any) -> Draft:
    return draft_suite("product", (json.dumps(item) for item in items), **LIMITS)


def test_what_items_have_in_common_is_expected() -> None:
    draft = drafted(
        *(
            {
                "name": f"lamp {number}",
                "price": 1.5 if number % 20 else None,
                "currency": "EUR",
                "sizes": ["s"],
                "link": f"https://shop.example/{number}",
                "state": "new" if number % 2 else "used",
                "odd": 1 if number % 2 else "1",
                "rare": 1 if number < 3 else None,
                "seller": {"name": " " if number % 2 else "Ada", "since": "2026-01-02T03:04:05Z"},
            }
            for number in range(100)
        )
    )
    assert draft.records == 100
    there: dict[str, Any] = {"expect_column_values_to_not_be_null": {}}

    def of(*types: str) -> dict[str, Any]:
        return {"expect_column_values_to_be_in_type_list": {"type_list": sorted(types)}}

    def like(regex: str) -> dict[str, Any]:
        return {"expect_column_values_to_match_regex": {"regex": regex}}

    positive = {
        "expect_column_values_to_be_between": {
            "min_value": 0,
            "strict_min": True,
            "max_value": 100,
        }
    }
    assert draft.fields["name"] == {**there, **of("str"), **like(r"\S")}
    assert draft.fields["price"] == {**there, **of("int", "float"), **positive}
    assert draft.fields["currency"] == {**there, **of("str"), **like("^[A-Z]{3}$")}
    assert draft.fields["sizes"] == {**there, **of("list")}
    assert draft.fields["link"] == {**there, **of("str"), **like(r"^https?://\S+$")}
    assert draft.fields["state"]["expect_column_values_to_be_in_set"] == {
        "value_set": ["new", "used"]
    }
    assert draft.fields["odd"] == there
    assert next(iter(draft.fields["rare"])) != "expect_column_values_to_not_be_null"
    assert draft.fields["seller.name"] == {**there, **of("str")}
    assert draft.fields["seller.since"] == {**there, **of("str"), **like(r"^\d{4}-\d{2}-\d{2}")}


@settings(deadline=None, max_examples=30)
@given(
    st.lists(
        st.dictionaries(
            st.text(),
            st.none()
            | st.booleans()
            | st.integers()
            | st.floats(allow_nan=False)
            | st.text(max_size=5)
            | st.lists(st.integers(), max_size=2)
            | st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
            max_size=4,
        ),
        max_size=8,
    )
)
def test_a_proposal_can_be_read_back(tmp_path_factory: Any, items: list[Any]) -> None:
    draft = drafted(*items)
    if not draft.fields:
        return
    path: Path = tmp_path_factory.mktemp("suites") / "product.yaml"
    path.write_text(draft.as_yaml("of nowhere"), encoding="utf-8")
    suite = read_suite(path)
    assert suite.page_type == "product"
    assert [(check.field, check.expectation, check.arguments) for check in suite.checks] == [
        (name, expectation, arguments)
        for name, checks in draft.fields.items()
        for expectation, arguments in checks.items()
    ]


def test_items_with_ten_thousand_keys_propose_no_more_than_is_kept() -> None:
    draft = drafted(*({f"key {key}": key for key in range(10_000)} for _ in range(3)))
    assert len(draft.fields) == LIMITS["fields_kept"]


def test_items_without_records_propose_nothing() -> None:
    assert drafted(None, [], "text", 7).records == 0
