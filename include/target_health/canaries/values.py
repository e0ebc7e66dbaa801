"""Values as text and as numbers, however a page writes them."""

from __future__ import annotations

import json
import math
import re

_NUMBER = re.compile(r"[-+\u2212]?\d(?:[\d.,'\u2019\u00a0\u202f ]*\d)?")
_SPACES = re.compile(r"[\s\u00a0\u202f]+")
_GROUPS = re.compile(r"[ '\u2019\u00a0\u202f]")

#: Characters of a value that are stored and shown.
LONGEST = 500


def plain_text(value: object) -> str:
    """A value as one line of text; JSON's words for true, false and null."""
    if isinstance(value, str):
        return _SPACES.sub(" ", value).strip()
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return json.dumps(value, ensure_ascii=False, default=str)


def shown(text: str) -> str:
    """A text as it is stored: of bounded length."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def shown_values(values: list[str]) -> str:
    """Several values in one line."""
    return shown(values[0] if len(values) == 1 else json.dumps(values, ensure_ascii=False))


def readings(text: str) -> tuple[float, ...]:
    """The numbers that the first number in a text can mean, none where there is none.

    ``1.299,00 €`` is 1299, ``$1,299.50`` is 1299.5, ``1 299`` is 1299; ``1.299`` alone is 1.299 or,
    as many countries write it, 1299: both are given.
    """
    match = _NUMBER.search(text)
    if match is None:
        return ()
    digits = _GROUPS.sub("", match[0]).replace("\u2212", "-")
    points, commas = digits.count("."), digits.count(",")
    if points and commas:
        decimal = max(".,", key=digits.rfind)
        if digits.count(decimal) > 1:
            return ()
        group = "," if decimal == "." else "."
        return _floats(digits.replace(group, "").replace(decimal, "."))
    mark = "." if points else ","
    if digits.count(mark) > 1:
        return _floats(digits.replace(mark, ""))
    one = digits.replace(",", ".")
    if re.search(r"[1-9]\d{0,2}[.,]\d{3}$", digits) and len(digits.lstrip("+-")) <= 7:
        return _floats(one, digits.replace(mark, ""))
    return _floats(one)


def _floats(*texts: str) -> tuple[float, ...]:
    return tuple(number for number in map(float, texts) if math.isfinite(number))
