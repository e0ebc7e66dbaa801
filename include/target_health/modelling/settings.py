"""The temporary table ``site_settings``: every chosen number, one row a site."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import duckdb

from target_health.config import Configuration
from target_health.config.scoring import Scoring

COLUMN_TYPES = {
    "window_minutes": "INTEGER",
    "min_requests": "BIGINT",
    "baseline_days": "INTEGER",
    "baseline_gap_days": "INTEGER",
    "baseline_max_days": "INTEGER",
    "min_baseline_requests": "BIGINT",
    "min_baseline_days": "BIGINT",
    "min_ok_for_p95": "BIGINT",
    "flag_rise": "DOUBLE",
    "baseline_from": "TIMESTAMP",
    "full_rate_rise": "DOUBLE",
    "full_latency_factor": "DOUBLE",
    "mostly_unknown_share": "DOUBLE",
    "mostly_unknown_rise": "DOUBLE",
    "max_base_denied_share": "DOUBLE",
    "delivery_fall": "DOUBLE",
    "reason_points": "DOUBLE",
    "smoothing_half_life_minutes": "DOUBLE",
    "smoothing_hours": "INTEGER",
    "healthy_from": "DOUBLE",
    "degraded_from": "DOUBLE",
    "pause_below_served_share": "DOUBLE",
    "lasting_hours": "INTEGER",
    "degraded_after_low_minutes": "INTEGER",
    "resisting_after_low_minutes": "INTEGER",
    "low_windows_in_a_row": "INTEGER",
    "soft_block_size_share": "DOUBLE",
    "soft_block_item_share": "DOUBLE",
    "soft_block_same_answer_urls": "BIGINT",
    "route_exits_kept": "INTEGER",
    "route_sessions_kept": "INTEGER",
    "hard_block_weight": "DOUBLE",
    "challenge_weight": "DOUBLE",
    "soft_block_weight": "DOUBLE",
    "latency_weight": "DOUBLE",
}


def columns_of(scoring: Scoring) -> dict[str, Any]:
    """One site's numbers by column; ``window_minutes`` is None for ``auto``."""
    numbers = {name: getattr(scoring, name) for name in Scoring.model_fields if name != "weights"}
    for signal in ("hard_block", "challenge", "soft_block", "latency"):
        numbers[f"{signal}_weight"] = getattr(scoring.weights, signal)
    if numbers["window_minutes"] == "auto":
        numbers["window_minutes"] = None
    return {column: numbers[column] for column in COLUMN_TYPES}


def make_site_settings(
    connection: duckdb.DuckDBPyConnection, configuration: Configuration, sites: Sequence[str]
) -> None:
    """Make ``site_settings`` for these sites; the models run for the sites that stand there."""
    declared = ", ".join(f"{name} {kind}" for name, kind in COLUMN_TYPES.items())
    connection.execute(f"CREATE OR REPLACE TEMP TABLE site_settings (site VARCHAR, {declared})")
    marks = ", ".join("?" for _ in COLUMN_TYPES)
    common = [site for site in sites if site not in configuration.sites.overrides]
    if common:
        connection.execute(
            f"INSERT INTO site_settings SELECT unnest(?::VARCHAR[]), {marks}",
            [common, *columns_of(configuration.scoring).values()],
        )
    for site in sites:
        if site in configuration.sites.overrides:
            values = columns_of(configuration.scoring_of(site)).values()
            connection.execute(f"INSERT INTO site_settings VALUES (?, {marks})", [site, *values])
    # What people accepted later than the configuration says.
    connection.execute(
        "UPDATE site_settings"
        " SET baseline_from = greatest(site_settings.baseline_from, accepted.baseline_from)"
        " FROM (SELECT site, max(baseline_from) AS baseline_from FROM accepted_normals"
        " GROUP BY site) AS accepted WHERE site_settings.site = accepted.site"
    )


def fleet_parameters(configuration: Configuration) -> Mapping[str, float]:
    """The models' parameters that hold for all sites.

    The longest of each period bounds how far back a SELECT reads; ``small_page_share`` is the
    fleet's, because what it makes is shared by all configurations.
    """
    every = [configuration.scoring] + [
        configuration.scoring_of(site) for site in configuration.sites.overrides
    ]
    return {
        "longest_period_days": max(scoring.baseline_days for scoring in every),
        "longest_stretched_days": max(scoring.baseline_max_days for scoring in every),
        "longest_smoothing_days": max(math.ceil(scoring.smoothing_hours / 24) for scoring in every),
        "longest_low_row": max(scoring.low_windows_in_a_row for scoring in every),
        "small_page_share": configuration.scoring.soft_block_small_page_share,
    }
