"""Canaries in the warehouse: rows in, rows out; every write is idempotent by its key."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields, replace
from datetime import datetime, timedelta
from typing import Any, TypeVar

import duckdb
import pyarrow as pa

from target_health.canaries.records import Acceptance, CheckResult, Known, Observation, PageFacts
from target_health.canaries.states import Key, PageState, is_from_production
from target_health.canaries.verdicts import SiteVerdict, Standing
from target_health.warehouse.rows import rows_of
from target_health.warehouse.tables import table_exists

Record = TypeVar("Record")

#: Characters of a value that can be accepted later; longer lists are told and not kept whole.
LONGEST_VALUE = 20_000


# Results


def save_results(
    connection: duckdb.DuckDBPyConnection,
    observations: Iterable[tuple[str, Observation]],
    *,
    production: Mapping[tuple[str, str], str],
    now: datetime,
) -> None:
    """Add one row a check of observations, each with its run; a row that stands there already
    stays.
    """
    rows = [
        row
        for run_id, seen in observations
        for row in _result_rows(seen, run_id, is_from_production(seen, production), now)
    ]
    if rows:
        with_rows(
            connection,
            rows,
            "INSERT INTO canary_results BY NAME SELECT * FROM incoming "
            "ON CONFLICT (result_id) DO NOTHING",
            RESULTS,
        )


TIME = pa.timestamp("us")
RESULTS = pa.schema(
    [
        *((name, pa.string()) for name in ("result_id", "run_id", "site", "page", "check_name")),
        ("url", pa.string()),
        ("observed_at", TIME),
        ("route", pa.string()),
        ("is_production", pa.bool_()),
        *((name, pa.string()) for name in ("via", "outcome", "page_outcome", "expected", "got")),
        *((name, pa.string()) for name in ("value", "detail", "verdict")),
        ("status", pa.int16()),
        ("error", pa.string()),
        ("evidence", pa.list_(pa.string())),
        ("final_url", pa.string()),
        ("latency_ms", pa.float64()),
        ("recorded_at", TIME),
    ]
)


def with_rows(
    connection: duckdb.DuckDBPyConnection,
    rows: list[dict[str, Any]],
    sql: str,
    schema: pa.Schema,
) -> None:
    """Run a statement over the rows as the relation ``incoming``."""
    connection.register("incoming", pa.Table.from_pylist(rows, schema=schema))
    try:
        connection.execute(sql)
    finally:
        connection.unregister("incoming")


def _result_rows(
    seen: Observation, run_id: str, is_production: bool, now: datetime
) -> Iterable[dict[str, Any]]:
    for check in seen.checks:
        key = "\n".join([run_id, seen.site, seen.page, seen.route, check.check])
        value = check.value if check.value and len(check.value) <= LONGEST_VALUE else None
        yield {
            "result_id": hashlib.sha256(key.encode()).hexdigest()[:32],
            "run_id": run_id,
            "site": seen.site,
            "page": seen.page,
            "check_name": check.check,
            "url": seen.url,
            "observed_at": seen.observed_at,
            "route": seen.route,
            "is_production": is_production,
            "via": seen.via,
            "outcome": check.outcome,
            "page_outcome": seen.outcome,
            "expected": check.expected,
            "got": check.got,
            "value": value,
            "detail": check.detail,
            "verdict": seen.verdict,
            "status": seen.status,
            "error": seen.error,
            "evidence": list(seen.evidence),
            "final_url": seen.final_url or None,
            "latency_ms": seen.latency_ms,
            "recorded_at": now,
        }


def drop_old(connection: duckdb.DuckDBPyConnection, now: datetime, keep_days: int) -> None:
    oldest = now - timedelta(days=keep_days)
    connection.execute("DELETE FROM canary_results WHERE observed_at < ?", [oldest])


# States


STATES = pa.schema(
    [
        *((name, pa.string()) for name in ("site", "page", "route")),
        ("is_production", pa.bool_()),
        ("newest_at", TIME),
        ("newest_outcome", pa.string()),
        ("newest_detail", pa.string()),
        ("told_at", TIME),
        ("told_outcome", pa.string()),
        ("told_detail", pa.string()),
        ("wrong_runs", pa.int32()),
        ("wrong_since", TIME),
        ("last_good_at", TIME),
        *((f"good_{name}", pa.string()) for name in ("title", "content_hash", "text_hash")),
    ]
)


def load_states(
    connection: duckdb.DuckDBPyConnection, sites: Sequence[str] | None = None
) -> dict[Key, PageState]:
    query, given = "SELECT * FROM canary_states", []
    if sites is not None:
        query += " WHERE site IN (SELECT unnest(?::VARCHAR[]))"
        given = [list(sites)]
    states = (record(PageState, row) for row in rows_of(connection, query, given))
    return {state.key: state for state in states}


def save_states(connection: duckdb.DuckDBPyConnection, states: Iterable[PageState]) -> None:
    rows = [asdict(state) for state in states]
    if rows:
        sql = "INSERT OR REPLACE INTO canary_states BY NAME SELECT * FROM incoming"
        with_rows(connection, rows, sql, STATES)


def record(kind: type[Record], row: Mapping[str, Any]) -> Record:
    """A row as a dataclass; lists become tuples."""
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    return kind(
        **{name: tuple(row[name]) if isinstance(row[name], list) else row[name] for name in names}
    )


# What is known of pages


def load_known(connection: duckdb.DuckDBPyConnection) -> dict[tuple[str, str], Known]:
    """Accepted values and skeletons by site and page; empty before the first migration."""
    if not table_exists(connection, "canary_acceptances"):
        return {}
    accepted: dict[tuple[str, str], dict[str, Acceptance]] = {}
    for row in rows_of(connection, "SELECT * FROM canary_acceptances ORDER BY accepted_at"):
        one = record(Acceptance, {**row, "check": row["check_name"]})
        accepted.setdefault((one.site, one.page), {})[one.check] = one
    skeletons: dict[tuple[str, str], tuple[int, ...]] = {}
    for row in rows_of(connection, "SELECT * FROM canary_skeletons ORDER BY recorded_at"):
        skeletons[row["site"], row["page"]] = tuple(row["skeleton"])
    return {
        key: Known(accepted.get(key, {}), skeletons.get(key))
        for key in accepted.keys() | skeletons.keys()
    }


def add_acceptance(connection: duckdb.DuckDBPyConnection, one: Acceptance) -> None:
    connection.execute(
        "INSERT INTO canary_acceptances VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [one.site, one.page, one.check, one.expectation, one.old, one.new,
         one.accepted_at, one.accepted_by, one.why],
    )  # fmt: skip


def add_skeleton(
    connection: duckdb.DuckDBPyConnection, seen: Observation, by: str, now: datetime
) -> None:
    connection.execute(
        "INSERT INTO canary_skeletons VALUES (?, ?, ?, ?, ?)",
        [seen.site, seen.page, list(seen.facts.skeleton), now, by],
    )


# Verdicts


def load_verdicts(connection: duckdb.DuckDBPyConnection) -> dict[str, SiteVerdict]:
    """What canaries say of each site that has some, as of the last run: for incidents, pages and
    reports. Empty in a database without canaries.
    """
    if not table_exists(connection, "canary_verdicts"):
        return {}
    rows = rows_of(connection, "SELECT * FROM canary_verdicts ORDER BY site")
    return {row["site"]: record(SiteVerdict, row) for row in rows}


def save_verdicts(connection: duckdb.DuckDBPyConnection, verdicts: Iterable[SiteVerdict]) -> None:
    """Replace every site's verdict: a site without canaries has none."""
    connection.execute("DELETE FROM canary_verdicts")
    names = [field.name for field in fields(SiteVerdict)]
    marks = ", ".join("?" for _ in names)
    for one in verdicts:
        values = [getattr(one, name) for name in names]
        connection.execute(
            f"INSERT INTO canary_verdicts ({', '.join(names)}) VALUES ({marks})",
            [list(value) if isinstance(value, tuple) else value for value in values],
        )


