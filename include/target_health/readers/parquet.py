"""Parquet files: their columns as raw text, whatever their types."""

from __future__ import annotations

from pathlib import Path

import duckdb

from target_health.config.sources import BODY_FIELDS
from target_health.readers.names import plain
from target_health.readers.raw import RAW_FIELDS, Reading
from target_health.readers.sql_text import literal

MAGIC = b"PAR1"


def columns_of(connection: duckdb.DuckDBPyConnection, path: Path) -> list[tuple[str, str]]:
    """Names and DuckDB types; nested ones (``route``) by dotted name too. Raises duckdb.Error."""
    rows = connection.execute(
        f"DESCRIBE SELECT * FROM read_parquet({literal(str(path))}, hive_partitioning = false)"
    ).fetchall()
    found: list[tuple[str, str]] = []
    for name, kind, *_ in rows:
        found.append((name, kind))
    return found


def is_record(kind: str) -> bool:
    return kind.startswith("STRUCT")


def raw_sql(path: Path, reading: Reading, kinds: dict[str, str], rows: tuple[int, int]) -> str:
    """A SELECT of raw fields over rows [first, last) of a file (from 0); line counts from 1."""
    fields = []
    for name in (*RAW_FIELDS, *(name for name in BODY_FIELDS if name in reading.columns)):
        dotted = name.replace("route_", "route.", 1) if name.startswith("route_") else name
        column = reading.columns.get(dotted)
        if column is None:
            fields.append(f"NULL::VARCHAR AS {name}")
            continue
        value = column_name(column.path[0])
        kind = kinds.get(column.path[0], "VARCHAR")
        for key in column.path[1:]:
            value = f"struct_extract({value}, {literal(key)})"
        text = _text(value, kind, name, column.factor)
        if column.clock:
            text = f"{value}::VARCHAR || ' ' || {column_name(column.clock[0])}::VARCHAR"
        fields.append(f"{text} AS {name}")
    return (
        f"SELECT file_row_number + 1 AS line, 0::UBIGINT AS chain, false AS reread, "
        f"{', '.join(fields)} {_from_rows(path, rows)}"
    )


def records_sql(path: Path, kinds: dict[str, str], rows: tuple[int, int]) -> str:
    """A SELECT of rows [first, last) as they came: ``line`` and all columns as JSON ``record``."""
    # Bytes as text where they are; whatever JSON has no form for, as DuckDB writes it.
    packed = ", ".join(
        f"{literal(name)}: {_shown(column_name(name), kind)}" for name, kind in kinds.items()
    )
    return (
        f"SELECT file_row_number + 1 AS line, to_json({{{packed}}})::VARCHAR AS record "
        f"{_from_rows(path, rows)}"
    )


def _from_rows(path: Path, rows: tuple[int, int]) -> str:
    return (
        f"FROM read_parquet({literal(str(path))}, file_row_number = true, "
        f"hive_partitioning = false) WHERE file_row_number >= {rows[0]} "
        f"AND file_row_number < {rows[1]}"
    )


def _shown(value: str, kind: str) -> str:
    if kind in ("BLOB", "BIT"):
        return f"coalesce(TRY(decode({value}::BLOB)), {value}::VARCHAR)"
    return value


def column_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(value: str, kind: str, name: str, factor: float) -> str:
    if kind in ("BLOB", "BIT"):
        return f"TRY(decode({value}::BLOB))"
    if name in ("item", "evidence", "route", "headers") and kind.startswith(
        ("STRUCT", "MAP", "LIST")
    ):
        return f"CASE WHEN {value} IS NOT NULL THEN to_json({value})::VARCHAR END"
    if name in ("evidence", "item") and kind.endswith("[]"):
        return f"CASE WHEN {value} IS NOT NULL THEN to_json({value})::VARCHAR END"
    if name == "ts" and kind in ("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ"):
        return f"strftime(timezone('UTC', {value}), '%Y-%m-%dT%H:%M:%S.%fZ')"
    if kind in ("FLOAT", "DOUBLE") and name != "latency_ms":
        number = f"CASE WHEN NOT isnan({value}) THEN {value} END"
        whole = f"TRY_CAST({number} AS BIGINT)"
        return f"CASE WHEN {number} = {whole} THEN {whole}::VARCHAR ELSE ({number})::VARCHAR END"
    if factor != 1.0:
        return f"CAST(TRY_CAST({value} AS DOUBLE) * {factor!r} AS VARCHAR)"
    return f"CAST({value} AS VARCHAR)"


def available(kinds: list[tuple[str, str]]) -> list[tuple[str, ...]]:
    """Paths that a column mapping can name: columns, and the parts of a ``route`` record."""
    paths: list[tuple[str, ...]] = []
    for name, kind in kinds:
        paths.append((name,))
        if plain(name) == "route" and is_record(kind):
            paths += [
                (name, part)
                for part in ("gateway", "country", "pool", "session", "exit")
                if part in kind
            ]
    return paths
