"""What extraction produced, as records: from an item's JSON text to values by field."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from target_health.verdicts import has_item_value

Record = dict[str, Any]

# Half a character, written as an escape: valid JSON, and no text that anything else can store.
_HALF_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")
#: Objects are looked into so deep, and so many fields of a record: one with more is keyed by data.
DEEPEST = 4
MOST_FIELDS = 1000


def records_of(text: str) -> list[Record | None]:
    """The extractions of one fetch: each a record, or None for one that brought none.

    An object is one, a list as many as it has entries. Null and an empty list are one without a
    result; so is whatever is no object, and text that is no JSON.
    """
    try:
        item = json.loads(text)
        if _HALF_CHARACTER.search(text):
            item = whole_characters(item)
    except (ValueError, RecursionError):
        return [None]
    if isinstance(item, dict):
        return [item]
    if isinstance(item, list) and item:
        return [entry if isinstance(entry, dict) else None for entry in item]
    return [None]


def whole_characters(value: Any) -> Any:
    """The same value without halves of characters, which no file can hold."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [whole_characters(entry) for entry in value]
    if isinstance(value, dict):
        return {whole_characters(key): whole_characters(entry) for key, entry in value.items()}
    return value


def holds_a_value(record: Record | None) -> bool:
    """Whether the extraction brought anything."""
    if record is None:
        return False
    # Nearly always the first field says so.
    return any(value is not None and has_value(value) for value in record.values())


def has_value(value: object) -> bool:
    """``has_item_value`` of one field's value, quickly where it is plain."""
    if isinstance(value, str):
        return bool(value.strip())
    return isinstance(value, int | float) or has_item_value(value)


def getter(path: str) -> Callable[[Record], Any]:
    """A function from a record to the value at a dotted path; None where there is none.

    A key that itself has dots comes before the nested reading; a number in the path is a place in
    a list, as in ``images.0.url``.
    """
    if "." not in path:
        return lambda record: record.get(path)
    parts = path.split(".")
    return lambda record: value_at(record, parts)


def value_at(value: Any, parts: list[str]) -> Any:
    """The value at a path's parts, the longest key first."""
    if not parts:
        return value
    if isinstance(value, dict):
        for taken in range(len(parts), 0, -1):
            key = parts[0] if taken == 1 else ".".join(parts[:taken])
            if key in value:
                found = value_at(value[key], parts[taken:])
                if found is not None:
                    return found
        return None
    if isinstance(value, list) and parts[0].isdecimal() and int(parts[0]) < len(value):
        return value_at(value[int(parts[0])], parts[1:])
    return None


def fields_with_value(record: Record) -> set[str]:
    """The dotted paths of a record that hold a value: what learned coverage looks at.

    Objects are looked into, four deep; of a record with more than a thousand fields, the first
    thousand count.
    """
    found: set[str] = set()
    for path, value in walk(record):
        if has_value(value):
            found.add(path)
            if len(found) >= MOST_FIELDS:
                break
    return found


def walk(record: Record, prefix: str = "", depth: int = DEEPEST) -> Iterator[tuple[str, Any]]:
    """Dotted paths with the values they lead to; nulls are not there, nor what has no name."""
    for key, value in record.items():
        path = f"{prefix}{key}"
        if isinstance(value, dict) and value and depth > 1:
            yield from walk(value, f"{path}.", depth - 1)
        elif value is not None and path:
            yield path, value
