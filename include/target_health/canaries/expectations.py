"""Whether what a check finds is what is known: one pure function from a page to a result."""

from __future__ import annotations

import json
from typing import Any

from target_health.canaries.records import CheckResult, Known, Outcome
from target_health.canaries.selection import Seen
from target_health.canaries.skeleton import likeness
from target_health.canaries.values import plain_text, readings, shown, shown_values
from target_health.config.canaries import SELECTORS, Check

#: Relative slack of numbers that are to be equal: what a decimal loses as a double.
EPSILON = 1e-9

NOT_RECORDED = "its skeleton is not kept yet: run `target-health canary record`"


def run_check(check: Check, seen: Seen, known: Known, structure_share: float) -> CheckResult:
    """One check on a page that came. Pure."""
    accepted = known.accepted.get(check.label)
    if accepted is not None and accepted.expectation == expectation_key(check):
        check = with_new(check, json.loads(accepted.new))
    if check.subject in SELECTORS:
        return _of_values(check, seen.values(check.subject, getattr(check, check.subject)))
    if check.subject == "structure":
        return _of_structure(check, seen, known, structure_share)
    return _of_page(check, seen)


def told_expectation(check: Check) -> str:
    """What a check expects, in words."""
    name = check.expectation
    if name in ("range", "size", "count"):
        least, most = check.bounds or (0, 0)
        told = f"{least:g}" if least == most else f"{least:g} to {most:g}"
        return f"{told} bytes" if name == "size" else told
    if name == "number":
        slack = check.tolerated()
        return f"{check.number:g} ± {slack:g}" if slack else f"{check.number:g}"
    if name in ("contains", "absent"):
        return shown(getattr(check, name))
    if name == "present":
        return "something"
    if name == "structure":
        return "as recorded"
    value = getattr(check, name)
    if isinstance(value, tuple):
        told = ", ".join(map(plain_text, value))
        return shown(f"[{told}]" if name == "equals" else f"one of {told}")
    return shown(plain_text(value))


def expectation_key(check: Check) -> str:
    """A check as configured, to tell whether an acceptance still speaks of it."""
    given = check.model_dump(mode="json", exclude_defaults=True, exclude={"name"})
    return json.dumps(given, sort_keys=True, ensure_ascii=False)


# What a page's values are


def _of_values(check: Check, values: list[Any]) -> CheckResult:
    if check.expectation == "count":
        count = len(values)
        return _result(check, _within(check, float(count)), str(count), count)
    texts = [plain_text(value) for value in values]
    filled = [text for text in texts if text]
    if not filled:
        return CheckResult(check.label, "missing", told_expectation(check))
    if check.expectation == "present":
        return _result(check, True, shown_values(filled[:1]), None)
    if check.expectation == "equals" and isinstance(check.equals, tuple):
        right = texts == [plain_text(value) for value in check.equals]
        return _result(check, right, shown_values(texts), texts)
    first = filled[0]
    if check.expectation in ("number", "range"):
        return _of_number(check, first)
    allowed = check.one_of if check.expectation == "one_of" else (check.equals,)
    right = first in {plain_text(value) for value in allowed or ()}
    return _result(check, right, shown(first), first)


def _of_number(check: Check, text: str) -> CheckResult:
    numbers = readings(text)
    if check.expectation == "range":
        right = [number for number in numbers if _within(check, number)]
    else:
        aim = float(check.number or 0.0)
        slack = check.tolerated() + EPSILON * max(1.0, abs(aim))
        right = [number for number in numbers if abs(number - aim) <= slack]
    return _result(check, bool(right), shown(text), (right or numbers or (None,))[0])


def _within(check: Check, number: float) -> bool:
    least, most = check.bounds or (0.0, 0.0)
    return least <= number <= most


def _of_page(check: Check, seen: Seen) -> CheckResult:
    if check.subject == "title":
        title = plain_text(seen.title or "")
        if not title:
            return CheckResult(check.label, "missing", told_expectation(check))
        titles = check.title if isinstance(check.title, tuple) else (check.title or "",)
        return _result(check, title in {plain_text(one) for one in titles}, shown(title), title)
    if check.subject == "status":
        status = seen.answer.status
        return _result(check, accepts_status(check, status), str(status), status)
    if check.subject == "size":
        size = len(seen.answer.body)
        return _result(check, _within(check, size), f"{size} bytes", size)
    if check.subject == "contains":
        there = _squeezed(check.contains or "") in _squeezed(seen.text)
        outcome: Outcome = "pass" if there else "missing"
        return CheckResult(check.label, outcome, told_expectation(check))
    there = _squeezed(check.absent or "") in _squeezed(seen.text)
    told = shown(check.absent or "") if there else None
    return CheckResult(
        check.label, "wrong_value" if there else "pass", f"no “{told_expectation(check)}”", told
    )


def accepts_status(check: Check, status: int | None) -> bool:
    """Whether a check of the status expects this one."""
    allowed = check.status if isinstance(check.status, tuple) else (check.status,)
    return status in allowed


def _of_structure(check: Check, seen: Seen, known: Known, structure_share: float) -> CheckResult:
    if known.skeleton is None:
        return CheckResult(check.label, "unknown", told_expectation(check), detail=NOT_RECORDED)
    share = likeness(known.skeleton, seen.skeleton)
    got = f"{100 * share:.0f} % the same"
    # Another skeleton is a page gone, or rebuilt: none of its values is wrong by that.
    outcome: Outcome = "pass" if share >= structure_share else "missing"
    return CheckResult(check.label, outcome, told_expectation(check), got)


def _squeezed(text: str) -> str:
    return " ".join(text.split()).casefold()


def _result(check: Check, right: bool, got: str, value: object) -> CheckResult:
    return CheckResult(
        check.label,
        "pass" if right else "wrong_value",
        told_expectation(check),
        got,
        None if value is None else json.dumps(value, ensure_ascii=False),
    )


# What a person accepts


def new_expectation(check: Check, value: Any) -> Any:
    """What a check expects once ``value`` is accepted: a value that it is now, or an allowance
    widened by it. Raises ``ValueError`` for a check of which there is nothing to accept.
    """
    name = check.expectation
    if name in ("range", "count", "size"):
        least, most = check.bounds or (0.0, 0.0)
        number = float(value)
        return [min(least, number), max(most, number)]
    if name == "title":
        return [value]
    if name in ("one_of", "status"):
        held = getattr(check, name)
        held = list(held) if isinstance(held, tuple) else [held]
        return [*held, *([] if value in held else [value])]
    if name in ("equals", "number"):
        return value
    raise ValueError(f"a check of {check.subject} has no value to accept: change canaries.yaml")


def with_new(check: Check, new: Any) -> Check:
    """A check with the accepted expectation in place of its own."""
    value = tuple(new) if isinstance(new, list) else new
    if check.expectation == "count":
        value = (int(value[0]), int(value[1]))
    return check.model_copy(update={check.expectation: value})
