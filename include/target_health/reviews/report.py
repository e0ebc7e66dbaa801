"""What reviews say: lead time, false alarms a site-month, reasons right, by signal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import duckdb

from target_health.warehouse.rows import rows_of

DAYS_A_MONTH = 365.25 / 12

REVIEWED = """
SELECT
    incident_reviews.*,
    incidents.first_movement_at,
    incidents.opened_at,
    incidents.reasons_over_time[1].reasons AS first_reasons,
    list_min(list_transform(
        list_filter(incidents.actions, lambda action: action.decided_by = 'target-health'),
        lambda action: action.decided_at
    )) AS acted_at
FROM incident_reviews
INNER JOIN incidents USING (incident_id)
ORDER BY incidents.opened_at, incident_reviews.incident_id
"""
SITE_DAYS = """
SELECT count(DISTINCT (site, date_trunc('day', window_start))) AS site_days
FROM site_windows
WHERE judged > 0
"""


@dataclass(frozen=True, slots=True)
class SignalReport:
    """What reviews say of one signal, the first reason of incidents; shares are None of nothing.

    Lead times are minutes from the real onset, as the reviewer told it, to the first movement of
    the score and to the first action: smaller is better, negative is ahead of it.
    """

    signal: str
    reviewed: int
    false_alarms: int
    early_enough_share: float | None
    reasons_right_share: float | None
    action_helped_share: float | None
    onset_to_movement_minutes: float | None
    onset_to_action_minutes: float | None


@dataclass(frozen=True, slots=True)
class ReviewReport:
    """All signals together (``signal`` is ``all``) and each; ``site_months`` were watched."""

    site_months: float
    false_alarms_a_site_month: float | None
    total: SignalReport
    signals: tuple[SignalReport, ...]


def review_report(con: duckdb.DuckDBPyConnection) -> ReviewReport:
    """The reviews of all incidents so far."""
    rows = rows_of(con, REVIEWED)
    (watched,) = rows_of(con, SITE_DAYS)
    months = watched["site_days"] / DAYS_A_MONTH
    by_signal: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_signal.setdefault(signal_of(row), []).append(row)
    total = signal_report("all", rows)
    return ReviewReport(
        site_months=months,
        false_alarms_a_site_month=total.false_alarms / months if months else None,
        total=total,
        signals=tuple(signal_report(name, own) for name, own in sorted(by_signal.items())),
    )


def signal_of(row: dict[str, Any]) -> str:
    """The first reason that names a signal, else the incident's kind."""
    named = [reason for reason in row["first_reasons"] or [] if reason != "refusal"]
    return named[0] if named else str(row["kind"])


def signal_report(signal: str, rows: Sequence[dict[str, Any]]) -> SignalReport:
    known = [row for row in rows if row["onset_at"] is not None]
    return SignalReport(
        signal=signal,
        reviewed=len(rows),
        false_alarms=sum(row["is_false_alarm"] for row in rows),
        early_enough_share=share(rows, "was_early_enough"),
        reasons_right_share=share(rows, "are_reasons_right"),
        action_helped_share=share(rows, "did_action_help"),
        onset_to_movement_minutes=delay(known, "first_movement_at"),
        onset_to_action_minutes=delay(known, "acted_at"),
    )


def share(rows: Sequence[dict[str, Any]], answer: str) -> float | None:
    known = [row[answer] for row in rows if row[answer] is not None]
    return sum(known) / len(known) if known else None


def delay(rows: Sequence[dict[str, Any]], moment: str) -> float | None:
    """The median of minutes from onset to a moment."""
    found = [
        (row[moment] - row["onset_at"]).total_seconds() / 60
        for row in rows
        if row[moment] is not None
    ]
    return median(found) if found else None
