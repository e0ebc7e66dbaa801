"""A run's decisions carried out: the plan in one transaction, then each kind of action once."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

import duckdb
import pyarrow as pa

from target_health.config import Configuration
from target_health.decisions.courses import after
from target_health.decisions.modes import mode_of
from target_health.decisions.records import Action, Decisions
from target_health.decisions.storage import (
    TIME,
    action_of,
    add_actions,
    add_plan,
    load_states,
    rows_of,
    save_states,
)
from target_health.errors import UsageError
from target_health.times import iso
from target_health.warehouse.transactions import transaction

# Which kinds of action each branch of the hourly run carries out.
BRANCHES: dict[str, frozenset[str]] = {
    "hold_steady": frozenset({"restore"}),
    "slow_down": frozenset({"slow_down", "fuse"}),
    "pause_sites": frozenset({"pause"}),
}


def last_acted(con: duckdb.DuckDBPyConnection) -> datetime | None:
    """The end of the latest run that was allowed to act."""
    (row,) = rows_of(con, "SELECT max(run_end) AS latest FROM acting_runs")
    latest: datetime | None = row["latest"]
    return latest


def refuse_if_later(con: duckdb.DuckDBPyConnection, run_end: datetime) -> None:
    """Raise ``UsageError`` when a run with a later end has acted already."""
    acted = last_acted(con)
    if acted is not None and acted > run_end:
        raise UsageError(
            f"a run up to {iso(acted)} has acted already, so one up to {iso(run_end)} must not: "
            "run it with --no-act"
        )


def evidence_starts(con: duckdb.DuckDBPyConnection, configuration: Configuration) -> pa.Table:
    """From when on the evidence of each known site is fresh: ``site, evidence_from`` (or null).

    It is the course that the site's mode decides on that counts: real, or that of observe mode.
    """
    policy, sites = configuration.policy, configuration.sites
    rows = [
        {"site": site, "evidence_from": state.course(mode_of(policy, sites, site)).evidence_from}
        for site, state in load_states(con).items()
    ]
    return pa.Table.from_pylist(
        rows, schema=pa.schema([("site", pa.string()), ("evidence_from", TIME)])
    )


def record_plan(con: duckdb.DuckDBPyConnection, decisions: Decisions) -> None:
    """Store what a run learned and plans, in place of any plan that is not carried out yet.

    What was carried out before in the same run stays. Raises ``UsageError`` when a later run has
    acted. Call it on the connection that the states were read with, under the writer's lock.
    """
    run_end = decisions.run_end
    with transaction(con):
        refuse_if_later(con, run_end)
        save_states(con, decisions.states)
        con.execute(
            "DELETE FROM planned_actions "
            "WHERE run_end <> ? OR action_id NOT IN (SELECT action_id FROM actions)",
            [run_end],
        )
        done = {row["action_id"] for row in rows_of(con, "SELECT action_id FROM planned_actions")}
        revisions = {state.site: state.revision for state in decisions.states}
        add_plan(con, (act for act in decisions.actions if act.action_id not in done), revisions)
        fuse_sites = set(decisions.fuse.sites) if decisions.fuse else set()
        if actions_of(con, run_end, {"fuse"}):
            query = "SELECT fuse_sites FROM acting_runs WHERE run_end = ?"
            fuse_sites.update(rows_of(con, query, [run_end])[0]["fuse_sites"])
        con.execute(
            "INSERT INTO acting_runs VALUES (?, ?, ?) ON CONFLICT (run_end) DO UPDATE "
            "SET fleet = excluded.fleet, fuse_sites = excluded.fuse_sites",
            [run_end, decisions.fleet, sorted(fuse_sites)],
        )


def planned_kinds(con: duckdb.DuckDBPyConnection, run_end: datetime) -> set[str]:
    """The kinds of action that a run needs, carried out or not."""
    query = "SELECT DISTINCT kind FROM planned_actions WHERE run_end = ?"
    return {row["kind"] for row in rows_of(con, query, [run_end])}


def planned_branches(con: duckdb.DuckDBPyConnection, run_end: datetime) -> list[str]:
    """The branches that a run follows: one for every kind that it needs, at least one."""
    kinds = planned_kinds(con, run_end)
    return [name for name, own in BRANCHES.items() if own & kinds] or ["hold_steady"]


def apply_planned(
    con: duckdb.DuckDBPyConnection, run_end: datetime, kinds: Collection[str]
) -> list[Action]:
    """Carry out the plan's actions of these kinds once, and return all that the run did of them.

    One transaction. A site that a human decided about since the plan was made is left as the
    human wants it. Raises ``UsageError`` when a later run has acted.
    """
    with transaction(con):
        refuse_if_later(con, run_end)
        pending = rows_of(
            con,
            "SELECT * FROM planned_actions WHERE run_end = ? AND kind IN (SELECT unnest(?)) "
            "AND action_id NOT IN (SELECT action_id FROM actions) ORDER BY site NULLS FIRST",
            [run_end, list(kinds)],
        )
        states = load_states(con, [row["site"] for row in pending if row["site"] is not None])
        done, moved = [], []
        for row in pending:
            action = action_of(row)
            if action.site is not None:
                state = states[action.site]
                if state.revision != row["revision"]:
                    continue
                moved.append(after(state, action))
            done.append(action)
        save_states(con, moved)
        add_actions(con, done)
    return actions_of(con, run_end, kinds)


def actions_of(
    con: duckdb.DuckDBPyConnection, run_end: datetime, kinds: Collection[str]
) -> list[Action]:
    """What a run did of these kinds, in order."""
    rows = rows_of(
        con,
        "SELECT * FROM actions WHERE run_end = ? AND kind IN (SELECT unnest(?)) ORDER BY sequence",
        [run_end, list(kinds)],
    )
    return [action_of(row) for row in rows]
