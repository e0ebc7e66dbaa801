"""Making scores, and what they stand on, of a range and of what changed before it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import duckdb

from target_health.config import Configuration
from target_health.modelling.models import replace_range
from target_health.modelling.progress import modelled_until, scores_name, set_modelled_until
from target_health.modelling.ranges import Range
from target_health.modelling.settings import fleet_parameters, make_site_settings
from target_health.modelling.windows import OWNED_WINDOWS, known_sites
from target_health.times import floor_day
from target_health.warehouse.transactions import transaction

Progress = Callable[[str], None]

SCORE_MODELS = ("site_baselines", "window_flags", "route_diagnoses", "site_scores")
OWNED_SCORES = f"{OWNED_WINDOWS} AND config_version = $config_version"


def make_scores(
    connection: duckdb.DuckDBPyConnection,
    configuration: Configuration,
    requested: Range,
    progress: Progress = lambda message: None,
) -> datetime | None:
    """Score every window that ends in ``requested`` and all that its making can have changed.

    Under a configuration that was never used every window held is scored, for a score needs its
    history under the same numbers. Returns the time up to which scores are made, None when there
    are no windows.
    """
    end = modelled_until(connection, "windows")
    if end is None:
        return None
    name = scores_name(configuration.version)
    until = modelled_until(connection, name)
    if until is None:
        first = connection.execute("SELECT min(window_start) FROM site_windows").fetchone()
        if first is None or first[0] is None:
            return None
        until = floor_day(first[0])
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE evidence_from (site VARCHAR, since_at TIMESTAMP)"
    )
    filled = window_days(connection, configuration)
    score_changed_sites(connection, configuration, until, filled, progress)
    for day in Range(requested.start, min(requested.end, until)).days(filled):
        progress(f"scores made again: {day.start:%Y-%m-%d}")
        score_piece(connection, configuration, day, known_sites(connection))
    for day in Range(until, end).days(filled):
        progress(f"scores: {day.start:%Y-%m-%d}")
        score_piece(connection, configuration, day, known_sites(connection), reaches=name)
    with transaction(connection):
        set_modelled_until(connection, name, end)
    return end


def window_days(
    connection: duckdb.DuckDBPyConnection, configuration: Configuration
) -> set[datetime]:
    """The UTC days that hold windows, or scores of windows that are no more."""
    rows = connection.execute(
        "SELECT DISTINCT date_trunc('day', window_start)::TIMESTAMP FROM site_windows"
        " UNION SELECT DISTINCT date_trunc('day', window_start)::TIMESTAMP FROM site_scores"
        " WHERE config_version = ?",
        [configuration.version],
    ).fetchall()
    return {day for (day,) in rows}


def score_changed_sites(
    connection: duckdb.DuckDBPyConnection,
    configuration: Configuration,
    until: datetime,
    filled: set[datetime],
    progress: Progress,
) -> None:
    """Score again, through to the newest, the sites whose windows changed after they were scored.

    A window reaches later scores through baselines and smoothing, and they reach others; making
    all of a site's later scores again is where nothing changes any more.
    """
    rows = connection.execute(
        "SELECT site, min(since_at) AS since FROM rescore_sites GROUP BY site ORDER BY since, site"
    ).fetchall()
    if not rows:
        return
    forget_other_versions(connection, configuration)
    for day in Range(rows[0][1], until).days(filled):
        sites = [site for site, since in rows if since < day.end]
        progress(f"scores made again: {day.start:%Y-%m-%d}, {len(sites)} sites")
        score_piece(connection, configuration, day, tuple(sites), settles=True)
    connection.execute("DELETE FROM rescore_sites")


def forget_other_versions(
    connection: duckdb.DuckDBPyConnection, configuration: Configuration
) -> None:
    """Scores under other numbers are made anew when they are next asked for."""
    connection.execute(
        "DELETE FROM model_progress WHERE name LIKE 'scores %' AND name <> ?",
        [scores_name(configuration.version)],
    )


def score_piece(
    connection: duckdb.DuckDBPyConnection,
    configuration: Configuration,
    piece: Range,
    sites: tuple[str, ...],
    *,
    settles: bool = False,
    reaches: str | None = None,
) -> None:
    """Replace what ``SCORE_MODELS`` make of windows ending in ``piece``, in one transaction."""
    parameters = score_parameters(configuration, piece)
    with transaction(connection):
        make_site_settings(connection, configuration, sites)
        for model in SCORE_MODELS:
            replace_range(connection, model, parameters, OWNED_SCORES)
        if settles:
            connection.execute(
                "UPDATE rescore_sites SET since_at = greatest(since_at, ?)"
                " WHERE site IN (SELECT site FROM site_settings)",
                [piece.end],
            )
        if reaches is not None:
            set_modelled_until(connection, reaches, piece.end)


def score_parameters(configuration: Configuration, piece: Range) -> dict[str, object]:
    return {
        "start": piece.start,
        "end": piece.end,
        "config_version": configuration.version,
        **fleet_parameters(configuration),
    }
