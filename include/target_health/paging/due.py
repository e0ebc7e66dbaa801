"""Reading which incidents call for a person, and writing the pages about them."""

from __future__ import annotations

import json
from datetime import datetime

import duckdb

from target_health.config import Configuration
from target_health.decisions.questions import questions_to_ask
from target_health.decisions.records import SYSTEM, SiteState
from target_health.decisions.storage import load_states
from target_health.incidents.records import Incident
from target_health.incidents.storage import incident_of
from target_health.paging.records import PAGED_OWNERS, Page, Situation
from target_health.paging.rules import cause_to_page
from target_health.paging.texts import body_of, title_of
from target_health.warehouse.rows import rows_of
from target_health.warehouse.tables import table_exists

QUESTIONS = "SELECT * FROM site_questions WHERE kind = 'decision' ORDER BY asked_at"
LINK = "{base}/dags/site_review/runs/{run}/tasks/decide/required_actions"


def due_pages(
    con: duckdb.DuckDBPyConnection,
    configuration: Configuration,
    now: datetime,
    base_url: str | None,
) -> list[Page]:
    """The pages that open incidents call for as of ``now``; ``base_url`` is Airflow's UI's."""
    rules = configuration.policy.paging
    rows = rows_of(con, "SELECT * FROM incidents WHERE closed_at IS NULL ORDER BY opened_at, site")
    states = load_states(con)
    facts = Facts(con)
    # What is asked next has no run yet, but will have by the time that somebody reads the page.
    for question in questions_to_ask(con, configuration, now):
        facts.runs[question.incident_id] = question.run_id
    pages: list[Page] = []
    for row in rows:
        incident = incident_of(row)
        situation = facts.situation(incident, states.get(incident.site or ""))
        cause = cause_to_page(incident, situation, rules, now)
        if cause is None:
            continue
        shown = {**row, "evidence": json.loads(row["evidence"]) if row["evidence"] else {}}
        run = facts.run_of(incident)
        link = LINK.format(base=base_url.rstrip("/"), run=run) if base_url and run else None
        pages.append(
            Page(
                page_id=f"{incident.incident_id}/{len(situation.pages) + 1}",
                incident_id=incident.incident_id,
                site=incident.site,
                owner=PAGED_OWNERS[incident.owner],
                cause=cause,
                title=title_of(incident, cause),
                body=body_of(incident, cause, shown, link),
                queued_at=now,
                worst_score=incident.worst_score,
                state="waiting" if incident.mode == "act" else "observed",
            )
        )
        if incident.kind == "route":
            facts.routes_paged.add(str(incident.diagnosis))
    return pages


class Facts:
    """What the warehouse knows about pages sent, answers given and routes that are down."""

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self.pages: dict[str, list[tuple[datetime, float | None]]] = {}
        for row in rows_of(
            con, "SELECT * FROM pages WHERE incident_id IS NOT NULL ORDER BY queued_at"
        ):
            self.pages.setdefault(row["incident_id"], []).append(
                (row["queued_at"], row["worst_score"])
            )
        self.answers = times_by(
            con,
            "SELECT site AS name, max(decided_at) AS at_time FROM actions"
            f" WHERE decided_by <> '{SYSTEM}' GROUP BY site",
        )
        self.kept: dict[str, tuple[datetime, datetime]] = {}
        decisions = "SELECT * FROM human_decisions WHERE is_applied ORDER BY decided_at"
        for row in rows_of(con, decisions):
            site = row["site"]
            self.answers[site] = max(row["decided_at"], self.answers.get(site, row["decided_at"]))
            self.kept.pop(site, None)
            if row["keep_until"] is not None:
                self.kept[site] = (row["decided_at"], row["keep_until"])
        self.runs = {row["incident_id"]: row["run_id"] for row in rows_of(con, QUESTIONS)}
        self.down: set[str] = set()
        if table_exists(con, "route_health"):
            self.down = {
                f"route:{row['dimension']}={row['value']}"
                for row in rows_of(con, "SELECT * FROM route_health WHERE down")
            }
        # A route that is down is one trouble, whatever number of sites it fails.
        paged = (
            "SELECT DISTINCT incidents.diagnosis FROM pages JOIN incidents USING (incident_id)"
            " WHERE incidents.kind = 'route' AND incidents.closed_at IS NULL"
        )
        self.routes_paged = {row["diagnosis"] for row in rows_of(con, paged)}

    def situation(self, incident: Incident, state: SiteState | None) -> Situation:
        site, route = incident.site or "", str(incident.diagnosis)
        own = tuple(self.pages.get(incident.incident_id, ()))
        course = state.course(incident.mode) if state else None
        paused = course is not None and course.state == "paused" and not course.paused_by_human
        paused_at = course.since if course and paused else None
        said_at, keep_until = self.kept.get(site, (None, None))
        if said_at is not None and paused_at is not None and said_at < paused_at:
            # Who kept it paused spoke of an earlier pause.
            keep_until = None
        return Situation(
            paused_at=paused_at,
            answered_at=self.answers.get(site),
            keep_until=keep_until,
            down=route in self.down and (bool(own) or route not in self.routes_paged),
            pages=own,
        )

    def run_of(self, incident: Incident) -> str | None:
        """The run of site_review that asks about it; only a hostile site's pace is asked about."""
        if incident.kind != "hostility":
            return None
        return self.runs.get(incident.incident_id, incident.incident_id)


def times_by(con: duckdb.DuckDBPyConnection, query: str) -> dict[str, datetime]:
    return {row["name"]: row["at_time"] for row in rows_of(con, query)}
