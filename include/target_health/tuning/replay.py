"""Scoring the past again under other numbers, in a copy of the published database."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import duckdb

from target_health.config import Configuration
from target_health.config.active import version_of
from target_health.config.scoring import Scoring
from target_health.errors import TargetHealthError, UsageError
from target_health.modelling import make_scores, modelled_until
from target_health.modelling.ranges import Range
from target_health.paths import Home
from target_health.times import HOUR
from target_health.tuning.candidates import both, candidates
from target_health.tuning.judging import Judged, Outcome, Spell, judge
from target_health.tuning.proposal import Proposal
from target_health.warehouse import open_writer
from target_health.warehouse.rows import rows_of

Progress = Callable[[str], None]

JUDGED = """
SELECT
    incidents.incident_id,
    incidents.site,
    NOT incident_reviews.is_false_alarm AS is_real,
    coalesce(incident_reviews.onset_at, incidents.first_movement_at) AS onset_at,
    coalesce(incidents.closed_at, incidents.last_run_end) AS ended_at
FROM incidents
LEFT JOIN incident_reviews USING (incident_id)
WHERE incidents.kind = 'hostility'
ORDER BY incidents.opened_at, incidents.incident_id
"""
SPELLS = """
WITH numbered_windows AS (
    SELECT
        site, window_start, window_end, band,
        row_number() OVER (PARTITION BY site ORDER BY window_start) AS place
    FROM site_scores
    WHERE config_version = ? AND band <> 'unscored'
),

low_windows AS (
    SELECT
        *,
        place - row_number() OVER (PARTITION BY site ORDER BY window_start) AS spell
    FROM numbered_windows
    WHERE band IN ('degraded', 'resisting')
)

SELECT
    site,
    min(window_start) AS began_at,
    min(window_end) AS alarmed_at,
    max(window_end) AS ended_at,
    bool_or(band = 'resisting') AS would_pause
FROM low_windows
GROUP BY site, spell
ORDER BY site, began_at
"""


def tune(
    home: Home,
    configuration: Configuration,
    *,
    number: int,
    any_weights: bool = False,
    given: Scoring | None = None,
    progress: Progress = lambda message: None,
) -> Proposal:
    """Try other numbers on the reviewed past; nothing but the returned proposal comes of it.

    ``given`` is tried alone, where a person has numbers in mind. Raises ``UsageError`` when nothing
    is reviewed yet, ``TargetHealthError`` when nothing is published.
    """
    if not home.published.exists():
        raise TargetHealthError(f"{home.published}: nothing is published yet")
    with tempfile.TemporaryDirectory(prefix="tune-", dir=home.root) as directory:
        scratch = Home(Path(directory))
        scratch.work.mkdir(parents=True)
        shutil.copyfile(home.published, scratch.warehouse)
        with open_writer(scratch) as con:
            judged = [Judged(**row) for row in rows_of(con, JUDGED)]
            reviews = sum(one.is_real is not None for one in judged)
            if not reviews:
                raise UsageError(
                    "no incident of kind hostility is reviewed yet: see `target-health review`"
                )
            return search(con, configuration, judged, reviews, number, any_weights, given, progress)


def search(
    con: duckdb.DuckDBPyConnection,
    configuration: Configuration,
    judged: list[Judged],
    reviews: int,
    number: int,
    any_weights: bool,
    given: Scoring | None,
    progress: Progress,
) -> Proposal:
    """Try each candidate, then the two best together."""
    today = configuration.scoring
    tried: list[tuple[Outcome, Scoring]] = []

    def attempt(scoring: Scoring) -> Outcome:
        progress(f"trying numbers {len(tried) + 1}")
        outcome = judge(spells_under(con, configuration, scoring), judged)
        tried.append((outcome, scoring))
        return outcome

    now = attempt(today)
    for scoring in [given] if given else candidates(today, number, any_weights=any_weights):
        attempt(scoring)
    ranked = sorted(tried[1:], key=lambda one: one[0].cost)
    better = [one for one in ranked if one[0].cost < now.cost]
    if len(better) > 1:
        together = both(better[0][1], better[1][1], today)
        if together is not None:
            attempt(together)
            better = sorted([*better, tried[-1]], key=lambda one: one[0].cost)
    if not better:
        return Proposal(reviews, len(tried) - 1, now, today)
    outcome, scoring = better[0]
    return Proposal(reviews, len(tried) - 1, now, today, outcome, scoring)


def spells_under(
    con: duckdb.DuckDBPyConnection, configuration: Configuration, scoring: Scoring
) -> list[Spell]:
    """Every spell outside healthy, had all held windows been scored with these numbers."""
    version = version_of(scoring, configuration.sites.overrides)
    end = modelled_until(con, "windows")
    if end is None:
        return []
    made = replace(configuration, scoring=scoring, version=version)
    make_scores(con, made, Range(end - HOUR, end))
    spells = [Spell(**row) for row in rows_of(con, SPELLS, [version])]
    if version != configuration.version:
        for table in ("site_scores", "site_baselines", "window_flags"):
            con.execute(f"DELETE FROM {table} WHERE config_version = ?", [version])
        con.execute("DELETE FROM model_progress WHERE name LIKE '%' || ?", [version])
    return spells
