"""Incidents as rows of the warehouse, and back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, fields
from typing import Any

import duckdb
import pyarrow as pa

from target_health.decisions.storage import TEXTS, TIME, incoming
from target_health.errors import UsageError
from target_health.incidents.records import SITE_KINDS, Incident, Kind, Movement
from target_health.warehouse.rows import rows_of

MOVEMENT = pa.struct(
    [
        ("moved_at", TIME),
        ("band", pa.string()),
        ("score", pa.float64()),
        ("reasons", TEXTS),
        ("diagnosis", pa.string()),
    ]
)
INCIDENT = pa.schema(
    [
        ("incident_id", pa.string()),
        ("site", pa.string()),
        ("kind", pa.string()),
        ("owner", pa.string()),
        ("mode", pa.string()),
        ("first_movement_at", TIME),
        ("opened_at", TIME),
        ("closed_at", TIME),
        ("closed_by", pa.string()),
        ("close_reason", pa.string()),
        ("openings", pa.int32()),
        ("band", pa.string()),
        ("worst_band", pa.string()),
        ("score", pa.float64()),
        ("worst_score", pa.float64()),
        ("worst_served_share", pa.float64()),
        ("reasons", TEXTS),
        ("reasons_over_time", pa.list_(MOVEMENT)),
        ("diagnosis", pa.string()),
        ("seen_at", TIME),
        ("quiet_since", TIME),
        ("last_run_end", TIME),
    ]
)
COLUMNS = ", ".join(INCIDENT.names)


def incident_of(row: dict[str, Any]) -> Incident:
    values = {field.name: row[field.name] for field in fields(Incident)}
    values["reasons"] = tuple(values["reasons"])
    values["reasons_over_time"] = tuple(
        Movement(**{**movement, "reasons": tuple(movement["reasons"])})
        for movement in values["reasons_over_time"]
    )
    return Incident(**values)


def latest_incidents(con: duckdb.DuckDBPyConnection) -> dict[tuple[str | None, Kind], Incident]:
    """The newest incident of each site and kind, open or closed."""
    rows = rows_of(
        con,
        f"SELECT {COLUMNS} FROM incidents"
        " QUALIFY row_number() OVER (PARTITION BY site, kind ORDER BY opened_at DESC) = 1",
    )
    return {(row["site"], row["kind"]): incident_of(row) for row in rows}


def open_incidents(con: duckdb.DuckDBPyConnection) -> list[Incident]:
    """All that are open, oldest first."""
    query = f"SELECT {COLUMNS} FROM incidents WHERE closed_at IS NULL ORDER BY opened_at, site"
    return [incident_of(row) for row in rows_of(con, query)]


def find_incident(con: duckdb.DuckDBPyConnection, name: str) -> Incident | None:
    """One incident by its id."""
    query = f"SELECT {COLUMNS} FROM incidents WHERE incident_id = ?"
    rows = rows_of(con, query, [name])
    return incident_of(rows[0]) if rows else None


def known_incident(con: duckdb.DuckDBPyConnection, name: str) -> Incident:
    """One incident by its id; ``UsageError`` where there is none such."""
    incident = find_incident(con, name)
    if incident is None:
        raise UsageError(f"{name}: no such incident; `target-health incidents` lists them")
    return incident


def save_incidents(con: duckdb.DuckDBPyConnection, incidents: Iterable[Incident]) -> None:
    """Insert or update incidents by id; their evidence and actions stay as they are."""
    rows = [asdict(incident) for incident in incidents]
    if not rows:
        return
    updates = ", ".join(
        f"{name} = excluded.{name}" for name in INCIDENT.names if name != "incident_id"
    )
    with incoming(con, pa.Table.from_pylist(rows, schema=INCIDENT)):
        con.execute(
            "INSERT INTO incidents BY NAME SELECT *, [] AS actions FROM incoming "
            f"ON CONFLICT (incident_id) DO UPDATE SET {updates}"
        )


def incident_of_sites(incidents: Iterable[Incident]) -> dict[str, str]:
    """The open incident that stands for each site: the first in the order of kinds."""
    best: dict[str, Incident] = {}
    for incident in incidents:
        if incident.site is None or not incident.is_open:
            continue
        other = best.get(incident.site)
        if other is None or SITE_KINDS.index(incident.kind) < SITE_KINDS.index(other.kind):
            best[incident.site] = incident
    return {site: incident.incident_id for site, incident in best.items()}


def refresh_incidents(con: duckdb.DuckDBPyConnection) -> None:
    """Bring up to date what incidents and states say of each other: actions, open incidents."""
    con.execute(
        "UPDATE incidents SET actions = found.actions FROM ("
        "SELECT incident_id, list(struct_pack("
        "decided_at := decided_at, kind := kind, to_state := to_state, to_step := to_step,"
        " decided_by := decided_by, why := why, applied := applied) ORDER BY sequence) AS actions"
        " FROM actions WHERE incident_id IS NOT NULL GROUP BY incident_id"
        ") AS found WHERE incidents.incident_id = found.incident_id"
        " AND len(incidents.actions) <> len(found.actions)"
    )
    of_sites = incident_of_sites(open_incidents(con))
    con.execute(
        "UPDATE site_state SET incident_id = found.incident_id FROM ("
        "SELECT site_state.site, given.incident_id FROM site_state LEFT JOIN ("
        "SELECT unnest(?::VARCHAR[]) AS site, unnest(?::VARCHAR[]) AS incident_id"
        ") AS given USING (site)) AS found WHERE site_state.site = found.site"
        " AND site_state.incident_id IS DISTINCT FROM found.incident_id",
        [list(of_sites), list(of_sites.values())],
    )
