"""Filing what a person says of a closed incident."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime

import duckdb

from target_health.decisions.questions import Question
from target_health.errors import UsageError
from target_health.incidents.storage import known_incident
from target_health.times import DAY, iso
from target_health.warehouse.rows import rows_of
from target_health.warehouse.transactions import transaction

# Who was not asked about an incident within this time would not know any more.
ASKED_WITHIN_DAYS = 14


@dataclass(frozen=True, slots=True)
class Review:
    """A row of ``incident_reviews``; None is *don't know*. ``onset_at``: when it really began."""

    incident_id: str
    site: str | None
    kind: str
    reviewed_by: str
    reviewed_at: datetime
    is_false_alarm: bool
    was_early_enough: bool | None = None
    are_reasons_right: bool | None = None
    did_action_help: bool | None = None
    onset_at: datetime | None = None
    note: str | None = None


def file_review(
    con: duckdb.DuckDBPyConnection,
    incident_id: str,
    *,
    by: str,
    now: datetime,
    is_false_alarm: bool,
    was_early_enough: bool | None = None,
    are_reasons_right: bool | None = None,
    did_action_help: bool | None = None,
    onset_at: datetime | None = None,
    note: str | None = None,
) -> Review:
    """File the review of a closed incident, in place of an earlier one.

    Raises ``UsageError`` where there is no such incident, it is still open, nobody signs, or the
    onset lies after the close.
    """
    if not by.strip():
        raise UsageError("say who reviews: --by NAME")
    incident = known_incident(con, incident_id)
    if incident.closed_at is None:
        raise UsageError(f"{incident_id} is still open: it is reviewed once it is closed")
    if onset_at is not None and onset_at > incident.closed_at:
        raise UsageError(f"the onset {iso(onset_at)} lies after the close")
    review = Review(
        incident_id,
        incident.site,
        incident.kind,
        by.strip(),
        now,
        is_false_alarm,
        was_early_enough,
        are_reasons_right,
        did_action_help,
        None if is_false_alarm else onset_at,
        (note or "").strip() or None,
    )
    values = asdict(review)
    marks = ", ".join("?" for _ in values)
    with transaction(con):
        con.execute(
            f"INSERT OR REPLACE INTO incident_reviews ({', '.join(values)}) VALUES ({marks})",
            list(values.values()),
        )
        con.execute(
            "UPDATE site_questions SET answered_at = ? WHERE incident_id = ? AND kind = 'review'"
            " AND answered_at IS NULL",
            [now, incident_id],
        )
    return review


def reviews_to_ask(con: duckdb.DuckDBPyConnection, now: datetime) -> list[Question]:
    """One for each incident that closed lately, that called or acted, and that nobody reviewed."""
    rows = rows_of(
        con,
        "SELECT incidents.incident_id, incidents.site FROM incidents"
        " LEFT JOIN incident_reviews USING (incident_id)"
        " WHERE incident_reviews.incident_id IS NULL AND incidents.closed_at > ?"
        " AND incidents.mode = 'act'"
        " AND (len(incidents.actions) > 0"
        " OR incidents.incident_id IN (SELECT incident_id FROM pages))"
        " AND incidents.incident_id NOT IN"
        " (SELECT incident_id FROM site_questions WHERE kind = 'review')"
        " ORDER BY incidents.closed_at, incidents.incident_id",
        [now - ASKED_WITHIN_DAYS * DAY],
    )
    return [
        Question(f"review-{row['incident_id']}", "review", row["incident_id"], row["site"], now)
        for row in rows
    ]
