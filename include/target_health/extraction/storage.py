"""Which windows have items to validate, and keeping what was found."""

from __future__ import annotations

from datetime import datetime

import duckdb
import pandas as pd

from target_health.extraction.counting import Tally
from target_health.extraction.suites import Suites
from target_health.modelling.progress import modelled_until
from target_health.warehouse.frames import registered
from target_health.warehouse.transactions import transaction

PROGRESS = "extraction"

# What a window holds, as far as that can change its items; as the columns of validated_windows.
CONTENT = "window_end, requests, ok, items, bytes, p95_latency_ms"

FIND_PENDING = f"""
CREATE OR REPLACE TEMP TABLE pending_windows AS
WITH wanted AS (
    SELECT site, window_start, {CONTENT} FROM site_windows WHERE window_end > $since
    EXCEPT
    SELECT site, window_start, {CONTENT} FROM validated_windows WHERE window_end > $since
    UNION
    SELECT site, window_start, {CONTENT}
    FROM site_windows
    SEMI JOIN (
        SELECT unchecked_items.*
        FROM unchecked_items
        LEFT JOIN suite_digests ON unchecked_items.page_type = suite_digests.page_type
        WHERE unchecked_items.suite_digest <> coalesce(suite_digests.digest, '')
    ) AS mended
        ON site_windows.site = mended.site AND site_windows.window_start = mended.window_start
)
SELECT
    row_number() OVER (ORDER BY window_end, site) AS number,
    date_trunc('day', window_start)::TIMESTAMP AS day_start,
    *
FROM wanted
"""

ADD_PENDING = f"""
INSERT INTO pending_windows
SELECT
    (SELECT coalesce(max(number), 0) FROM pending_windows)
    + row_number() OVER (ORDER BY window_end, site),
    $day_start,
    site,
    window_start,
    {CONTENT}
FROM site_windows
WHERE
    window_start >= $day_start
    AND window_start < $day_start + INTERVAL 1 DAY
    AND list_contains($sites::VARCHAR[], site)
    AND (site, window_start) NOT IN (SELECT (site, window_start) FROM pending_windows)
"""

# The windows whose rows are replaced: those that were done, and on their days those of the same
# sites that are no more, because the site's windows have another length now.
REPLACED = """
CREATE OR REPLACE TEMP TABLE replaced_windows AS
SELECT site, window_start FROM done_windows
UNION
SELECT validated.site, validated.window_start
FROM validated_windows AS validated
SEMI JOIN done_windows AS done
    ON
        validated.site = done.site
        AND date_trunc('day', validated.window_start) = done.day_start
ANTI JOIN site_windows AS windows
    ON
        validated.site = windows.site
        AND validated.window_start = windows.window_start
        AND validated.window_end = windows.window_end
"""

FORGET = """
DELETE FROM {table} USING replaced_windows AS replaced
WHERE {table}.site = replaced.site AND {table}.window_start = replaced.window_start
"""

EXTRACTIONS_NOW = """
CREATE OR REPLACE TEMP TABLE extractions_now AS
SELECT
    done.site,
    done.window_start,
    sum(new.extractions)::BIGINT AS extractions,
    sum(new.valid)::BIGINT AS valid
FROM new_extractions AS new INNER JOIN done_windows AS done ON new.number = done.number
GROUP BY done.site, done.window_start
"""

# Sites whose extractions changed in windows that have scores already.
MARK_CHANGED = """
INSERT INTO rescore_sites
SELECT
    done.site,
    min(done.window_start) AS since_at
FROM done_windows AS done
LEFT JOIN extraction_windows AS known
    ON done.site = known.site AND done.window_start = known.window_start
LEFT JOIN extractions_now AS now_known
    ON done.site = now_known.site AND done.window_start = now_known.window_start
WHERE
    done.window_end <= (SELECT max(until_at) FROM model_progress WHERE name LIKE 'scores %')
    AND (
        known.extractions IS DISTINCT FROM now_known.extractions
        OR known.valid IS DISTINCT FROM now_known.valid
    )
GROUP BY done.site
"""


