"""What people are asked about: each question once, again where nobody can answer it any more."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Literal

import duckdb

from target_health.config import Configuration
from target_health.errors import UsageError
from target_health.warehouse.rows import rows_of

QuestionKind = Literal["decision", "review"]


@dataclass(frozen=True, slots=True)
class Question:
    """What a run of site_review waits for an answer to."""

    run_id: str
    kind: QuestionKind
    incident_id: str
    site: str | None
    asked_at: datetime
    answered_at: datetime | None = None


def question_of(con: duckdb.DuckDBPyConnection, run_id: str) -> Question:
    rows = rows_of(con, "SELECT * FROM site_questions WHERE run_id = ?", [run_id])
    if not rows:
        raise UsageError(f"{run_id}: no question was asked under this name")
    return Question(**rows[0])


def questions_to_ask(
    con: duckdb.DuckDBPyConnection, configuration: Configuration, now: datetime
) -> list[Question]:
    """One for each site that the system paused, that nobody was asked about, or not since then.

    A site that a person keeps paused is asked about again when the date has come.
    """
    rows = rows_of(
        con,
        "SELECT site_state.site, site_state.since, incidents.incident_id"
        " FROM site_state INNER JOIN incidents ON site_state.site = incidents.site"
        " WHERE site_state.state = 'paused' AND NOT site_state.paused_by_human"
        " AND incidents.kind = 'hostility' AND incidents.closed_at IS NULL"
        " ORDER BY site_state.since, site_state.site",
    )
    asked: dict[str, list[Question]] = {}
    query = "SELECT * FROM site_questions WHERE kind = 'decision' ORDER BY asked_at, run_id"
    for row in rows_of(con, query):
        asked.setdefault(row["incident_id"], []).append(Question(**row))
    kept_until = {
        row["incident_id"]: row["keep_until"]
        for row in rows_of(
            con, "SELECT * FROM human_decisions WHERE is_applied ORDER BY decided_at"
        )
    }
    due: list[Question] = []
    for row in rows:
        name, before = row["incident_id"], asked.get(row["incident_id"], [])
        last = before[-1] if before else None
        if last is not None and last.answered_at is None and last.asked_at >= row["since"]:
            continue
        until = kept_until.get(name)
        if until is not None and now < until:
            continue
        run_id = name if last is None else f"{name}-{len(before) + 1}"
        due.append(Question(run_id, "decision", name, row["site"], now))
    return due


def waiting_questions(con: duckdb.DuckDBPyConnection) -> list[Question]:
    """Those about a site's pace that nobody has answered."""
    query = "SELECT * FROM site_questions WHERE kind = 'decision' AND answered_at IS NULL"
    return [Question(**row) for row in rows_of(con, query)]


def give_up(con: duckdb.DuckDBPyConnection, run_ids: Iterable[str], now: datetime) -> None:
    """Nobody can answer these any more, as when their runs were deleted: ask under a new name."""
    con.execute(
        "UPDATE site_questions SET answered_at = ?"
        " WHERE answered_at IS NULL AND run_id IN (SELECT unnest(?::VARCHAR[]))",
        [now, list(run_ids)],
    )


def ask(con: duckdb.DuckDBPyConnection, question: Question) -> Question:
    """Note that a question is asked; one that was asked already stays as it is."""
    values = asdict(question)
    con.execute(
        f"INSERT INTO site_questions ({', '.join(values)}) VALUES (?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (run_id) DO NOTHING",
        list(values.values()),
    )
    return question_of(con, question.run_id)
