"""The daily and the weekly digest: what is worth a look and no page."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import duckdb

from target_health.config import Configuration
from target_health.paging.records import Page
from target_health.times import DAY, stamp
from target_health.warehouse.rows import rows_of
from target_health.warehouse.tables import table_exists

WEEK = timedelta(days=7)
LINES_A_PART = 20
# A score that moved less within a week is the same score.
MOVED_POINTS = 3

INCIDENTS = """
SELECT * FROM incidents
WHERE closed_at IS NULL OR closed_at > $since OR opened_at > $since
ORDER BY closed_at IS NOT NULL, opened_at, incident_id
"""
WAITING = """
SELECT site_state.site, site_state.since, site_state.incident_id
FROM site_state
WHERE site_state.state = 'paused' AND NOT site_state.paused_by_human
ORDER BY site_state.since, site_state.site
"""
WITHOUT_SCORE = """
SELECT site_health.site, site_state.step, site_health.unscored_reason
FROM site_health
INNER JOIN site_state USING (site)
WHERE site_state.state = 'slowed' AND site_health.band = 'unscored'
ORDER BY site_health.site
"""
MOVERS = """
WITH scores AS (
    SELECT
        site,
        arg_max(smoothed_score, window_start) FILTER (window_end > $week_ago) AS score_now,
        arg_max(smoothed_score, window_start) FILTER (window_end <= $week_ago) AS score_then
    FROM site_scores
    WHERE
        config_version = $config_version
        AND smoothed_score IS NOT NULL
        AND window_end > $week_ago - INTERVAL 7 DAY
        AND window_end <= $as_of
    GROUP BY site
)

