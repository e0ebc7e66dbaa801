"""Numbers as home-made logs write them: with decimal commas, with thousands parted by dots."""

from __future__ import annotations

import re
from collections.abc import Iterable

#: A comma that can only be a decimal one: not three digits after it, or a zero before it.
DECIMAL_COMMA = re.compile(
    r"-?(\d{1,3}(\.\d{3})+|\d+),(\d{1,2}|\d{4,})\s*[a-zA-Zµ]*|0,\d+\s*[a-zA-Zµ]*"
)
#: A decimal point: the log has no decimal commas then.
DECIMAL_POINT = re.compile(
    r"-?(\d{1,3}(,\d{3})+|\d+)\.(\d{1,2}|\d{4,})\s*[a-zA-Zµ]*|0\.\d+\s*[a-zA-Zµ]*"
)
DOTTED = re.compile(r"\s*\d{1,3}(\.\d{3})+\s*")


def are_decimal_commas(values: Iterable[object]) -> bool:
    """Whether the numbers of a log's first lines are written like 1.234,5."""
    texts = [value.strip() for value in values if isinstance(value, str)]
    return any(DECIMAL_COMMA.fullmatch(text) for text in texts) and not any(
        DECIMAL_POINT.fullmatch(text) for text in texts
    )


def with_point(text: str) -> str:
    """A number of a log with decimal commas, as others write it."""
    if "," in text or DOTTED.fullmatch(text):
        return text.replace(".", "").replace(",", ".")
    return text


def with_point_sql(value: str) -> str:
    """``with_point`` in SQL."""
    return (
        f"CASE WHEN contains({value}, ',') OR regexp_full_match({value}, "
        rf"'\s*\d{{1,3}}(\.\d{{3}})+\s*') THEN replace(replace({value}, '.', ''), ',', '.') "
        f"ELSE {value} END"
    )


def as_number(text: str) -> float | None:
    """A number with a decimal point or comma; None for what is none."""
    try:
        return float(with_point(text) if DECIMAL_COMMA.fullmatch(text) else text)
    except ValueError:
        return None
