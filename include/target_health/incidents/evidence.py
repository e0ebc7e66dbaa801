"""What an incident shows: sample fetches with their verdicts, the split by route, canaries."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any

import duckdb

from target_health.incidents.records import Incident
from target_health.modelling.lake import show_lake_fetches
from target_health.paths import Home
from target_health.times import DAY, iso
from target_health.warehouse.rows import rows_of
from target_health.warehouse.tables import table_exists

SAMPLES = 10
ROUTES_A_DIMENSION = 5
CANARIES_SHOWN = 10

# Fetches that failed come first, of each verdict the newest; where none failed, the newest.
SAMPLE = """
WITH pages AS (
    SELECT site, ts, url, status, error, verdict, evidence, event_id
    FROM lake_fetches
    WHERE site IN (SELECT unnest(?)) AND canary IS NULL AND verdict <> 'redirect'
    QUALIFY row_number() OVER (PARTITION BY site, url, verdict ORDER BY ts DESC, event_id) = 1
),

ranked_pages AS (
    SELECT
        *,
        row_number() OVER (PARTITION BY site, verdict ORDER BY ts DESC, event_id) AS place
    FROM pages
)

SELECT site, ts, url, status, error, verdict, evidence
FROM ranked_pages
QUALIFY
    row_number() OVER (PARTITION BY site ORDER BY verdict = 'ok', place, ts DESC, event_id) <= ?
ORDER BY site, verdict = 'ok', ts DESC
"""
ROUTE_SPLIT = """
WITH fetches AS (
    SELECT
        site,
        route_gateway AS gateway,
        route_country AS country,
        route_pool AS pool,
        route_session AS session,
        route_exit AS exit,
        verdict IN (
            'hard_block', 'challenge', 'soft_block', 'unknown', 'server_error'
        ) AS has_failed
    FROM lake_fetches
    WHERE site IN (SELECT unnest(?)) AND canary IS NULL AND verdict <> 'redirect'
),

route_fetches AS (
    SELECT site, dimension, value, has_failed
    FROM fetches
    UNPIVOT (value FOR dimension IN (gateway, country, pool, session, exit))
)

SELECT
    site,
    dimension,
    value,
    count(*) AS fetches,
    count(*) FILTER (has_failed) AS failed
FROM route_fetches
GROUP BY site, dimension, value
QUALIFY row_number() OVER (PARTITION BY site, dimension ORDER BY failed DESC, fetches DESC, value)
    <= ?
ORDER BY site, list_position(['gateway', 'country', 'pool', 'session', 'exit'], dimension),
    failed DESC, fetches DESC, value
"""


def gather_evidence(
    con: duckdb.DuckDBPyConnection, home: Home, incidents: Iterable[Incident], as_of: datetime
) -> dict[str, dict[str, Any]]:
    """Evidence by incident id, from the 24 hours before ``as_of``."""
    wanted = [incident for incident in incidents if incident.site is not None]
    sites = sorted({str(incident.site) for incident in wanted})
    if not sites:
        return {}
    show_lake_fetches(con, home, as_of - DAY, as_of)
    samples = by_site(rows_of(con, SAMPLE, [sites, SAMPLES]))
    routes = by_site(rows_of(con, ROUTE_SPLIT, [sites, ROUTES_A_DIMENSION]))
    con.execute("DROP VIEW lake_fetches")
    return {
        incident.incident_id: {
            "as_of": as_of,
            "samples": samples.get(str(incident.site), []),
            "routes": routes.get(str(incident.site), []),
            "canaries": canaries_of(con, str(incident.site), as_of - DAY),
            "canary_verdict": canary_verdict_of(con, str(incident.site)),
        }
        for incident in wanted
    }


def by_site(rows: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    sites: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        sites.setdefault(row["site"], []).append(
            {key: value for key, value in row.items() if key != "site"}
        )
    return sites


CANARIES = """
SELECT observed_at, page, check_name, route, outcome, expected, got, nullif(detail, '') AS detail
FROM canary_results
WHERE site = ? AND observed_at >= ?
ORDER BY observed_at DESC, page, check_name, route
LIMIT ?
"""
CANARY_VERDICT = """
SELECT verdict, deceived_since, suspect_since, records_since, fetches_since, disagreement, notes
FROM canary_verdicts
WHERE site = ?
"""


def canaries_of(con: duckdb.DuckDBPyConnection, site: str, since: datetime) -> list[dict[str, Any]]:
    """The newest canary results of a site since a moment; none where no canary ever ran."""
    if not table_exists(con, "canary_results"):
        return []
    return rows_of(con, CANARIES, [site, since, CANARIES_SHOWN])


def canary_verdict_of(con: duckdb.DuckDBPyConnection, site: str) -> dict[str, Any] | None:
    """What canaries say of the site as a whole, and since when its data is suspect."""
    if not table_exists(con, "canary_verdicts"):
        return None
    rows = rows_of(con, CANARY_VERDICT, [site])
    return rows[0] if rows else None


def save_evidence(con: duckdb.DuckDBPyConnection, evidence: dict[str, dict[str, Any]]) -> None:
    """Put evidence in place of what incidents had."""
    for name, content in evidence.items():
        con.execute(
            "UPDATE incidents SET evidence = ?::JSON WHERE incident_id = ?",
            [json.dumps(content, default=as_text, ensure_ascii=False), name],
        )


def as_text(value: object) -> str:
    return iso(value) if isinstance(value, datetime) else str(value)