SELECT site, score_now, score_then
FROM scores
WHERE score_now <= score_then - $moved_points
ORDER BY score_now - score_then, site
"""
OBSERVED = """
SELECT site, kind, count(*) AS times, min(decided_at) AS first_at, arg_max(why, sequence) AS why
FROM actions
WHERE NOT applied AND kind = 'pause' AND decided_at > $since
GROUP BY site, kind
ORDER BY first_at, site
"""
UNREVIEWED = """
SELECT incidents.incident_id
FROM incidents
LEFT JOIN incident_reviews USING (incident_id)
WHERE incidents.closed_at IS NOT NULL AND incident_reviews.incident_id IS NULL
ORDER BY incidents.closed_at
"""
UNDELIVERED = "SELECT * FROM pages WHERE state = 'waiting' ORDER BY queued_at"
ACCEPTED = "SELECT * FROM accepted_normals ORDER BY accepted_at"


def daily_digest(
    con: duckdb.DuckDBPyConnection, configuration: Configuration, now: datetime
) -> Page:
    """Incidents of the day, who waits for an answer, slowed sites without a score."""
    parts = [
        part("Waiting for your decision", [waiting_line(row) for row in rows_of(con, WAITING)]),
        part(
            "Incidents",
            [incident_line(row) for row in rows_of(con, INCIDENTS, {"since": now - DAY})],
        ),
        part(
            "Slowed, and no honest score to go by",
            [
                f"{row['site']}: step {row['step']}, "
                + (row["unscored_reason"] or "no longer crawled")
                for row in with_site_health(con, WITHOUT_SCORE)
            ],
        ),
        part(
            "Pages that reached nobody yet", [page_words(row) for row in rows_of(con, UNDELIVERED)]
        ),
        part(
            "Closed and not yet reviewed (target-health review file ID)",
            [row["incident_id"] for row in rows_of(con, UNREVIEWED)],
        ),
    ]
    return digest("daily", now, f"{now:%Y-%m-%d}", parts)


def weekly_digest(
    con: duckdb.DuckDBPyConnection, configuration: Configuration, now: datetime
) -> Page:
    """The worst movers, what observe mode would have paused, the rules in force."""
    movers = rows_of(
        con,
        MOVERS,
        {
            "week_ago": now - WEEK,
            "as_of": now,
            "config_version": configuration.version,
            "moved_points": MOVED_POINTS,
        },
    )
    parts = [
        part(
            "Worst movers (smoothed score, a week ago → now)",
            [f"{row['site']}: {row['score_then']:.0f} → {row['score_now']:.0f}" for row in movers],
        ),
        part(
            "Would have been paused (observe mode)",
            [
                f"{row['site']}: {row['times']} times, first {stamp(row['first_at'])}: {row['why']}"
                for row in rows_of(con, OBSERVED, {"since": now - WEEK})
            ],
        ),
        part("Rules in force", rules_in_force(con, configuration)),
    ]
    return digest("weekly", now, f"{now:%G-W%V}", parts)


def rules_in_force(con: duckdb.DuckDBPyConnection, configuration: Configuration) -> list[str]:
    scoring, policy = configuration.scoring, configuration.policy
    weights = ", ".join(f"{name} {value:g}" for name, value in scoring.weights.model_dump().items())
    own_modes = {site: entry.mode for site, entry in configuration.sites.entries.items()}
    lines = [
        f"mode {policy.mode}; weights {weights}",
        f"healthy from {scoring.healthy_from:g}, degraded from {scoring.degraded_from:g}, "
        f"refusal below a served share of {scoring.pause_below_served_share}",
        f"fuse: {policy.fuse_sites} sites and {policy.fuse_fleet_share:.0%} of the fleet",
        f"numbers {configuration.version}; sites with numbers of their own: "
        + (", ".join(sorted(configuration.sites.overrides)) or "none"),
    ]
    lines += [f"{site}: mode {mode}" for site, mode in sorted(own_modes.items()) if mode]
    lines += [
        f"{row['site']}: new normal from {stamp(row['baseline_from'])}, accepted by "
        f"{row['accepted_by']}: {row['why']}"
        for row in rows_of(con, ACCEPTED)
    ]
    return lines


def with_site_health(con: duckdb.DuckDBPyConnection, query: str) -> list[dict[str, Any]]:
    """Rows of a query over ``site_health``, none before a first run has made it."""
    return rows_of(con, query) if table_exists(con, "site_health") else []


def waiting_line(row: dict[str, Any]) -> str:
    return (
        f"{row['site']}: paused since {stamp(row['since'])}, {row['incident_id'] or 'no incident'}"
    )


def incident_line(row: dict[str, Any]) -> str:
    end = f"closed {stamp(row['closed_at'])}" if row["closed_at"] else f"open, {row['band']}"
    score = "" if row["worst_score"] is None else f", worst score {row['worst_score']:.0f}"
    reasons = f" ({', '.join(row['reasons'])})" if row["reasons"] else ""
    return (
        f"{row['site'] or 'the fleet'}: {row['kind']} since {stamp(row['first_movement_at'])}, "
        f"{end}{score}{reasons}"
    )


def page_words(row: dict[str, Any]) -> str:
    return f"{stamp(row['queued_at'])} {row['title']}"


def part(title: str, lines: Sequence[str]) -> list[str]:
    """A part of a digest, nothing where there is nothing to say; long ones are cut, and say so."""
    if not lines:
        return []
    more = len(lines) - LINES_A_PART
    shown = [f"- {line}" for line in lines[:LINES_A_PART]]
    return [f"{title}: {len(lines)}", *shown, *([f"- and {more} more"] if more > 0 else []), ""]


def digest(period: str, now: datetime, name: str, parts: Sequence[Sequence[str]]) -> Page:
    lines = [line for lines in parts for line in lines]
    body = "\n".join(lines).strip() or "Nothing to report: every site is as normal as usual."
    return Page(
        page_id=f"digest-{period}-{name}",
        incident_id=None,
        site=None,
        owner="crawl",
        cause="daily digest" if period == "daily" else "weekly digest",
        title=f"Target Health, {period} digest {name}",
        body=body,
        queued_at=now,
    )
