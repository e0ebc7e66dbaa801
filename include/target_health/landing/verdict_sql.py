"""The verdict of a fetch in SQL: ``verdicts.verdict`` over columns."""

from __future__ import annotations

import json

import duckdb

from target_health.verdicts import HARD_BLOCK_STATUSES, has_item_value

#: An item, or a list's first one, whose first field plainly has a value; anything else is looked at
#: in Python.
_PLAIN_VALUE = r'^\s*(\[\s*)?\{\s*"[^"\\]*"\s*:\s*("[^"\\\s]|-?[0-9]|true|false)'
#: A record whose fields are all empty.
_PLAIN_EMPTY = r'^\s*(null|\{\s*("[^"\\]*"\s*:\s*(null|""|\[\]|\{\})\s*,?\s*)*\})\s*$'

HAS_ITEM_VALUE = "json_has_item_value"


def add_functions(connection: duckdb.DuckDBPyConnection) -> None:
    """The Python function behind ``has_item_value_sql``, once a connection."""
    connection.create_function(HAS_ITEM_VALUE, _json_has_value, ["VARCHAR"], "BOOLEAN")


def _json_has_value(text: str) -> bool:
    try:
        return has_item_value(json.loads(text))
    except (ValueError, RecursionError):
        return bool(text.strip())


def has_item_value_sql(item: str) -> str:
    """``has_item_value`` of a column of JSON text; null text has none."""
    return (
        f"CASE WHEN {item} IS NULL THEN false "
        f"WHEN regexp_matches({item}, '{_PLAIN_VALUE}') THEN true "
        f"WHEN regexp_matches({item}, '{_PLAIN_EMPTY}') THEN false "
        f"ELSE {HAS_ITEM_VALUE}({item}) END"
    )


def _says(evidence: str, word: str) -> str:
    return (
        f"len(list_filter({evidence}, "
        f"lambda mark: mark = '{word}' OR starts_with(mark, '{word}:'))) > 0"
    )


def verdict_sql(status: str, error: str, evidence: str, has_value: str) -> str:
    """``verdicts.verdict`` of four SQL expressions, in the design's order."""
    hard = ", ".join(map(str, sorted(HARD_BLOCK_STATUSES)))
    some = f"len({evidence}) > 0"
    return f"""CASE
    WHEN {error} = 'proxy' OR {status} = 407 THEN 'unknown'
    WHEN {status} IS NULL AND {error} IS DISTINCT FROM 'connection_reset' THEN 'unknown'
    WHEN {status} NOT BETWEEN 100 AND 999 THEN 'unknown'
    WHEN {some} AND NOT {has_value} AND {_says(evidence, "challenge")} THEN 'challenge'
    WHEN {status} IS NULL OR {status} IN ({hard}) THEN 'hard_block'
    WHEN {status} IN (404, 410) THEN 'not_found'
    WHEN {status} BETWEEN 500 AND 599 THEN 'server_error'
    WHEN {status} < 200 OR {status} >= 400 THEN 'client_error'
    WHEN {status} >= 300 THEN CASE WHEN {status} = 304 THEN 'ok' ELSE 'redirect' END
    WHEN NOT ({some}) THEN 'ok'
    WHEN {_says(evidence, "soft_block")} THEN 'soft_block'
    WHEN {_says(evidence, "soft_404")} THEN 'soft_404'
    WHEN {_says(evidence, "paywalled")} THEN 'paywalled'
    ELSE 'ok' END"""
