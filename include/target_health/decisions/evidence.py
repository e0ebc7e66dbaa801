"""Reading what decisions are made on: one row a site, measured by SQL as of a run's end."""

from __future__ import annotations

from datetime import datetime, timedelta

import duckdb

from target_health.config import Configuration
from target_health.decisions.records import SiteEvidence
from target_health.decisions.runs import evidence_starts
from target_health.modelling.models import run_select
from target_health.modelling.settings import fleet_parameters, make_site_settings
from target_health.modelling.windows import known_sites
from target_health.warehouse.rows import rows_of

# Smoothing forgets within a day, and the longest window is a day: windows since an action that is
# older than this give the same band as all windows do.
FRESH_FOR = timedelta(days=3)


def site_evidence(
    connection: duckdb.DuckDBPyConnection, configuration: Configuration, as_of: datetime
) -> list[SiteEvidence]:
    """What the scores say of every known site as of ``as_of`` (naive UTC)."""
    parameters = {
        "start": as_of - FRESH_FOR,
        "end": as_of,
        "as_of": as_of,
        "config_version": configuration.version,
        "delivery_after_low_minutes": configuration.policy.delivery_after_low_minutes,
        **fleet_parameters(configuration),
    }
    starts = [
        (row["site"], row["evidence_from"])
        for row in evidence_starts(connection, configuration).to_pylist()
        if row["evidence_from"] is not None and row["evidence_from"] > as_of - FRESH_FOR
    ]
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE evidence_from (site VARCHAR, since_at TIMESTAMP)"
    )
    if starts:
        connection.executemany("INSERT INTO evidence_from VALUES (?, ?)", starts)
    make_site_settings(connection, configuration, [site for site, _ in starts])
    run_select(
        connection, "CREATE OR REPLACE TEMP TABLE fresh_scores AS ", "site_scores", parameters
    )
    make_site_settings(connection, configuration, known_sites(connection))
    run_select(
        connection, "CREATE OR REPLACE TEMP TABLE site_evidence AS ", "site_evidence", parameters
    )
    rows = rows_of(connection, "SELECT * FROM site_evidence ORDER BY site")
    for table in ("evidence_from", "fresh_scores", "site_evidence"):
        connection.execute(f"DROP TABLE {table}")
    return [SiteEvidence(**{**row, "reasons": tuple(row["reasons"])}) for row in rows]
