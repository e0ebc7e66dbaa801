"""JSON lines, native or with other names: one DuckDB pass, Python for the lines that need it."""

from __future__ import annotations

import json
from typing import Any

import duckdb

from target_health.config.sources import BODY_FIELDS
from target_health.readers.lines import LineChunk
from target_health.readers.numbers import with_point
from target_health.readers.raw import (
    NULL_WORDS,
    NUMERIC,
    RAW_FIELDS,
    Bad,
    Column,
    Outcome,
    Reading,
    Row,
    Skip,
    page_of,
)
from target_health.readers.reader import LineReader
from target_health.readers.sql_text import literal

#: Fields that DuckDB parses as numbers at once. A value that is none becomes NULL there, so such
#: a line is read again exactly.
FAST_NUMBERS = frozenset({"status", "latency_ms", "bytes", "attempts"})
#: Fields that keep their JSON.
AS_JSON = frozenset({"item", "evidence", "route"})
BLANK = "blank line"
#: Lines of an array that is written an object a line, as Scrapy's JSON feed is.
BRACKETS = ("[", "]", "],")
#: Response headers that stand in columns of their own, as advertools has them.
HEADER_PREFIX = "resp_headers_"


class JsonLines(LineReader):
    def __init__(self, reading: Reading) -> None:
        super().__init__(reading)
        self.numbers = FAST_NUMBERS & set(reading.columns)
        self.typed_ts = reading.iso_times and "ts" in reading.columns
        self._sql = self._build()

    def relation(self, connection: duckdb.DuckDBPyConnection, chunk: LineChunk) -> str | None:
        return self._sql

    def straight_relation(self) -> str | None:
        if self.reading.bodies:
            return None
        return self._sql.replace("SELECT line, chain,", "SELECT l, line, chain,", 1)

    def row(self, text: str) -> Outcome:
        stripped = text.replace("\0", "").strip().lstrip("\ufeff").strip()
        if not stripped:
            return Skip(BLANK) if "\0" not in text else Bad("only NUL bytes")
        if stripped in BRACKETS:
            return Skip("bracket of an array")
        if stripped.endswith("},"):  # one of the objects of an array, each on a line
            stripped = stripped[:-1]
        try:
            record = json.loads(stripped)
        except (ValueError, RecursionError):
            return Bad("not JSON")
        if not isinstance(record, dict):
            return Bad("not a JSON object")
        return _row(record, self.reading)

    def _build(self) -> str:
        """One ``json_transform`` over the needed keys, then the fields out of its struct."""
        tree: dict[str, Any] = {}
        for name, column in self.reading.columns.items():
            if name == "headers":
                continue
            kind = "DOUBLE" if name in FAST_NUMBERS else "JSON" if name in AS_JSON else "VARCHAR"
            if name == "ts" and self.typed_ts:
                kind = "TIMESTAMPTZ"
            _place(tree, column.path, kind)
            if column.clock:
                _place(tree, column.clock, kind)
        fields: list[str] = []
        reread: list[str] = []
        columns = self.reading.columns
        for name in RAW_FIELDS:
            dotted = name.replace("route_", "route.", 1) if name.startswith("route_") else name
            if dotted not in columns:
                fields.append(f"NULL::VARCHAR AS {name}")
                continue
            column = columns[dotted]
            value = _struct_value(column)
            if name in FAST_NUMBERS:
                reread.append(_lost(value, column))
                if column.factor != 1.0:
                    value = f"{value} * {column.factor!r}"
            elif name == "item":
                value = (
                    f"CASE WHEN {value} IS NOT NULL THEN {value} WHEN j IS NULL THEN NULL "
                    f"WHEN contains(l, {_key(column)}) THEN CASE "
                    f"json_type(l, {literal(_json_path(column))}) WHEN 'NULL' THEN 'null' END END"
                )
            elif column.clock:
                value = f"{value} || ' ' || {_struct_value(Column(column.clock))}"
            elif column.factor != 1.0:
                value = f"CAST(TRY_CAST({value} AS DOUBLE) * {column.factor!r} AS VARCHAR)"
            fields.append(f"{value} AS {name}")
        for parent in {column.path[:-1] for column in columns.values() if len(column.path) > 1}:
            reread.append(_no_object(parent, columns))
        again = self._again(reread)
        parsed = (
            f"SELECT line, chain, l, "
            f"TRY(json_transform(l, {literal(json.dumps(tree))})) AS j FROM chunk"
        )
        return (
            f"SELECT line, chain, CASE {again} ELSE false END AS reread, "
            f"{', '.join(fields)} FROM ({parsed})"
        )

    def _again(self, lost: list[str]) -> str:
        """WHENs that tell the lines that must be read exactly; the usual line passes at once."""
        columns = self.reading.columns
        reread = ["j IS NULL", *lost]
        reread += [  # a page is looked at where the exact path has its line
            f"{_struct_value(columns[name])} IS NOT NULL"
            for name in ("body", "body_path", "body_text")
            if name in columns
        ]
        usual = ["j IS NOT NULL"]
        for name in ("ts", "url"):
            if name in columns:  # not even an object, perhaps
                value = _struct_value(columns[name])
                usual.append(f"{value} IS NOT NULL")
                reread.append(f"{value} IS NULL")
        if self.typed_ts:  # midnight may be a date without a time of day
            value = _struct_value(columns["ts"])
            usual.append(f"epoch_us({value}) % 86400000000 <> 0")
            reread.append(f"epoch_us({value}) % 86400000000 = 0")
        if "url" in columns:
            value = _struct_value(columns["url"])
            usual.append(f"NOT starts_with({value}, ' ') AND NOT ends_with({value}, ' ')")
            reread.append(f"starts_with({value}, ' ') OR ends_with({value}, ' ')")
        usual += [f"{_struct_value(columns[name])} IS NOT NULL" for name in sorted(self.numbers)]
        parents = {column.path[:-1] for column in columns.values() if len(column.path) > 1}
        for parent in sorted(parents):
            first = next(column for column in columns.values() if column.path[:-1] == parent)
            usual.append(f"{_struct_value(first)} IS NOT NULL")
        again = f"WHEN {' AND '.join(usual)} THEN false "
        again += " ".join(f"WHEN {condition} THEN true" for condition in reread)
        return again