def load_standings(connection: duckdb.DuckDBPyConnection) -> dict[str, Standing]:
    """How scores and decisions have each site."""
    if not table_exists(connection, "site_state"):
        return {}
    states = connection.execute("SELECT site, state FROM site_state").fetchall()
    found = {site: Standing(state=state) for site, state in states}
    if table_exists(connection, "site_health"):
        for site, band in connection.execute("SELECT site, band FROM site_health").fetchall():
            found[site] = replace(found.get(site, Standing()), band=band)
    return found


def stopped_sites(connection: duckdb.DuckDBPyConnection) -> frozenset[str]:
    """Sites that are never fetched again; paused ones are watched on."""
    if not table_exists(connection, "site_state"):
        return frozenset()
    rows = connection.execute("SELECT site FROM site_state WHERE state = 'stopped'").fetchall()
    return frozenset(site for (site,) in rows)


# Observations between two tasks


def dump_observation(seen: Observation) -> dict[str, Any]:
    """An observation as JSON can say it, without the skeleton that only ``canary record`` keeps."""
    slim = replace(seen, facts=replace(seen.facts, skeleton=()))
    return {**asdict(slim), "observed_at": seen.observed_at.isoformat()}


def load_observation(given: Mapping[str, Any]) -> Observation:
    """Raises ``KeyError``, ``TypeError`` or ``ValueError`` for what is none."""
    facts = given["facts"]
    return Observation(
        **{
            **given,
            "observed_at": datetime.fromisoformat(given["observed_at"]),
            "checks": tuple(CheckResult(**check) for check in given["checks"]),
            "evidence": tuple(given["evidence"]),
            "facts": PageFacts(**{**facts, "skeleton": tuple(facts["skeleton"])}),
        }
    )
