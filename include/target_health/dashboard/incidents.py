"""Incidents: open and past, one with its timeline, and how good the alarms were."""

from __future__ import annotations

import json
from typing import Any

from target_health.dashboard.database import Row, Snapshot
from target_health.errors import TargetHealthError

PAGE_SIZE = 50
NEEDED = ("incident_id", "site", "kind", "owner", "opened_at", "closed_at", "worst_band", "reasons")


class NoSuchIncident(TargetHealthError):
    """The published database knows no such incident."""


def are_recorded(snapshot: Snapshot) -> bool:
    return snapshot.has("incidents", *NEEDED)


def are_reviewed(snapshot: Snapshot) -> bool:
    return snapshot.has("incident_reviews", "incident_id", "is_false_alarm", "reviewed_at")


def incident_source(snapshot: Snapshot) -> str:
    """Incidents with whether somebody has judged them."""
    review = "NULL::TIMESTAMP AS reviewed_at, NULL::BOOLEAN AS is_false_alarm"
    join = ""
    if are_reviewed(snapshot):
        review = "incident_reviews.reviewed_at, incident_reviews.is_false_alarm"
        join = "LEFT JOIN incident_reviews ON incidents.incident_id = incident_reviews.incident_id"
    return f"(SELECT incidents.*, {review} FROM incidents {join}) AS incidents"


LISTED = (
    "incident_id, site, kind, owner, mode, band, worst_band, score, worst_score, reasons, "
    "diagnosis, first_movement_at, opened_at, closed_at, closed_by, close_reason, openings, "
    "reviewed_at, is_false_alarm"
)


def open_incidents(snapshot: Snapshot) -> list[Row]:
    """All that are open, worst first."""
    return snapshot.rows(
        f"""
        SELECT {LISTED} FROM {incident_source(snapshot)}
        WHERE closed_at IS NULL
        ORDER BY list_position(['resisting', 'degraded'], band) NULLS LAST, opened_at DESC
        LIMIT 500
        """
    )


def past_incidents(snapshot: Snapshot, page: int = 1, size: int = PAGE_SIZE) -> list[Row]:
    """A page of those that are closed, newest first."""
    return snapshot.rows(
        f"""
        SELECT {LISTED} FROM {incident_source(snapshot)}
        WHERE closed_at IS NOT NULL
        ORDER BY closed_at DESC, incident_id
        LIMIT {size:d} OFFSET {(max(1, page) - 1) * size:d}
        """
    )


def count_past(snapshot: Snapshot) -> int:
    row = snapshot.row("SELECT count(*) AS found FROM incidents WHERE closed_at IS NOT NULL")
    return row["found"] if row else 0


def all_incidents(snapshot: Snapshot) -> list[Row]:
    return snapshot.rows(
        f"SELECT {LISTED} FROM {incident_source(snapshot)} ORDER BY opened_at DESC, incident_id"
    )


def incident(snapshot: Snapshot, incident_id: str) -> Row:
    """One incident with its movements, actions, evidence and review. Raises ``NoSuchIncident``."""
    row = None
    if are_recorded(snapshot):
        row = snapshot.row(
            f"SELECT * FROM {incident_source(snapshot)} WHERE incident_id = ?", [incident_id]
        )
    if row is None:
        raise NoSuchIncident(incident_id)
    row["evidence"] = evidence_of(row.get("evidence"))
    row["timeline"] = timeline(row)
    row["review"] = None
    if are_reviewed(snapshot):
        row["review"] = snapshot.row(
            "SELECT * FROM incident_reviews WHERE incident_id = ?", [incident_id]
        )
    return row


def evidence_of(text: str | None) -> dict[str, Any]:
    """The evidence as it was kept; empty where there is none that can be read."""
    try:
        found = json.loads(text) if text else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def timeline(row: Row) -> list[Row]:
    """Movements, actions, opening and closing in one row, oldest first."""
    entries: list[Row] = [
        {"at": row.get("first_movement_at"), "what": "first movement", "detail": {}},
        {"at": row["opened_at"], "what": "opened", "detail": {}},
    ]
    for movement in row.get("reasons_over_time") or ():
        entries.append({"at": movement["moved_at"], "what": "moved", "detail": movement})
    for action in row.get("actions") or ():
        entries.append({"at": action["decided_at"], "what": "action", "detail": action})
    if row["closed_at"] is not None:
        entries.append({"at": row["closed_at"], "what": "closed", "detail": {}})
    order = ("first movement", "opened", "moved", "action", "closed")
    known = [entry for entry in entries if entry["at"] is not None]
    return sorted(known, key=lambda entry: (entry["at"], order.index(entry["what"])))


def alarm_quality(snapshot: Snapshot) -> Row | None:
    """How good the closed incidents' alarms were; None where nobody has judged one yet.

    ``lead_hours`` is the median from the opening to the onset that people named: how much earlier
    the incident stood.
    """
    needed = ("onset_at", "was_early_enough", "are_reasons_right", "did_action_help")
    if not are_reviewed(snapshot) or not snapshot.has("incident_reviews", *needed):
        return None
    row = snapshot.row(
        """
        SELECT
            count(*) AS incidents,
            count(incident_reviews.reviewed_at) AS reviewed,
            count(*) FILTER (incident_reviews.is_false_alarm) AS false_alarms,
            avg(incident_reviews.was_early_enough::INTEGER) AS early_share,
            avg(incident_reviews.are_reasons_right::INTEGER) AS reasons_right_share,
            avg(incident_reviews.did_action_help::INTEGER) AS action_helped_share,
            median(
                date_diff('minute', incidents.opened_at, incident_reviews.onset_at)
            ) / 60.0 AS lead_hours
        FROM incidents
        LEFT JOIN incident_reviews ON incidents.incident_id = incident_reviews.incident_id
        WHERE incidents.closed_at IS NOT NULL
        """
    )
    return row if row and row["reviewed"] else None