def _place(tree: dict[str, Any], path: tuple[str, ...], kind: str) -> None:
    for key in path[:-1]:
        below = tree.setdefault(key, {})
        if not isinstance(below, dict):  # the whole object is wanted as JSON too
            return
        tree = below
    tree.setdefault(path[-1], kind)


def _struct_value(column: Column) -> str:
    return "j" + "".join(f"[{literal(key)}]" for key in column.path)


def _json_path(column: Column) -> str:
    return "$" + "".join(f".{json.dumps(key)}" for key in column.path)


def _key(column: Column) -> str:
    """What a line with a column's key has in it. Without the first quotation mark, which a line
    has so many of that looking for it takes twice the time."""
    return literal(json.dumps(column.path[-1])[1:])


def _lost(value: str, column: Column, also: str = "") -> str:
    """DuckDB has no value though the line has one, not null and not of the kind ``also``."""
    # CASE, as AND evaluates all of its sides for every row
    return (
        f"CASE WHEN {value} IS NULL THEN CASE WHEN contains(l, {_key(column)}) THEN "
        f"coalesce(json_type(l, {literal(_json_path(column))}), 'NULL') "
        f"NOT IN ('NULL', {literal(also)}) ELSE false END ELSE false END"
    )


def _no_object(parent: tuple[str, ...], columns: dict[str, Column]) -> str:
    """Nothing came out of a nested object: perhaps it is none."""
    values = [_struct_value(c) for c in columns.values() if c.path[:-1] == parent]
    return _lost(
        f"coalesce({', '.join(f'{v}::VARCHAR' for v in values)})", Column(parent), "OBJECT"
    )


def _row(record: dict[str, Any], reading: Reading) -> Outcome:
    fields: dict[str, str | None] = {}
    page: dict[str, str | None] = {}
    for name, column in reading.columns.items():
        value: Any = record
        for depth, key in enumerate(column.path):
            if not isinstance(value, dict):
                if value is None:
                    break
                return Bad(f"{'.'.join(column.path[:depth])} is not an object")
            if key not in value:
                value = None
                break
            value = value[key]
        else:
            if name == "item" and value is None:
                fields["item"] = "null"
                continue
        if name in BODY_FIELDS:
            page[name] = _text_of(value)
            continue
        raw = name.replace(".", "_")
        if reading.decimal_comma and raw in NUMERIC and isinstance(value, str):
            value = with_point(value)
        fields[raw] = as_text(value, column, raw)
        if column.clock and fields[raw] is not None:
            fields[raw] = f"{fields[raw]} {_at(record, column.clock)}"
        if raw == "url" and fields[raw]:
            fields[raw] = str(fields[raw]).strip()
    return Row(fields, page_of(page, _headers(record)) if page else None)


def _at(record: dict[str, Any], path: tuple[str, ...]) -> Any:
    value: Any = record
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _headers(record: dict[str, Any]) -> dict[str, str]:
    """Response headers that stand in columns of their own."""
    return {
        name.removeprefix(HEADER_PREFIX): _text_of(value) or ""
        for name, value in record.items()
        if name.startswith(HEADER_PREFIX)
    }


def _text_of(value: Any) -> str | None:
    """A value of a page as text; lists and objects as JSON."""
    if value is None or isinstance(value, str):
        return None if value is None else safe(value)
    return safe(json.dumps(value, ensure_ascii=False))


def as_text(value: Any, column: Column, name: str) -> str | None:
    """A JSON value as the raw field's text."""
    if value is None:
        return None
    if name in AS_JSON or isinstance(value, dict | list):
        return safe(json.dumps(value, ensure_ascii=False))
    if isinstance(value, bool):
        text = "true" if value else "false"
    elif isinstance(value, str):
        text = safe(value)
    else:
        text = repr(value)
    if name in FAST_NUMBERS or column.factor != 1.0:
        if text.strip().lower() in NULL_WORDS:
            return None
        if column.factor != 1.0:
            try:
                return repr(float(text) * column.factor)
            except ValueError:
                return text
    return text


def safe(text: str) -> str:
    """Text that UTF-8 can hold: lone surrogates become question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")
