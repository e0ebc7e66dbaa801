"""A home with weeks of history behind it, filled by SQL from one hour's own windows.

Each window of the history is its site's measured hour, scaled to the window's length and varied; so
sites keep their volume, rates, sizes and page types, and the hour that follows looks normal.
"""

from __future__ import annotations

import os
import shutil
from datetime import datetime, timedelta
from pathlib import Path

import duckdb

from target_health import job
from target_health.benchmarks.measuring import Report
from target_health.config import Configuration, load_configuration
from target_health.modelling import make_windows
from target_health.modelling.progress import scores_name, set_modelled_until
from target_health.modelling.ranges import Range
from target_health.modelling.settings import fleet_parameters
from target_health.modelling.windows import Piece, known_sites, make_day_settings
from target_health.paths import SHIPPED_CONFIG, Home
from target_health.times import DAY, HOUR, floor_day
from target_health.warehouse import open_writer

# How far back there are windows by route: as far as baselines usually look. Thirty rows a window
# would fill the disk behind ten times the history.
ROUTE_DAYS = 14 * DAY

# A whole number near the expected one, so that rare outcomes come in some windows only.
_MACROS = """
CREATE TEMP MACRO drawn(expected, seed) AS floor(expected + (seed % 1000) / 1000.0)::BIGINT;
CREATE TEMP MACRO varied(seed) AS 0.9 + (seed % 200) / 1000.0
"""

_SITE_HOURS = """
INSERT INTO site_hours BY NAME
SELECT
    shape.site,
    hours.hour_start,
    drawn(shape.judged * varied(hash(shape.site, hours.hour_start)), 0) AS judged,
    hours.hour_start + INTERVAL 59 MINUTE AS last_fetch_at
FROM (SELECT site, sum(judged) AS judged FROM hour_windows GROUP BY site) AS shape
CROSS JOIN (
    SELECT unnest(generate_series($start, $end - INTERVAL 1 HOUR, INTERVAL 1 HOUR)) AS hour_start
) AS hours
ORDER BY hours.hour_start, shape.site
"""

_LENGTHS_OF_EARLIER_DAYS = """
INSERT INTO site_window_lengths
SELECT site_window_lengths.site, days.day_start, site_window_lengths.window_minutes
FROM site_window_lengths
CROSS JOIN (
    SELECT unnest(generate_series($start, $today - INTERVAL 1 DAY, INTERVAL 1 DAY)) AS day_start
) AS days
WHERE site_window_lengths.day_start = $today
"""

# `load` is how busy a window is; `seed` makes its counts its own.
_SLOTS = """
CREATE TEMP TABLE slots AS
SELECT
    site,
    window_start,
    window_minutes,
    window_minutes / 60.0 * varied(hash(site, window_start)) AS load,
    hash(window_start, site) AS seed
FROM (
    SELECT
        site,
        window_minutes,
        unnest(
            generate_series(
                $start, $end - to_minutes(window_minutes), to_minutes(window_minutes)
            )
        ) AS window_start
    FROM site_window_lengths
    WHERE day_start = $today
)
"""

_COUNTS = (
    "ok",
    "hard_blocks",
    "challenges",
    "soft_blocks",
    "soft_404s",
    "paywalled",
    "unknown",
    "server_errors",
    "client_errors",
    "not_found",
    "redirects",
)
_NOT_JUDGED = ("unknown", "redirects")

# What the counts of a window come to.
_TOTALS = f"""
    window_start + to_minutes(window_minutes) AS window_end,
    {" + ".join(_COUNTS)} AS requests,
    {" + ".join(name for name in _COUNTS if name not in _NOT_JUDGED)} AS judged,
    drawn(attempts_each * requests, 0) AS attempts,
    drawn(bytes_each * requests, 0) AS bytes,
    round(credits_each * requests) AS credits,
"""

