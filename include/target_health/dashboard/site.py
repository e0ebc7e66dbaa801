"""One site: how it stands, its history over a range, and what lies behind both."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import duckdb

from target_health.config import load_configuration
from target_health.dashboard.database import OtherSchema, Row, Snapshot
from target_health.dashboard.fleet import fleet_source, version_of
from target_health.errors import TargetHealthError
from target_health.score_arithmetic import arithmetic
from target_health.times import HOUR, floor_hour
from target_health.verdicts import VERDICTS

RANGES = {1: "24 hours", 7: "7 days", 30: "30 days", 90: "90 days"}
DEFAULT_DAYS = 7
# Rows of one table on the page; the CSV has them all.
SHOWN = 50
SAMPLES = 20
# How many hours' lake files are read at once for samples: a busy hour has enough of them alone.
READ_TOGETHER = (0, 1, 4, 24)
SAMPLED_WITHIN_DAYS = 2
ROUTE_FAILURES = "hard_blocks + challenges + soft_blocks + unknown + server_errors"


@dataclass(frozen=True, slots=True)
class Span:
    """A site and the stretch of its history that is looked at."""

    site: str
    start: datetime
    end: datetime


class NoSuchSite(TargetHealthError):
    """The published database knows no site of this name."""


def site_row(snapshot: Snapshot, site: str) -> Row:
    """How the site stands now. Raises ``NoSuchSite``."""
    row = snapshot.row(f"SELECT * FROM {fleet_source(snapshot)} WHERE site = ?", [site])
    if row is None:
        raise NoSuchSite(site)
    return row


def span_of(row: Row, days: int) -> Span:
    """The newest ``days`` days of a site that may have gone silent."""
    end = row["window_end"] or row["as_of"]
    return Span(row["site"], end - timedelta(days=days), end)


def scores(
    snapshot: Snapshot, span: Span, columns: str = "* EXCLUDE (site, config_version)"
) -> list[Row]:
    """Every score of the span under the numbers in force, oldest first."""
    return snapshot.rows(
        f"""
        SELECT {columns}
        FROM site_scores
        WHERE
            window_start >= ?
            AND window_end <= ?
            AND site = ?
            AND config_version = ?
        ORDER BY window_start
        """,
        [span.start, span.end, span.site, version_of(snapshot)],
    )


def windows(snapshot: Snapshot, span: Span, columns: str = "* EXCLUDE (site)") -> list[Row]:
    """What was served in each window of the span, oldest first."""
    return snapshot.rows(
        f"""
        SELECT {columns}
        FROM site_windows
        WHERE window_start >= ? AND window_end <= ? AND site = ?
        ORDER BY window_start
        """,
        [span.start, span.end, span.site],
    )


def actions(snapshot: Snapshot, span: Span) -> list[Row]:
    """What was done to the site since the span began, newest first."""
    return snapshot.rows(
        """
        SELECT
            decided_at, kind, from_state, to_state, from_step, to_step, reasons, decided_by, why,
            applied, mode, run_end
        FROM actions
        WHERE site = ? AND decided_at >= ?
        ORDER BY sequence DESC
        """,
        [span.site, span.start],
    )


def incidents(snapshot: Snapshot, span: Span) -> list[Row] | None:
    """Incidents that touch the span, newest first; None where none are recorded yet."""
    if not snapshot.has("incidents", "incident_id", "site", "opened_at", "closed_at"):
        return None
    return snapshot.rows(
        """
        SELECT incident_id, kind, owner, worst_band, worst_score, first_movement_at, opened_at,
            closed_at, close_reason, reasons
        FROM incidents
        WHERE site = ? AND coalesce(closed_at, opened_at + INTERVAL 100 YEAR) >= ?
        ORDER BY opened_at DESC
        """,
        [span.site, span.start],
    )


def routes(snapshot: Snapshot, span: Span) -> list[Row] | None:
    """Fetches and failures by route value over the span; None where not recorded yet."""
    if not snapshot.has("route_windows", "site", "dimension", "value", "requests"):
        return None
    return snapshot.rows(
        f"""
        SELECT
            dimension,
            value,
            sum(requests - redirects) AS fetches,
            sum({ROUTE_FAILURES}) AS failures,
            failures / nullif(fetches, 0) AS failure_share,
            sum(hard_blocks) / nullif(sum(judged), 0) AS hard_block_rate,
            sum(challenges) / nullif(sum(judged), 0) AS challenge_rate,
            sum(soft_blocks) / nullif(sum(judged), 0) AS soft_block_rate
        FROM route_windows
        WHERE window_start >= ? AND window_end <= ? AND site = ?
        GROUP BY dimension, value
        ORDER BY
            list_position(['gateway', 'country', 'pool', 'session', 'exit'], dimension),
            failure_share DESC NULLS LAST,
            value
        """,
        [span.start, span.end, span.site],
    )


def fields(snapshot: Snapshot, span: Span) -> list[Row] | None:
    """How many values passed each expectation over the span; None where not recorded yet."""
    if not snapshot.has("extraction_checks", "site", "field", "expectation", "checked", "failed"):
        return None
    return snapshot.rows(
        """
        SELECT
            page_type,
            field,
            expectation,
            sum(checked) AS checked,
            sum(failed) AS failed,
            1 - sum(failed) / nullif(sum(checked), 0) AS valid_share
        FROM extraction_checks
        WHERE window_start >= ? AND window_start < ? AND site = ?
        GROUP BY page_type, field, expectation
        ORDER BY valid_share NULLS LAST, page_type, field, expectation
        """,
        [span.start, span.end, span.site],
    )


def canaries(snapshot: Snapshot, span: Span) -> list[Row] | None:
    """The newest result of each check through each route; None where not recorded yet."""
    needed = ("site", "page", "check_name", "outcome", "observed_at", "expected", "got", "route")
    if not snapshot.has("canary_results", *needed):
        return None
    return snapshot.rows(
        """
        SELECT page, check_name, outcome, expected, got, route, observed_at, url
        FROM canary_results
        WHERE site = ? AND observed_at >= ?
        QUALIFY row_number() OVER (
            PARTITION BY page, check_name, route ORDER BY observed_at DESC
        ) = 1
        ORDER BY outcome = 'pass', page, check_name, route
        """,
        [span.site, span.start],
    )


def evidence(snapshot: Snapshot, span: Span) -> list[Row]:
    """The newest fetches that did not bring the page, with their URLs as text.

    Read from the lake's files of hours with failures, newest first, until there are enough: a view
    over months of hours would open each of them.
    """
    hours = hours_with_failures(snapshot, span)
    found: list[Row] = []
    for begin, end in pairwise(READ_TOGETHER):
        if len(found) >= SAMPLES or begin >= len(hours):
            break
        # A file of the lake that is gone or damaged costs its examples alone.
        with suppress(duckdb.Error, OtherSchema):
            found += fetches_of_hours(snapshot, span.site, hours[begin:end], SAMPLES - len(found))
    return found


def hours_with_failures(snapshot: Snapshot, span: Span) -> list[datetime]:
    """The hours that the newest windows with failures reach over, newest first."""
    failing = snapshot.rows(
        """
        SELECT window_start, window_end
        FROM site_windows
        WHERE
            site = ?
            AND window_start >= ?
            AND window_end <= ?
            AND requests - ok - redirects > 0
        ORDER BY window_start DESC
        LIMIT ?
        """,
        [
            span.site,
            max(span.start, span.end - timedelta(days=SAMPLED_WITHIN_DAYS)),
            span.end,
            4 * READ_TOGETHER[-1],
        ],
    )
    hours: dict[datetime, None] = {}
    for window in failing:
        hour = floor_hour(window["window_end"] - timedelta(microseconds=1))
        while hour >= floor_hour(window["window_start"]):
            hours[hour] = None
            hour -= HOUR
    return list(hours)


def fetches_of_hours(snapshot: Snapshot, site: str, hours: list[datetime], limit: int) -> list[Row]:
    listed = snapshot.rows(
        f"SELECT path FROM lake_files WHERE hour_start IN ({', '.join('?' * len(hours))})", hours
    )
    paths = [snapshot.home.root / row["path"] for row in listed]
    there = [str(path) for path in paths if path.is_file()]
    if not there:
        return []
    return snapshot.rows(
        """
        SELECT ts, status, error, verdict, evidence, url
        FROM read_parquet(?, hive_partitioning = false)
        WHERE site = ? AND verdict NOT IN ('ok', 'redirect')
        ORDER BY ts DESC
        LIMIT ?
        """,
        [there, site, limit],
    )


def control_entry(snapshot: Snapshot, site: str) -> Row | None:
    """What crawlers are told about the site, as of the published state."""
    return snapshot.row(
        """
        SELECT state, step, concurrency_factor, revisit_factor, concurrency, revisit_interval_s,
            effective_cost, since, reasons, incident_id
        FROM site_state WHERE site = ?
        """,
        [site],
    )


def waiting_questions(snapshot: Snapshot, site: str | None = None) -> list[Row] | None:
    """Decisions that wait for a person in Airflow, oldest first; None where not recorded yet."""
    if not snapshot.has("site_questions", "run_id", "site", "asked_at", "answered_at"):
        return None
    condition = "true" if site is None else "site = ?"
    return snapshot.rows(
        f"""
        SELECT run_id, incident_id, site, asked_at
        FROM site_questions
        WHERE answered_at IS NULL AND {condition}
        ORDER BY asked_at
        """,
        [] if site is None else [site],
    )


def decisions(snapshot: Snapshot, site: str) -> list[Row] | None:
    """What people answered about the site, newest first; None where not recorded yet."""
    if not snapshot.has("human_decisions", "site", "choice", "decided_by", "decided_at"):
        return None
    return snapshot.rows(
        "SELECT choice, decided_by, why, decided_at, keep_until, is_applied, outcome "
        "FROM human_decisions WHERE site = ? ORDER BY decided_at DESC LIMIT 20",
        [site],
    )


def sums(row: Row) -> list[dict[str, Any]]:
    """The arithmetic behind the newest score, empty where there is none to show."""
    if row["window_start"] is None:
        return []
    try:
        configuration = load_configuration()
    except TargetHealthError:
        return []
    if configuration.version != row["config_version"]:
        # The numbers were changed since: the sums would not come to the score.
        return []
    return arithmetic(row, configuration)


def verdict_columns() -> dict[str, str]:
    """Columns of ``site_windows`` by the verdict that they count, in the design's order."""
    plural = {
        "challenge": "challenges",
        "hard_block": "hard_blocks",
        "soft_block": "soft_blocks",
        "soft_404": "soft_404s",
        "server_error": "server_errors",
        "client_error": "client_errors",
        "redirect": "redirects",
    }
    return {verdict: plural.get(verdict, verdict) for verdict in VERDICTS}


# Tables of a site by the name of their CSV file.
TABLES: dict[str, Callable[[Snapshot, Span], list[Row] | None]] = {
    "scores": scores,
    "windows": windows,
    "actions": actions,
    "incidents": incidents,
    "routes": routes,
    "fields": fields,
    "canaries": canaries,
    "evidence": evidence,
}
