"""The pages of the warehouse: queued once, tried in each run, kept for ever."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

import duckdb

from target_health.paging.records import Page, Target
from target_health.paging.targets import for_owner, key_of
from target_health.warehouse.rows import rows_of
from target_health.warehouse.transactions import transaction

NO_ADDRESS = "no address to page"


@dataclass(frozen=True, slots=True)
class Attempt:
    """One page for one address; its text says first when it is no longer fresh."""

    page_id: str
    title: str
    body: str
    target: Target


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an attempt; ``error`` is None when it was delivered."""

    attempt: Attempt
    shown: str
    error: str | None
    tries: int
    at: datetime


def queue_pages(con: duckdb.DuckDBPyConnection, pages: Iterable[Page]) -> int:
    """Add pages; one that stands there already is left. Returns how many were new."""
    added = 0
    for page in pages:
        values = asdict(page)
        marks = ", ".join("?" for _ in values)
        added += len(
            con.execute(
                f"INSERT INTO pages ({', '.join(values)}) VALUES ({marks})"
                " ON CONFLICT (page_id) DO NOTHING RETURNING page_id",
                list(values.values()),
            ).fetchall()
        )
    return added


def attempts_to_make(
    con: duckdb.DuckDBPyConnection, targets: Iterable[Target], now: datetime, late_after: timedelta
) -> list[Attempt]:
    """Every waiting page for every address of its owner that it has not reached, oldest first."""
    every = list(targets)
    rows = rows_of(
        con,
        "SELECT pages.*, incidents.closed_at FROM pages LEFT JOIN incidents USING (incident_id)"
        " WHERE pages.state = 'waiting' ORDER BY pages.queued_at, pages.page_id",
    )
    reached = {
        (row["page_id"], row["target_key"])
        for row in rows_of(con, "SELECT * FROM page_deliveries WHERE delivered_at IS NOT NULL")
    }
    return [
        Attempt(
            row["page_id"],
            row["title"],
            late_words(row["queued_at"], row["closed_at"], now, late_after) + row["body"],
            target,
        )
        for row in rows
        for target in for_owner(every, row["owner"])
        if (row["page_id"], key_of(target)) not in reached
    ]


def late_words(
    queued_at: datetime, closed_at: datetime | None, now: datetime, late_after: timedelta
) -> str:
    """What to say first of a page that could not be delivered in time."""
    words = f"Late: this page is from {queued_at:%Y-%m-%d %H:%M} UTC. "
    if closed_at is not None:
        return f"{words}Its incident was closed {closed_at:%Y-%m-%d %H:%M} UTC.\n"
    return f"{words}\n" if now - queued_at > late_after else ""


def record_outcomes(
    con: duckdb.DuckDBPyConnection,
    outcomes: Iterable[Outcome],
    targets: Iterable[Target],
    now: datetime,
) -> None:
    """Keep what became of attempts; a page that reached all its addresses is delivered."""
    every = list(targets)
    with transaction(con):
        for outcome in outcomes:
            con.execute(
                "INSERT INTO page_deliveries VALUES ($page, $key, $shown, $tries, $at, $done, $why)"
                " ON CONFLICT (page_id, target_key) DO UPDATE SET"
                " attempts = page_deliveries.attempts + excluded.attempts,"
                " attempted_at = excluded.attempted_at, error = excluded.error,"
                " delivered_at = coalesce(page_deliveries.delivered_at, excluded.delivered_at)",
                {
                    "page": outcome.attempt.page_id,
                    "key": key_of(outcome.attempt.target),
                    "shown": outcome.shown,
                    "tries": outcome.tries,
                    "at": outcome.at,
                    "done": outcome.at if outcome.error is None else None,
                    "why": outcome.error,
                },
            )
        reached: dict[str, set[str]] = {}
        for row in rows_of(con, "SELECT * FROM page_deliveries WHERE delivered_at IS NOT NULL"):
            reached.setdefault(row["page_id"], set()).add(row["target_key"])
        for row in rows_of(con, "SELECT page_id, owner FROM pages WHERE state = 'waiting'"):
            keys = {key_of(target) for target in for_owner(every, row["owner"])}
            if keys and keys <= reached.get(row["page_id"], set()):
                con.execute(
                    "UPDATE pages SET state = 'delivered', delivered_at = ? WHERE page_id = ?",
                    [now, row["page_id"]],
                )


def waiting_count(con: duckdb.DuckDBPyConnection) -> int:
    (row,) = rows_of(con, "SELECT count(*) AS waiting FROM pages WHERE state = 'waiting'")
    return int(row["waiting"])


def say_once(con: duckdb.DuckDBPyConnection, notice: str, now: datetime) -> bool:
    """Whether a notice is to be said: it was not, since it last held."""
    added = con.execute(
        "INSERT INTO notices_said VALUES (?, ?) ON CONFLICT (notice) DO NOTHING RETURNING notice",
        [notice, now],
    ).fetchall()
    return bool(added)


def forget_notice(con: duckdb.DuckDBPyConnection, notice: str) -> None:
    con.execute("DELETE FROM notices_said WHERE notice = ?", [notice])
