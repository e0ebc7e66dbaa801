"""The expectations that a suite may use: those of Great Expectations that judge each row alone.

An expectation that compares rows with each other (unique, increasing, a mean) would give another
answer for the same item whenever it is validated among others, so counts could not be repeated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

#: Counted by the project itself for every page type: the extraction brought a record at all.
HOLDS_A_VALUE = "expect_item_to_hold_a_value"
#: Counted for page types without a suite: a field that was always there is there.
LEARNED = "learned_coverage"
#: The field of checks on the whole item.
WHOLE_ITEM = ""

Kind = tuple[type, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """An expectation's arguments; ``looks_at_null``: a null is judged rather than passed over."""

    required: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()
    one_of: frozenset[str] = frozenset()
    looks_at_null: bool = False

    @property
    def allowed(self) -> frozenset[str]:
        return self.required | self.optional | self.one_of | {"mostly"}


def names(*words: str) -> frozenset[str]:
    return frozenset(words)


_BOUNDS = Rule(one_of=names("min_value", "max_value"), optional=names("strict_min", "strict_max"))

RULES: dict[str, Rule] = {
    "expect_column_values_to_not_be_null": Rule(looks_at_null=True),
    "expect_column_values_to_be_null": Rule(looks_at_null=True),
    "expect_column_values_to_be_between": _BOUNDS,
    "expect_column_value_lengths_to_be_between": _BOUNDS,
    "expect_column_value_lengths_to_equal": Rule(required=names("value")),
    "expect_column_values_to_be_in_set": Rule(required=names("value_set")),
    "expect_column_values_to_not_be_in_set": Rule(required=names("value_set")),
    "expect_column_values_to_be_of_type": Rule(required=names("type_")),
    "expect_column_values_to_be_in_type_list": Rule(required=names("type_list")),
    "expect_column_values_to_match_regex": Rule(required=names("regex")),
    "expect_column_values_to_not_match_regex": Rule(required=names("regex")),
    "expect_column_values_to_match_regex_list": Rule(
        required=names("regex_list"), optional=names("match_on")
    ),
    "expect_column_values_to_not_match_regex_list": Rule(required=names("regex_list")),
    "expect_column_values_to_match_strftime_format": Rule(required=names("strftime_format")),
    "expect_column_values_to_be_dateutil_parseable": Rule(),
    "expect_column_values_to_be_json_parseable": Rule(),
}

# JSON's types, as Python reads them and Great Expectations names them.
TYPE_NAMES = ("str", "int", "float", "bool", "list", "dict")


NUMBERS: Kind = (int, float)
TEXTS: Kind = (str,)
KIND_NAMES = {NUMBERS: "number", TEXTS: "text"}


def takes(name: str, arguments: dict[str, Any]) -> Kind | None:
    """The types that an expectation can look at; None: any.

    Great Expectations gives up on a whole column when one value is of another kind. Such a value
    fails the expectation, and the others are judged.
    """
    if name == "expect_column_values_to_be_between":
        bounds = [arguments.get("min_value"), arguments.get("max_value")]
        return TEXTS if any(isinstance(bound, str) for bound in bounds) else NUMBERS
    if name in (
        "expect_column_values_to_match_strftime_format",
        "expect_column_values_to_be_dateutil_parseable",
    ):
        return TEXTS
    return None
