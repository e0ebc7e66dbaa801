"""What is wrong with an expectation and its arguments, in a few words."""

from __future__ import annotations

import re
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

from target_health.extraction.rules import RULES, TYPE_NAMES

Arguments = dict[str, Any]


def complaint_about(expectation: str, arguments: Arguments) -> str | None:
    """The first thing that is wrong; None when nothing is."""
    rule = RULES.get(expectation)
    if rule is None:
        close = get_close_matches(expectation, RULES, 1)
        hint = f"did you mean {close[0]}?" if close else f"allowed: {', '.join(RULES)}"
        return f"{expectation}: no expectation that judges each value alone; {hint}"
    for name in sorted(map(str, arguments)):
        if name not in rule.allowed:
            allowed = ", ".join(sorted(rule.allowed))
            return f"{expectation}: unknown argument {name}; allowed: {allowed}"
    for name in sorted(rule.required - arguments.keys()):
        return f"{expectation}: {name} is missing"
    if rule.one_of and all(arguments.get(name) is None for name in rule.one_of):
        return f"{expectation}: needs {' or '.join(sorted(rule.one_of))}"
    for name, value in arguments.items():
        complaint = COMPLAINTS[name](value)
        if complaint:
            return f"{expectation}: {name} {complaint} (got {value!r})"
    return complaint_about_bounds(expectation, arguments)


def complaint_about_bounds(expectation: str, arguments: Arguments) -> str | None:
    low, high = arguments.get("min_value"), arguments.get("max_value")
    for bound in (low, high):
        if "length" in expectation and not isinstance(bound, int | None):
            return f"{expectation}: a length must be a whole number (got {bound!r})"
    if low is None or high is None:
        return None
    if isinstance(low, str) != isinstance(high, str):
        return f"{expectation}: min_value and max_value must both be numbers or both texts"
    if low > high:
        return f"{expectation}: min_value {low!r} is above max_value {high!r}"
    return None


def a_bound(value: object) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str | None):
        return "must be a number or a text"
    return None


def a_length(value: object) -> str | None:
    return None if isinstance(value, int) and not isinstance(value, bool) else "must be a number"


def a_switch(value: object) -> str | None:
    return None if isinstance(value, bool) else "must be true or false"


def a_share(value: object) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        return "must be between 0 and 1"
    return None


def a_text(value: object) -> str | None:
    return None if isinstance(value, str) else "must be a text"


def a_type(value: object) -> str | None:
    return None if value in TYPE_NAMES else f"must be one of {', '.join(TYPE_NAMES)}"


def a_pattern(value: object) -> str | None:
    if not isinstance(value, str):
        return "must be a text"
    try:
        re.compile(value)
    except re.error as problem:
        return f"is no regular expression: {problem}"
    return None


def any_or_all(value: object) -> str | None:
    return None if value in ("any", "all") else "must be any or all"


def plain(value: object) -> str | None:
    return "must be texts and numbers" if isinstance(value, list | dict) else None


def list_of(complaint: Callable[[object], str | None]) -> Callable[[object], str | None]:
    def complain(value: object) -> str | None:
        if not isinstance(value, list) or not value:
            return "must be a list with at least one entry"
        return next(filter(None, map(complaint, value)), None)

    return complain


COMPLAINTS: dict[str, Callable[[object], str | None]] = {
    "min_value": a_bound,
    "max_value": a_bound,
    "strict_min": a_switch,
    "strict_max": a_switch,
    "value": a_length,
    "value_set": list_of(plain),
    "type_": a_type,
    "type_list": list_of(a_type),
    "regex": a_pattern,
    "regex_list": list_of(a_pattern),
    "match_on": any_or_all,
    "strftime_format": a_text,
    "mostly": a_share,
}
