"""Making windows: those that have ended since the last run, and those that late rows touched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import duckdb

from target_health.config import Configuration
from target_health.modelling.lake import show_lake_fetches
from target_health.modelling.models import replace_range, run_select
from target_health.modelling.progress import modelled_until, set_modelled_until
from target_health.modelling.ranges import Range
from target_health.modelling.settings import fleet_parameters, make_site_settings
from target_health.paths import Home
from target_health.times import DAY, floor_day, floor_hour
from target_health.warehouse.transactions import transaction

Progress = Callable[[str], None]

OWNED_WINDOWS = "window_end > $start AND window_end <= $end"
OWNED_HOURS = "hour_start >= date_trunc('hour', $start) AND hour_start < $end"
# The last hours' stragglers come for most sites; they must not be made again as far back as the
# one site whose log came days late.
JUST_LATE = timedelta(hours=2)
OWNED_DAYS = "day_start >= date_trunc('day', $start) AND day_start < $end"


# A paused site is as silent as we made it; resumed, it comes back at the lowest step.
PACE_CHANGES = """
CREATE OR REPLACE TEMP VIEW pace_changes AS
SELECT
    site,
    sequence,
    decided_at AS changed_at,
    greatest(concurrency_factor, {lowest_factor}) AS concurrency_factor
FROM actions
WHERE applied AND site IS NOT NULL AND concurrency_factor IS NOT NULL
"""
NEWEST_FETCHES = """
UPDATE known_sites SET last_fetch_at = newest.last_fetch_at
FROM (
    SELECT site, max(last_fetch_at) AS last_fetch_at FROM site_hours
    WHERE hour_start >= date_trunc('hour', ?::TIMESTAMP) AND hour_start < ?
    GROUP BY site
) AS newest
WHERE
    known_sites.site = newest.site
    AND newest.last_fetch_at > coalesce(known_sites.last_fetch_at, TIMESTAMP '1970-01-01')
"""


@dataclass(frozen=True, slots=True)
class Piece:
    """Windows to make in one transaction: some sites (None: all), within one UTC day."""

    range: Range
    sites: tuple[str, ...] | None


def make_windows(
    connection: duckdb.DuckDBPyConnection,
    home: Home,
    configuration: Configuration,
    requested: Range,
    progress: Progress = lambda message: None,
) -> datetime | None:
    """Make every window that ends in ``requested`` or was touched by landed rows before its end.

    Windows that ended since the last run belong to it, however long that is ago. Windows whose
    content changed are marked to be scored again. Returns the time up to which all windows are
    made, None when nothing was ever landed. A killed run leaves whole days, and its marks.
    """
    remember_sites(connection)
    until = modelled_until(connection, "windows")
    if until is None:
        first = connection.execute("SELECT min(hour_start) FROM landed_hours").fetchone()
        if first is None or first[0] is None or first[0] >= requested.end:
            return None
        until = floor_day(first[0])
        with transaction(connection):
            set_modelled_until(connection, "windows", until)
    landed = landed_days(connection)
    for piece in late_pieces(connection, until, landed):
        progress(
            f"windows made again: {piece.range.start:%Y-%m-%d}, {len(piece.sites or ())} sites"
        )
        make_piece(connection, home, configuration, piece, until)
    asked_again = Range(requested.start, min(requested.end, until))
    for day in asked_again.days(landed):
        progress(f"windows made again: {day.start:%Y-%m-%d}")
        make_piece(connection, home, configuration, Piece(day, None), until)
    for day in Range(until, requested.end).days(landed):
        progress(f"windows: {day.start:%Y-%m-%d}")
        make_piece(connection, home, configuration, Piece(day, None), until)
    made = max(until, requested.end)
    with transaction(connection):
        set_modelled_until(connection, "windows", made)
        # Marks of late sites end on the last day that holds fetches.
        connection.execute("DELETE FROM landed_hours WHERE hour_start < ?", [floor_hour(made)])
    return made


def landed_days(connection: duckdb.DuckDBPyConnection) -> set[datetime]:
    """The UTC days that hold fetches; on the others there is no window to make."""
    rows = connection.execute(
        "SELECT DISTINCT date_trunc('day', hour_start)::TIMESTAMP FROM lake_files"
    ).fetchall()
    return {day for (day,) in rows}


def remember_sites(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute(
        "INSERT INTO known_sites SELECT DISTINCT site, NULL FROM landed_hours"
        " WHERE site NOT IN (SELECT site FROM known_sites)"
    )


def known_sites(connection: duckdb.DuckDBPyConnection) -> tuple[str, ...]:
    rows = connection.execute("SELECT site FROM known_sites ORDER BY site").fetchall()
    return tuple(site for (site,) in rows)


def late_pieces(
    connection: duckdb.DuckDBPyConnection, until: datetime, landed: set[datetime]
) -> list[Piece]:
    """What rows that landed after their window was made ask for, in order of time.

    Everything of the site from the earliest such row on is made again, because window lengths and
    page profiles of later days follow from earlier ones.
    """
    rows = connection.execute(
        "SELECT site, min(hour_start) AS since FROM landed_hours"
        " WHERE hour_start < ? GROUP BY site ORDER BY since, site",
        [until],
    ).fetchall()
    just_late = [row for row in rows if row[1] >= until - JUST_LATE]
    long_late = [row for row in rows if row[1] < until - JUST_LATE]
    return pieces_since(long_late, until, landed) + pieces_since(just_late, until, landed)


def pieces_since(
    rows: Sequence[tuple[str, datetime]], until: datetime, landed: set[datetime]
) -> list[Piece]:
    """One piece a UTC day for the sites that are late by then; rows are (site, since)."""
    if not rows:
        return []
    pieces = []
    for day in Range(min(since for _, since in rows), until).days(landed):
        late = [(site, since) for site, since in rows if since < day.end]
        start = max(day.start, min(since for _, since in late))
        pieces.append(Piece(Range(start, day.end), tuple(site for site, _ in late)))
    return pieces


def make_piece(
    connection: duckdb.DuckDBPyConnection,
    home: Home,
    configuration: Configuration,
    piece: Piece,
    until: datetime,
) -> None:
    """Replace the piece's windows, and what hangs on them, in one transaction."""
    sites = piece.sites if piece.sites is not None else known_sites(connection)
    parameters = {
        "start": piece.range.start,
        "end": piece.range.end,
        **fleet_parameters(configuration),
    }
    with transaction(connection):
        make_day_settings(connection, configuration, piece, sites, until, parameters)
        make_site_settings(connection, configuration, sites)
        show_lake_fetches(
            connection,
            home,
            read_from(connection, piece.range),
            piece.range.end,
            only_site_settings=piece.sites is not None,
        )
        replace_range(connection, "site_hours", parameters, OWNED_HOURS)
        run_select(
            connection,
            "CREATE OR REPLACE TEMP TABLE window_fetches AS ",
            "window_fetches",
            parameters,
        )
        is_again = piece.range.start < until
        if is_again:
            remember_windows(connection, parameters)
        replace_range(connection, "page_windows", parameters, OWNED_WINDOWS)
        replace_range(connection, "site_windows", parameters, OWNED_WINDOWS)
        replace_range(connection, "route_windows", parameters, OWNED_WINDOWS)
        if is_again:
            mark_changed_windows(connection, parameters)
        settle_landed_hours(connection, piece, until)
        if piece.range.end > until:
            set_modelled_until(connection, "windows", piece.range.end)
        connection.execute("DROP TABLE window_fetches")