_SITE_WINDOWS = f"""
INSERT INTO site_windows BY NAME
WITH shape AS (
    SELECT
        site,
        {", ".join(f"sum({name}) AS {name}" for name in _COUNTS)},
        sum(attempts) / sum(requests) AS attempts_each,
        sum(bytes) / sum(requests) AS bytes_each,
        sum(credits) / sum(requests) AS credits_each,
        sum(items) / greatest(sum(ok), 1) AS items_each,
        median(p95_latency_ms) AS p95_latency_ms
    FROM hour_windows
    GROUP BY site
),

counted AS (
    SELECT
        slots.site,
        slots.window_start,
        slots.window_minutes,
        slots.seed,
        {
    ", ".join(
        f"drawn(shape.{name} * slots.load, hash(slots.seed, '{name}')) AS {name}"
        for name in _COUNTS
    )
},
        shape.attempts_each,
        shape.bytes_each,
        shape.credits_each,
        shape.items_each,
        shape.p95_latency_ms * varied(hash(slots.seed)) AS p95_latency_ms
    FROM slots
    INNER JOIN shape ON slots.site = shape.site
)

SELECT
    * EXCLUDE (seed, attempts_each, bytes_each, credits_each, items_each),
    {_TOTALS}
    drawn(items_each * ok, 0) AS items
FROM counted
ORDER BY window_start, site
"""

# Each window takes the routes of one of the hour's own windows, which last a quarter of an hour.
_ROUTE_WINDOWS = f"""
INSERT INTO route_windows BY NAME
WITH patterns AS (
    SELECT
        *,
        dense_rank() OVER (PARTITION BY site ORDER BY window_start) - 1 AS number,
        count(DISTINCT window_start) OVER (PARTITION BY site) AS numbers
    FROM hour_route_windows
),

counted AS (
    SELECT
        slots.site,
        slots.window_start,
        slots.window_minutes,
        patterns.dimension,
        patterns.value,
        {
    ", ".join(
        f"drawn(patterns.{name} * slots.window_minutes / 15.0, slots.seed >> {place}) AS {name}"
        for place, name in enumerate(_COUNTS)
    )
},
        patterns.attempts / patterns.requests AS attempts_each,
        patterns.bytes / patterns.requests AS bytes_each,
        patterns.credits / patterns.requests AS credits_each,
        patterns.items / patterns.requests AS items_each,
        round(patterns.p95_latency_ms * varied(slots.seed), 1) AS p95_latency_ms
    FROM slots
    INNER JOIN patterns
        ON slots.site = patterns.site AND patterns.number = slots.seed % patterns.numbers
    WHERE slots.window_start >= $since AND slots.window_start < $until
)

SELECT
    * EXCLUDE (attempts_each, bytes_each, credits_each, items_each),
    {_TOTALS}
    drawn(items_each * requests, 0) AS items
FROM counted
ORDER BY window_start, site, dimension, value
"""

_PAGE_WINDOWS = """
INSERT INTO page_windows BY NAME
WITH shape AS (
    SELECT
        site,
        page_type,
        sum(ok) AS ok,
        sum(with_item) AS with_item,
        sum(sized) AS sized,
        median(median_bytes) AS median_bytes,
        median(low_bytes) AS low_bytes
    FROM hour_page_windows
    GROUP BY site, page_type
)

SELECT
    slots.site,
    slots.window_start,
    slots.window_start + to_minutes(slots.window_minutes) AS window_end,
    shape.page_type,
    greatest(drawn(shape.ok * slots.load, slots.seed), 1) AS ok,
    drawn(shape.with_item / shape.ok * greatest(drawn(shape.ok * slots.load, slots.seed), 1), 0)
        AS with_item,
    drawn(shape.sized / shape.ok * greatest(drawn(shape.ok * slots.load, slots.seed), 1), 0)
        AS sized,
    round(shape.median_bytes * varied(hash(slots.seed, shape.page_type))) AS median_bytes,
    round(shape.low_bytes * varied(hash(slots.seed, shape.page_type, 1))) AS low_bytes
FROM slots
INNER JOIN shape ON slots.site = shape.site
ORDER BY slots.window_start, slots.site, shape.page_type
"""

