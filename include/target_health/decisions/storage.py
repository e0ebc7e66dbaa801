"""States and actions as rows of the warehouse, and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, fields
from typing import Any

import duckdb
import pyarrow as pa

from target_health.decisions.orders import orders
from target_health.decisions.records import Action, Course, SiteState
from target_health.warehouse.rows import rows_of

TIME = pa.timestamp("us")
TEXTS = pa.list_(pa.string())

COURSE = [
    ("state", pa.string()),
    ("step", pa.int32()),
    ("since", TIME),
    ("reasons", TEXTS),
    ("evidence_from", TIME),
    ("healthy_since", TIME),
    ("acted_run_end", TIME),
    ("refused_run_end", TIME),
    ("paused_by_human", pa.bool_()),
]
STATE = pa.schema(
    [
        ("site", pa.string()),
        *COURSE,
        ("shadow", pa.struct(COURSE)),
        ("concurrency_factor", pa.float64()),
        ("revisit_factor", pa.float64()),
        ("concurrency", pa.int32()),
        ("revisit_interval_s", pa.float64()),
        ("normal_concurrency", pa.int32()),
        ("normal_revisit_interval_s", pa.float64()),
        ("last_run_end", TIME),
        ("incident_id", pa.string()),
        ("revision", pa.int64()),
    ]
)
ACTION = pa.schema(
    [
        ("action_id", pa.string()),
        ("site", pa.string()),
        ("decided_at", TIME),
        ("run_end", TIME),
        ("kind", pa.string()),
        ("from_state", pa.string()),
        ("to_state", pa.string()),
        ("from_step", pa.int32()),
        ("to_step", pa.int32()),
        ("concurrency_factor", pa.float64()),
        ("revisit_factor", pa.float64()),
        ("reasons", TEXTS),
        ("decided_by", pa.string()),
        ("why", pa.string()),
        ("applied", pa.bool_()),
        ("mode", pa.string()),
        ("incident_id", pa.string()),
    ]
)


@contextmanager
def incoming(con: duckdb.DuckDBPyConnection, rows: pa.Table) -> Iterator[None]:
    """The rows as a relation named ``incoming``."""
    con.register("incoming", rows)
    try:
        yield
    finally:
        con.unregister("incoming")


def load_states(
    con: duckdb.DuckDBPyConnection, sites: Iterable[str] | None = None
) -> dict[str, SiteState]:
    """The state of every known site, or of those named that are known, by name."""
    columns = ", ".join(name for name in STATE.names if name not in DERIVED)
    query, given = f"SELECT {columns} FROM site_state", []
    if sites is not None:
        query += " WHERE site IN (SELECT unnest(?))"
        given = [list(sites)]
    return {row["site"]: state_of(row) for row in rows_of(con, query, given)}


DERIVED = ("concurrency_factor", "revisit_factor", "concurrency", "revisit_interval_s")


def state_of(row: dict[str, Any]) -> SiteState:
    shadow = row["shadow"]
    return SiteState(
        site=row["site"],
        real=course_of(row),
        shadow=None if shadow is None else course_of(shadow),
        normal_concurrency=row["normal_concurrency"],
        normal_revisit_interval_s=row["normal_revisit_interval_s"],
        last_run_end=row["last_run_end"],
        incident_id=row["incident_id"],
        revision=row["revision"],
    )


def course_of(row: dict[str, Any]) -> Course:
    values = {field.name: row[field.name] for field in fields(Course)}
    return Course(**{**values, "reasons": tuple(values["reasons"])})


def values_of(record: Any) -> dict[str, Any]:
    """A dataclass's own values by name. ``asdict`` copies all that they hold, at ten times the
    cost."""
    return {field.name: getattr(record, field.name) for field in fields(record)}


def save_states(con: duckdb.DuckDBPyConnection, states: Iterable[SiteState]) -> None:
    """Insert or update states; a row that has a newer revision than ours stays as it is."""
    rows = [
        {
            **values_of(state.real),
            **values_of(state),
            "shadow": None if state.shadow is None else values_of(state.shadow),
            **values_of(
                orders(
                    state.real.state,
                    state.real.step,
                    state.normal_concurrency,
                    state.normal_revisit_interval_s,
                )
            ),
        }
        for state in states
    ]
    if not rows:
        return
    updates = ", ".join(f"{name} = excluded.{name}" for name in STATE.names if name != "site")
    with incoming(con, pa.Table.from_pylist(rows, schema=STATE)):
        con.execute(
            "INSERT INTO site_state BY NAME SELECT * FROM incoming "
            f"ON CONFLICT (site) DO UPDATE SET {updates} "
            "WHERE site_state.revision <= excluded.revision"
        )


def action_of(row: dict[str, Any]) -> Action:
    values = {field.name: row[field.name] for field in fields(Action)}
    return Action(**{**values, "reasons": tuple(values["reasons"])})


def add_actions(con: duckdb.DuckDBPyConnection, actions: Iterable[Action]) -> None:
    """Append actions to the history, in this order; one that stands there already is left."""
    rows = [{**asdict(action), "place": place} for place, action in enumerate(actions, start=1)]
    if not rows:
        return
    table = pa.Table.from_pylist(rows, schema=ACTION.append(pa.field("place", pa.int64())))
    with incoming(con, table):
        con.execute(
            "INSERT INTO actions BY NAME "
            "SELECT * EXCLUDE (place), place + "
            "(SELECT coalesce(max(sequence), 0) FROM actions) AS sequence "
            "FROM incoming ORDER BY place ON CONFLICT (action_id) DO NOTHING"
        )


def add_plan(
    con: duckdb.DuckDBPyConnection, actions: Iterable[Action], revisions: dict[str, int]
) -> None:
    """Add actions to the plan, each with the revision of the state that it was decided on."""
    rows = [
        {**asdict(action), "revision": None if action.site is None else revisions[action.site]}
        for action in actions
    ]
    if not rows:
        return
    table = pa.Table.from_pylist(rows, schema=ACTION.append(pa.field("revision", pa.int64())))
    with incoming(con, table):
        con.execute("INSERT INTO planned_actions BY NAME SELECT * FROM incoming")