def make_day_settings(
    connection: duckdb.DuckDBPyConnection,
    configuration: Configuration,
    piece: Piece,
    sites: Sequence[str],
    until: datetime,
    parameters: dict[str, object],
) -> None:
    """Window lengths and page profiles of the piece's UTC day.

    They hold for the whole day, so that they are made with its first windows, and again only when
    all of the day's windows are made again; a site that turns up later in the day gets its own.
    """
    day_start = floor_day(piece.range.start)
    whole_day = piece.range.start == day_start and (
        piece.range.end == day_start + DAY or piece.range.end >= until
    )
    asked = list(sites)
    if not whole_day:
        rows = connection.execute(
            "SELECT site FROM site_window_lengths WHERE day_start = ?", [day_start]
        ).fetchall()
        settled = {site for (site,) in rows}
        asked = [site for site in asked if site not in settled]
    if not asked:
        return
    make_site_settings(connection, configuration, asked)
    lowest_factor = 0.5**configuration.policy.max_steps
    connection.execute(PACE_CHANGES.format(lowest_factor=lowest_factor))
    replace_range(connection, "site_window_lengths", parameters, OWNED_DAYS)
    replace_range(connection, "page_profiles", parameters, OWNED_DAYS)


def read_from(connection: duckdb.DuckDBPyConnection, piece: Range) -> datetime:
    """The earliest fetch that a window ending in the piece can hold, and its clock hours."""
    day_start = floor_day(piece.start)
    rows = connection.execute(
        "SELECT DISTINCT window_minutes FROM site_window_lengths"
        " WHERE day_start = ? AND site IN (SELECT site FROM site_settings)",
        [day_start],
    ).fetchall()
    earliest = floor_hour(piece.start)
    for (minutes,) in rows:
        length = timedelta(minutes=minutes)
        window_start = day_start + (piece.start - day_start) // length * length
        if window_start + length <= piece.end:
            earliest = min(earliest, window_start)
    return earliest


def remember_windows(connection: duckdb.DuckDBPyConnection, parameters: dict[str, object]) -> None:
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE windows_before AS SELECT * FROM site_windows"
        f" WHERE {OWNED_WINDOWS} AND site IN (SELECT site FROM site_settings)",
        {key: parameters[key] for key in ("start", "end")},
    )


def mark_changed_windows(
    connection: duckdb.DuckDBPyConnection, parameters: dict[str, object]
) -> None:
    """Ask for new scores of those sites whose windows are not what they were."""
    now = (
        f"SELECT * FROM site_windows WHERE {OWNED_WINDOWS}"
        " AND site IN (SELECT site FROM site_settings)"
    )
    connection.execute(
        "INSERT INTO rescore_sites SELECT site, min(window_start) FROM ("
        f" (({now}) EXCEPT FROM windows_before) UNION ALL"
        f" (FROM windows_before EXCEPT ({now}))"
        ") GROUP BY site",
        {key: parameters[key] for key in ("start", "end")},
    )
    connection.execute("DROP TABLE windows_before")


def settle_landed_hours(
    connection: duckdb.DuckDBPyConnection, piece: Piece, until: datetime
) -> None:
    """Take off what this piece has settled; a late site keeps a mark where it goes on."""
    connection.execute(NEWEST_FETCHES, [piece.range.start, piece.range.end])
    if piece.sites is None:
        connection.execute(
            "DELETE FROM landed_hours WHERE hour_start < ?"
            " AND hour_start >= date_trunc('hour', greatest(?::TIMESTAMP, ?::TIMESTAMP))",
            [piece.range.end, piece.range.start, until],
        )
        return
    connection.execute(
        "DELETE FROM landed_hours WHERE hour_start < ?"
        " AND site IN (SELECT site FROM site_settings)",
        [piece.range.end],
    )
    if piece.range.end < until:
        connection.execute(
            "INSERT INTO landed_hours SELECT site, ? FROM site_settings", [piece.range.end]
        )
