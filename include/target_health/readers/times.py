"""Times as home-made logs write them: which column holds them, and in what order of numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from target_health.readers.names import plain
from target_health.readers.raw import NULL_WORDS, Column

DAY_MONTH = re.compile(r"(\d{1,2})([/.-])(\d{1,2})\2(\d{4}|\d\d)(.*)")
DATE_ONLY = re.compile(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}|\d{8}")
CLOCK_ONLY = re.compile(
    r"\d{1,2}:\d\d(:\d\d([.,]\d+)?)?( ?[AaPp]\.?[Mm]\.?)?( ?(Z|UTC|GMT|[+-]\d\d:?\d\d))?"
)
#: Names, as ``plain`` makes them, of columns with a date or a time of day alone.
DATES = ("date", "day", "crawl_date", "fetch_date", "fecha", "datum", "data", "dia", "jour", "tag")
CLOCKS = (
    "time", "time_of_day", "clock", "crawl_time", "fetch_time", "hour", "hora", "uhrzeit", "zeit",
    "heure", "ora", "tijd", "hms",
)  # fmt: skip

Samples = Mapping[tuple[str, ...], Iterable[Any]]


def with_clock(columns: dict[str, Column], samples: Samples) -> dict[str, Column]:
    """The columns, with ``ts`` out of two of them where one holds dates and one times of day."""
    ts = columns["ts"]
    if ts.clock:
        return columns
    used = {column.path for name, column in columns.items() if name != "ts"}
    free = {plain(".".join(path)): path for path in samples if path not in used | {ts.path}}
    if _all(DATE_ONLY, ts, samples):
        path = _first(CLOCKS, free, CLOCK_ONLY, samples)
        return {**columns, "ts": replace(ts, clock=path)} if path else columns
    if _all(CLOCK_ONLY, ts, samples):
        path = _first(DATES, free, DATE_ONLY, samples)
        return {**columns, "ts": Column(path, clock=ts.path)} if path else columns
    return columns


def _first(
    names: tuple[str, ...],
    free: Mapping[str, tuple[str, ...]],
    kind: re.Pattern[str],
    samples: Samples,
) -> tuple[str, ...]:
    for name in names:
        if name in free and _all(kind, Column(free[name]), samples):
            return free[name]
    return ()


def _all(kind: re.Pattern[str], column: Column, samples: Samples) -> bool:
    values = sampled(column, samples)
    return bool(values) and all(kind.fullmatch(value) for value in values)


def sampled(column: Column, samples: Samples) -> list[str]:
    """A column's values in the first lines, as the landing takes them."""
    texts = [str(value).strip() for value in samples.get(column.path, ())]
    if column.clock:
        clocks = [str(value).strip() for value in samples.get(column.clock, ())]
        texts = [f"{text} {clock}" for text, clock in zip(texts, clocks, strict=False)]
    return [text for text in texts if text.lower() not in NULL_WORDS]


def day_month_format(values: list[str]) -> str | None:
    """A strptime format when the values themselves show which of the numbers is the day."""
    matches = [DAY_MONTH.fullmatch(value) for value in values]
    found = [match for match in matches if match]
    if not found or len(found) != len(values):
        return None
    first = max(int(match[1]) for match in found)
    second = max(int(match[3]) for match in found)
    mark = found[0][2]
    dotted = mark == "." and second <= 12  # nobody writes the month first with dots
    if not dotted and (first > 12) == (second > 12):
        return None
    order = ("%d", "%m") if dotted or first > 12 else ("%m", "%d")
    year = "%Y" if len(found[0][4]) == 4 else "%y"
    rest = found[0][5]
    clock = re.fullmatch(r"(,?[ T])(\d{1,2}):(\d\d)(:\d\d)?(\.\d+)?( ?[AaPp][Mm])?", rest)
    if not clock:
        return None
    time = "%I" if clock[6] else "%H"
    time += ":%M" + (":%S" if clock[4] else "") + (".%f" if clock[5] else "")
    time += (" %p" if (clock[6] or "").startswith(" ") else "%p") if clock[6] else ""
    return f"{order[0]}{mark}{order[1]}{mark}{year}{clock[1]}{time}"
