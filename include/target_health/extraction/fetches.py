"""The items of ok fetches, read from the lake for the windows that ask for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import duckdb

from target_health.config import Configuration
from target_health.modelling.lake import show_lake_fetches
from target_health.modelling.models import PARAMETER, model_sql
from target_health.modelling.ranges import Range
from target_health.modelling.settings import fleet_parameters, make_site_settings
from target_health.modelling.windows import read_from
from target_health.paths import Home

# No window is shorter: so far before a window's end no other window of the piece ends.
SHORTEST = timedelta(minutes=5)
ROWS_AT_ONCE = 20_000

OK_ITEMS = """
CREATE OR REPLACE TEMP TABLE ok_items AS
SELECT
    piece_windows.number,
    piece_windows.site,
    ok_fetches.page_type,
    lake_fetches.item
FROM ok_fetches
INNER JOIN piece_windows
    ON
        ok_fetches.site = piece_windows.site
        AND ok_fetches.window_start = piece_windows.window_start
INNER JOIN lake_fetches
    ON
        ok_fetches.file_index = lake_fetches.file_index
        AND ok_fetches.file_row_number = lake_fetches.file_row_number
WHERE lake_fetches.item IS NOT NULL
"""


@dataclass(frozen=True, slots=True)
class Piece:
    """Pending windows of one UTC day that are read at once, by number."""

    numbers: tuple[int, ...]
    range: Range


def pieces_of_day(
    connection: duckdb.DuckDBPyConnection, day_start: datetime, most_ok: int
) -> list[Piece]:
    """The day's pending windows in order of their end, cut so that a piece's fetches fit."""
    rows = connection.execute(
        "SELECT number, window_end, ok FROM pending_windows WHERE day_start = ?"
        " ORDER BY window_end, number",
        [day_start],
    ).fetchall()
    pieces: list[Piece] = []
    numbers: list[int] = []
    ends: list[datetime] = []
    held = 0
    for number, window_end, ok in rows:
        # Windows that end at one time stay together: a piece is a range of time.
        if held >= most_ok and ends[-1] != window_end:
            pieces.append(Piece(tuple(numbers), Range(ends[0] - SHORTEST, ends[-1])))
            numbers, ends, held = [], [], 0
        numbers.append(number)
        ends.append(window_end)
        held += ok
    if numbers:
        pieces.append(Piece(tuple(numbers), Range(ends[0] - SHORTEST, ends[-1])))
    return pieces


def items_of(
    connection: duckdb.DuckDBPyConnection,
    home: Home,
    configuration: Configuration,
    piece: Piece,
) -> Iterator[Sequence[tuple[int, str, str, str]]]:
    """Rows of window number, site, page type and item, some at a time.

    Which fetches are ok, ``window_fetches`` says, as for the windows' own counts. Leaves the
    piece's windows in the temporary table ``piece_windows``.
    """
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE piece_windows AS SELECT * FROM pending_windows"
        " WHERE window_end > ? AND window_end <= ?",
        [piece.range.start, piece.range.end],
    )
    sites = connection.execute("SELECT DISTINCT site FROM piece_windows ORDER BY site").fetchall()
    make_site_settings(connection, configuration, [site for (site,) in sites])
    show_lake_fetches(
        connection,
        home,
        read_from(connection, piece.range),
        piece.range.end,
        only_site_settings=True,
    )
    # Judging fetches takes longer than seeing that there is nothing to judge.
    with_items = connection.execute(
        "SELECT DISTINCT site FROM lake_fetches WHERE item IS NOT NULL AND verdict = 'ok'"
        " ORDER BY site"
    ).fetchall()
    if not with_items:
        return
    make_site_settings(connection, configuration, [site for (site,) in with_items])
    select = model_sql("window_fetches")
    parameters = {
        "start": piece.range.start,
        "end": piece.range.end,
        **fleet_parameters(configuration),
    }
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE ok_fetches AS"
        " SELECT file_index, file_row_number, site, window_start, page_type"
        f" FROM ({select}) WHERE final_verdict = 'ok'",
        {name: parameters[name] for name in set(PARAMETER.findall(select))},
    )
    connection.execute(OK_ITEMS)
    connection.execute("DROP TABLE ok_fetches")
    (count,) = connection.execute("SELECT count(*) FROM ok_items").fetchone() or (0,)
    for begin in range(0, count, ROWS_AT_ONCE):
        yield connection.execute(
            "SELECT number, site, page_type, item FROM ok_items WHERE rowid >= ? AND rowid < ?",
            [begin, begin + ROWS_AT_ONCE],
        ).fetchall()
    connection.execute("DROP TABLE ok_items")
