"""A published database of a large fleet with months of windows, filled by SQL."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from target_health import job
from target_health.benchmarks.measuring import Report
from target_health.config import load_configuration
from target_health.modelling.progress import scores_name, set_modelled_until
from target_health.paths import SHIPPED_CONFIG, Home
from target_health.times import DAY, floor_day
from target_health.warehouse import open_writer

# Window lengths as the design chooses them for a fleet whose sites differ a thousandfold: a few
# busy ones, many that are visited a few times a day. One site in fifty refuses, one in twenty is
# slowed.
_SITES = """
CREATE TEMP TABLE fleet AS
SELECT
    'site-' || lpad(number::VARCHAR, 5, '0') || '.example' AS site,
    number,
    CASE
        WHEN number % 100 < 5 THEN 15
        WHEN number % 100 < 20 THEN 30
        WHEN number % 100 < 50 THEN 60
        WHEN number % 100 < 80 THEN 240
        ELSE 1440
    END AS window_minutes,
    number % 50 = 7 AS refuses,
    number % 20 = 3 AS is_slowed
FROM range($sites) AS numbers (number)
"""

_KNOWN_SITES = "INSERT INTO known_sites SELECT site, $end FROM fleet ORDER BY site"

# One day at a time, as hourly runs and backfills leave them: by time, then by site.
_WINDOWS = """
INSERT INTO site_windows BY NAME
WITH slots AS (
    SELECT
        site,
        window_minutes,
        refuses AND unnested >= $refusing_from AS refuses,
        unnested AS window_start,
        hash(site, unnested) AS seed
    FROM (
        SELECT
            *,
            unnest(generate_series(
                $day, $day + INTERVAL 1 DAY - to_minutes(window_minutes), to_minutes(window_minutes)
            )) AS unnested
        FROM fleet
    )
),

counts AS (
    SELECT
        *,
        (100 + seed % 150)::BIGINT AS requests,
        CASE WHEN refuses THEN 40 + seed % 60 ELSE seed % 4 END::BIGINT AS hard_blocks,
        (seed // 7 % 3)::BIGINT AS challenges,
        (seed // 11 % 3)::BIGINT AS not_found
    FROM slots
)

SELECT
    site,
    window_start,
    window_start + to_minutes(window_minutes) AS window_end,
    window_minutes,
    requests,
    requests AS judged,
    requests - hard_blocks - challenges - not_found AS ok,
    hard_blocks,
    challenges,
    0 AS soft_blocks,
    0 AS soft_404s,
    0 AS paywalled,
    0 AS unknown,
    0 AS server_errors,
    0 AS client_errors,
    not_found,
    0 AS redirects,
    400 + seed % 1000 / 10.0 AS p95_latency_ms,
    requests AS attempts,
    requests * 48000 AS bytes,
    null AS credits,
    requests AS items
FROM counts
ORDER BY window_start, site
"""

_SCORES = """
INSERT INTO site_scores BY NAME
SELECT
    site,
    window_start,
    $version AS config_version,
    window_end,
    window_minutes,
    round(100 - least(35, hard_blocks / judged / 0.2 * 35)) AS score,
    100 - least(35, hard_blocks / judged / 0.2 * 35) - hash(site, window_start) % 100 / 100.0
        AS smoothed_score,
    1 - hard_blocks / judged AS served_share,
    1 - hard_blocks / judged AS smoothed_served_share,
    CASE WHEN hard_blocks > 30 THEN 'resisting' ELSE 'healthy' END AS band,
    CASE WHEN hard_blocks > 30 THEN ['refusal', 'hard_block'] ELSE []::VARCHAR[] END AS reasons,
    least(35, hard_blocks / judged / 0.2 * 35) AS hard_block_penalty,
    0.0 AS challenge_penalty,
    0.0 AS soft_block_penalty,
    0.0 AS latency_penalty,
    hard_blocks / judged AS hard_block_rate,
    challenges / judged AS challenge_rate,
    0.0 AS soft_block_rate,
    p95_latency_ms,
    0.01 AS base_hard_block_rate,
    0.01 AS base_challenge_rate,
    0.0 AS base_soft_block_rate,
    450.0 AS base_p95_latency_ms,
    20000 + hash(site) % 1000 AS baseline_requests,
    14 AS baseline_days,
    ok / requests AS delivery_share,
    0.97 AS base_delivery_share
FROM site_windows
WHERE window_start >= $day AND window_start < $day + INTERVAL 1 DAY
"""

_STATES = """
INSERT INTO site_state BY NAME
SELECT
    site,
    CASE WHEN refuses THEN 'paused' WHEN is_slowed THEN 'slowed' ELSE 'active' END AS state,
    CASE WHEN is_slowed THEN 1 ELSE 0 END AS step,
    CASE WHEN refuses THEN 0 WHEN is_slowed THEN 0.5 ELSE 1 END AS concurrency_factor,
    CASE WHEN is_slowed THEN 2 ELSE 1 END AS revisit_factor,
    $end - INTERVAL 5 HOUR AS since,
    CASE WHEN refuses THEN ['refusal', 'hard_block'] ELSE []::VARCHAR[] END AS reasons,
    false AS paused_by_human,
    1 AS revision
FROM fleet
"""

_ACTIONS = """
INSERT INTO actions BY NAME
SELECT
    site || '/' || days.back AS action_id,
    row_number() OVER (ORDER BY days.back DESC, site) AS sequence,
    site,
    $end - to_days(days.back) AS decided_at,
    $end - to_days(days.back) AS run_end,
    CASE WHEN refuses AND days.back = 0 THEN 'pause' ELSE 'slow_down' END AS kind,
    'active' AS from_state,
    CASE WHEN refuses AND days.back = 0 THEN 'paused' ELSE 'slowed' END AS to_state,
    0 AS from_step,
    1 AS to_step,
    0.5 AS concurrency_factor,
    2.0 AS revisit_factor,
    ['hard_block'] AS reasons,
    'target-health' AS decided_by,
    'band' AS why,
    true AS applied,
    'act' AS mode
FROM fleet
CROSS JOIN (SELECT unnest([0, 3, 17, 40]) AS back) AS days
WHERE refuses OR is_slowed
"""


def fill_dashboard(home: str, sites: int, days: int, end: str) -> Report:
    """Publish a database of ``sites`` sites with ``days`` days of windows up to ``end``."""
    made, until = Home(Path(home)), floor_day(datetime.fromisoformat(end))
    configuration = load_configuration(SHIPPED_CONFIG)
    with open_writer(made) as connection:
        connection.execute(_SITES, {"sites": sites})
        connection.execute(_KNOWN_SITES, {"end": until})
        for back in range(days, 0, -1):
            day = until - back * DAY
            connection.execute(_WINDOWS, {"day": day, "refusing_from": until - DAY})
            connection.execute(_SCORES, {"day": day, "version": configuration.version})
        connection.execute(_STATES, {"end": until})
        connection.execute(_ACTIONS, {"end": until})
        for name in ("windows", scores_name(configuration.version)):
            set_modelled_until(connection, name, until)
        (windows,) = connection.execute("SELECT count(*) FROM site_scores").fetchone() or (0,)
        job.publish(connection, made, configuration, now=until, control=True)
    made.warehouse.unlink()
    return {"windows": windows, "bytes": made.published.stat().st_size}