def find_pending_windows(
    connection: duckdb.DuckDBPyConnection, suites: Suites, start: datetime
) -> int:
    """Make ``pending_windows``: those that hold something else than when they were validated.

    Looked at are the windows from ``start`` on, those since the last validation, and all that late
    rows touched. Returns how many there are.
    """
    digests = pd.DataFrame(
        [(name, suites.digest_of(name)) for name in [*suites.good, *suites.broken]],
        columns=["page_type", "digest"],
        dtype=object,
    )
    with registered(connection, {"digests": digests}):
        connection.execute(
            "CREATE OR REPLACE TEMP TABLE suite_digests AS"
            " SELECT page_type::VARCHAR AS page_type, digest::VARCHAR AS digest FROM digests"
        )
    connection.execute(FIND_PENDING, {"since": since(connection, start)})
    (count,) = connection.execute("SELECT count(*) FROM pending_windows").fetchone() or (0,)
    return count


def since(connection: duckdb.DuckDBPyConnection, start: datetime) -> datetime:
    """The time from which windows may hold something that was not validated."""
    until = modelled_until(connection, PROGRESS)
    if until is None:
        return datetime(1970, 1, 1)
    (changed,) = connection.execute("SELECT min(since_at) FROM rescore_sites").fetchone() or (None,)
    return min(start, until, changed or until)


def add_pending_windows(
    connection: duckdb.DuckDBPyConnection, day_start: datetime, sites: list[str]
) -> None:
    """Add all of the sites' windows of a UTC day."""
    connection.execute(ADD_PENDING, {"day_start": day_start, "sites": sites})


def store_tally(
    connection: duckdb.DuckDBPyConnection,
    tally: Tally,
    numbers: list[int],
    reasons: dict[str, tuple[str, str]],
) -> tuple[int, int]:
    """Keep what was counted in these windows, in place of what was known of them.

    ``reasons`` gives for each unchecked page type why, and the digest of its suite. Returns how
    many extractions there were, and how many valid ones.
    """
    extractions = (
        pd.concat(tally.extractions)
        if tally.extractions
        else pd.DataFrame(columns=["number", "extractions", "valid"], dtype="int64")
    )
    unchecked = pd.DataFrame(
        [
            (number, page_type, items, *reasons[page_type])
            for number, page_type, items in tally.unchecked
        ],
        columns=["number", "page_type", "items", "reason", "suite_digest"],
    ).astype({"number": "int64", "items": "int64"})
    frames = {
        "done_numbers": pd.DataFrame({"number": pd.Series(numbers, dtype="int64")}),
        "new_extractions": extractions,
        "new_unchecked": unchecked,
    }
    if tally.checks:
        frames["new_checks"] = tally.check_rows()
    with registered(connection, frames), transaction(connection):
        replace_rows(connection, has_checks=bool(tally.checks))
    return int(extractions["extractions"].sum()), int(extractions["valid"].sum())


def replace_rows(connection: duckdb.DuckDBPyConnection, *, has_checks: bool) -> None:
    """Put the registered frames in place of what was known; the caller holds the transaction."""
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE done_windows AS"
        " SELECT pending_windows.* FROM pending_windows SEMI JOIN done_numbers"
        " ON pending_windows.number = done_numbers.number"
    )
    connection.execute(EXTRACTIONS_NOW)
    connection.execute(MARK_CHANGED)
    connection.execute(REPLACED)
    for table in (
        "extraction_windows",
        "extraction_checks",
        "unchecked_items",
        "validated_windows",
    ):
        connection.execute(FORGET.format(table=table))
    connection.execute("INSERT OR REPLACE INTO extraction_windows BY NAME FROM extractions_now")
    if has_checks:
        connection.execute(
            "INSERT INTO extraction_checks BY NAME SELECT done.site, done.window_start,"
            " new.page_type, new.field, new.expectation, sum(new.checked)::BIGINT AS checked,"
            " sum(new.failed)::BIGINT AS failed"
            " FROM new_checks AS new INNER JOIN done_windows AS done ON new.number = done.number"
            " GROUP BY ALL ORDER BY done.window_start, done.site, new.page_type, new.field"
        )
    connection.execute(
        "INSERT INTO unchecked_items BY NAME SELECT done.site, done.window_start, new.page_type,"
        " sum(new.items)::BIGINT AS items, new.reason, new.suite_digest"
        " FROM new_unchecked AS new INNER JOIN done_windows AS done ON new.number = done.number"
        " GROUP BY ALL"
    )
    connection.execute(
        f"INSERT INTO validated_windows BY NAME SELECT site, window_start, {CONTENT}"
        " FROM done_windows ORDER BY window_start, site"
    )