_SITE_SCORES = """
INSERT INTO site_scores BY NAME
SELECT
    site,
    window_start,
    $version AS config_version,
    window_end,
    window_minutes,
    97.0 + hash(site, window_start) % 4 AS score,
    97.0 + hash(window_start, site) % 30000 / 10000.0 AS smoothed_score,
    1.0 - hash(site, window_start, 1) % 100 / 10000.0 AS served_share,
    1.0 - hash(site, window_start, 2) % 100 / 10000.0 AS smoothed_served_share,
    'healthy' AS band,
    []::VARCHAR[] AS reasons,
    hash(site, window_start, 3) % 1000 / 1000.0 AS hard_block_penalty,
    hash(site, window_start, 4) % 1000 / 1000.0 AS challenge_penalty,
    0.0 AS soft_block_penalty,
    hash(site, window_start, 5) % 1000 / 1000.0 AS latency_penalty,
    hard_blocks / nullif(judged, 0) AS hard_block_rate,
    challenges / nullif(judged, 0) AS challenge_rate,
    soft_blocks / nullif(judged, 0) AS soft_block_rate,
    p95_latency_ms,
    sum(hard_blocks) OVER by_site / sum(judged) OVER by_site AS base_hard_block_rate,
    sum(challenges) OVER by_site / sum(judged) OVER by_site AS base_challenge_rate,
    sum(soft_blocks) OVER by_site / sum(judged) OVER by_site AS base_soft_block_rate,
    avg(p95_latency_ms) OVER by_site AS base_p95_latency_ms,
    sum(judged) OVER by_site AS baseline_requests,
    14 AS baseline_days,
    ok / nullif(requests - redirects, 0) AS delivery_share,
    sum(ok) OVER by_site / sum(requests - redirects) OVER by_site AS base_delivery_share
FROM site_windows
WINDOW by_site AS (
    PARTITION BY site ORDER BY window_start ROWS BETWEEN 200 PRECEDING AND CURRENT ROW
)
ORDER BY window_start, site
"""

_SITE_BASELINES = """
INSERT INTO site_baselines BY NAME
SELECT
    site,
    window_start,
    window_end,
    config_version,
    window_start - INTERVAL 14 DAY AS period_start,
    window_start - INTERVAL 1 DAY AS period_end,
    true AS is_enough,
    false AS is_used_up,
    baseline_requests,
    baseline_days,
    base_hard_block_rate,
    base_challenge_rate,
    base_soft_block_rate,
    base_hard_block_rate + base_challenge_rate + base_soft_block_rate AS base_denied_share,
    0.01 AS base_unknown_share,
    base_delivery_share,
    1 - base_delivery_share AS base_failure_share,
    base_p95_latency_ms
FROM site_scores
ORDER BY window_start, site
"""


