"""The verdict in SQL is the one in Python."""

from __future__ import annotations

import json

import duckdb
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from target_health.landing.verdict_sql import add_functions, has_item_value_sql, verdict_sql
from target_health.verdicts import has_item_value, verdict

STATUSES = st.none() | st.integers(-5, 1100) | st.sampled_from(
    [100, 199, 200, 299, 300, 301, 304, 399, 403, 404, 407, 410, 429, 451, 499, 500, 599, 600, 999]
)  # fmt: skip
ERRORS = st.none() | st.sampled_from(
    ["connection_reset", "timeout", "dns", "tls", "proxy", "aborted", "other"]
)
MARKS = st.lists(
    st.sampled_from(
        ["challenge:cloudflare", "challenge", "challenger:x", "soft_block:page", "soft_404:title",
         "paywalled:schema_org", "ok:yes", ""]
    ),
    max_size=3,
)  # fmt: skip
LEAVES = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(
    ["", " ", "\u00a0", "x", ":", '"', "\\", "null", ": 1", "[]"]
)  # fmt: skip
ITEMS = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b:", '"', "", "\\"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(STATUSES, ERRORS, MARKS, st.booleans()), min_size=1, max_size=40))
def test_verdicts(cases: list[tuple[int | None, str | None, list[str], bool]]) -> None:
    table = pa.table(
        {
            "n": range(len(cases)),
            "s": pa.array([case[0] for case in cases], pa.int32()),
            "e": pa.array([case[1] for case in cases], pa.string()),
            "m": pa.array([case[2] for case in cases], pa.list_(pa.string())),
            "v": pa.array([case[3] for case in cases], pa.bool_()),
        }
    )
    with duckdb.connect() as connection:
        connection.register("t", table)
        found = connection.execute(
            f"SELECT {verdict_sql('s', 'e', 'm', 'v')} FROM t ORDER BY n"
        ).fetchall()
    assert [value for (value,) in found] == [verdict(*case) for case in cases]


@settings(max_examples=60, deadline=None)
@given(st.lists(ITEMS, min_size=1, max_size=40), st.booleans())
def test_item_values(items: list[object], spaced: bool) -> None:
    texts = [json.dumps(item, separators=None if spaced else (",", ":")) for item in items]
    with duckdb.connect() as connection:
        add_functions(connection)
        connection.register("t", pa.table({"n": range(len(items)), "i": texts}))
        found = connection.execute(f"SELECT {has_item_value_sql('i')} FROM t ORDER BY n").fetchall()
    assert [value for (value,) in found] == [has_item_value(item) for item in items]
