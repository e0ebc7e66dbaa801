"""Tables as CSV that no spreadsheet takes for formulas."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

from target_health.dashboard.database import Row
from target_health.dashboard.words import missing
from target_health.times import iso

# What spreadsheets take for the begin of a formula, full-width signs too.
FORMULA_STARTS = tuple("=+-@\t\r\n|%＝＋－＠")


def csv_text(rows: Sequence[Row]) -> str:
    """Header and rows; empty for no rows, as there are no columns to name."""
    buffer = io.StringIO()
    if rows:
        writer = csv.writer(buffer, lineterminator="\r\n")
        writer.writerow(rows[0])
        writer.writerows([cell(value) for value in row.values()] for row in rows)
    return buffer.getvalue()


def cell(value: Any) -> str | int | float:
    """A value as a cell: times in ISO 8601, lists joined, texts that cannot become formulas."""
    if value is None or missing(value):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return value
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, list | tuple):
        return harmless("; ".join(str(item) for item in value))
    if isinstance(value, dict):
        return harmless(json.dumps(value, ensure_ascii=False, default=str))
    return harmless(str(value))


def harmless(text: str) -> str:
    """With an apostrophe in front where a spreadsheet would see a formula."""
    starts = text.startswith(FORMULA_STARTS) or text.lstrip().startswith(FORMULA_STARTS)
    return f"'{text}" if starts else text