def fill_history(home: str, log: str, end: str, days: int, routes: bool = True) -> Report:
    """Make a home that was run until the begin of the hour up to ``end``, ``days`` long.

    Without ``routes`` it is as if no model of routes had ever run.

    ``log`` is that hour's, from which the history is modelled; it is landed in a home of its own,
    whose lake also stands for the lake of each hour of the history.
    """
    made, until = Home(Path(home)), datetime.fromisoformat(end)
    configuration = load_configuration(SHIPPED_CONFIG)
    pattern = Home(made.root.with_name(f"{made.root.name}-pattern"))
    shutil.rmtree(pattern.root, ignore_errors=True)
    hour = land_pattern(pattern, configuration, Path(log), until)
    end_at = hour.start
    start_at = floor_day(end_at) - days * DAY
    with open_writer(made) as connection:
        connection.execute(f"ATTACH '{pattern.warehouse}' AS pattern (READ_ONLY)")
        for table in ("site_windows", "page_windows", "route_windows"):
            connection.execute(
                f"CREATE TEMP VIEW hour_{table.removeprefix('site_')} AS FROM pattern.{table}"
            )
        connection.execute(_MACROS)
        connection.execute(
            "INSERT INTO known_sites SELECT site, ? FROM pattern.known_sites ORDER BY site",
            [end_at],
        )
        connection.execute(_SITE_HOURS, {"start": start_at, "end": end_at})
        make_settings_of_day(connection, configuration, end_at)
        today = floor_day(end_at)
        connection.execute(_LENGTHS_OF_EARLIER_DAYS, {"start": start_at, "today": today})
        connection.execute(_SLOTS, {"start": start_at, "end": end_at, "today": today})
        connection.execute(_SITE_WINDOWS)
        connection.execute(_PAGE_WINDOWS)
        day = max(start_at, floor_day(end_at) - ROUTE_DAYS)
        while routes and day < end_at:
            # A day at a time, as runs leave them: in order of time, without sorting all of it.
            connection.execute(_ROUTE_WINDOWS, {"since": day, "until": day + DAY})
            day += DAY
        # Once more: the lengths stay, the profiles come of the windows.
        make_settings_of_day(connection, configuration, end_at)
        connection.execute(_SITE_SCORES, {"version": configuration.version})
        connection.execute(_SITE_BASELINES)
        for name in ("windows", scores_name(configuration.version)):
            set_modelled_until(connection, name, end_at)
        link_lake(connection, pattern, made, start_at, end_at)
        (windows,) = connection.execute("SELECT count(*) FROM site_windows").fetchone() or (0,)
        connection.execute(
            "DROP VIEW hour_windows; DROP VIEW hour_page_windows; DROP VIEW hour_route_windows"
        )
        connection.execute("DETACH pattern")
    # As the run of the hour before left it: each site with its state, and a published copy.
    for branch in job.decide_step(made, configuration, end_at, now=end_at, act=True):
        job.act_step(made, configuration, branch, end_at, now=end_at, act=True)
    job.publish_step(made, configuration, now=end_at, control=True)
    return {"windows": windows}


def land_pattern(pattern: Home, configuration: Configuration, log: Path, end: datetime) -> Range:
    """Land the hour and make its windows, without a history; returns the hour."""
    hour = Range(end - HOUR, end)
    inbox = pattern.inbox / "crawler"
    inbox.mkdir(parents=True)
    os.symlink(log, inbox / log.name)
    job.land_step(pattern, configuration, now=end + timedelta(minutes=5))
    with open_writer(pattern) as connection:
        make_windows(connection, pattern, configuration, hour)
    return hour


def make_settings_of_day(
    connection: duckdb.DuckDBPyConnection, configuration: Configuration, end: datetime
) -> None:
    """Window lengths and page profiles of the UTC day of ``end``, from what the tables hold."""
    day = Range(floor_day(end), end)
    parameters = {"start": day.start, "end": day.end, **fleet_parameters(configuration)}
    make_day_settings(
        connection, configuration, Piece(day, None), known_sites(connection), end, parameters
    )


def link_lake(
    connection: duckdb.DuckDBPyConnection,
    pattern: Home,
    made: Home,
    start: datetime,
    end: datetime,
) -> None:
    """Enter lake files for each hour: links to the pattern's, which no later hour's run reads."""
    landed = connection.execute(
        "SELECT path, row_count, byte_count FROM pattern.lake_files"
    ).fetchall()
    entries = []
    hour = start
    while hour < end:
        for path, rows, size in landed:
            link = made.lake / f"date={hour:%Y-%m-%d}" / f"hour={hour:%H}" / Path(path).name
            link.parent.mkdir(parents=True, exist_ok=True)
            os.symlink(pattern.root / path, link)
            entries.append((link.relative_to(made.root).as_posix(), hour, rows, size, hour))
        hour += HOUR
    connection.executemany(
        "INSERT INTO lake_files (path, hour_start, row_count, byte_count, landed_at)"
        " VALUES (?, ?, ?, ?, ?)",
        entries,
    )
