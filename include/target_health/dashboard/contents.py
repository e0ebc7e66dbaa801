"""What each page holds; its JSON holds the same."""

from __future__ import annotations

from typing import Any

from target_health.dashboard import fleet as fleets
from target_health.dashboard import incidents as incident_list
from target_health.dashboard import site as sites
from target_health.dashboard.database import Snapshot

# Scores and windows come with the charts.
SHOWN_TABLES = ("actions", "incidents", "routes", "fields", "canaries", "evidence")


def fleet_data(snapshot: Snapshot, choice: fleets.Choice) -> dict[str, Any]:
    page = fleets.fleet_page(snapshot, choice)
    return {
        **standing(snapshot),
        "found": page.found,
        "page": page.choice.page,
        "pages": page.pages,
        "sites": page.rows,
    }


def standing(snapshot: Snapshot) -> dict[str, Any]:
    """What stands on every page: how old it all is, and what is switched off."""
    return {
        "as_of": fleets.as_of_of(snapshot),
        "bands": fleets.band_counts(snapshot),
        "switched_off": fleets.switched_off(snapshot),
        "waiting": sites.waiting_questions(snapshot),
    }


def site_data(snapshot: Snapshot, name: str, days: int) -> dict[str, Any]:
    row = sites.site_row(snapshot, name)
    fleets.add_lately(snapshot, [row])
    span = sites.span_of(row, days)
    return {
        "site": row,
        "days": days,
        "start": span.start,
        "end": span.end,
        "arithmetic": sites.sums(row),
        "control": sites.control_entry(snapshot, name),
        "questions": sites.waiting_questions(snapshot, name),
        "decisions": sites.decisions(snapshot, name),
        **{table: sites.TABLES[table](snapshot, span) for table in SHOWN_TABLES},
    }


def incidents_data(snapshot: Snapshot, page: int) -> dict[str, Any]:
    if not incident_list.are_recorded(snapshot):
        return {"is_recorded": False, "open": [], "past": [], "past_found": 0, "quality": None}
    return {
        "is_recorded": True,
        "open": incident_list.open_incidents(snapshot),
        "past": incident_list.past_incidents(snapshot, page),
        "past_found": incident_list.count_past(snapshot),
        "quality": incident_list.alarm_quality(snapshot),
    }
