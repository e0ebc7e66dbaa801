"""Canary fetches that crawlers make themselves: checked where landing has the body at hand, and
recorded once the row has landed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb

from target_health.canaries import storage
from target_health.canaries.expectations import told_expectation
from target_health.canaries.missing_answers import MissingAnswer, evidence_sql, load_answers
from target_health.canaries.outcomes import (
    WITHHELD,
    gravest,
    missing_page,
    observe,
    told_answer,
)
from target_health.canaries.records import (
    CRAWLER,
    WHOLE_PAGE,
    Answer,
    CheckResult,
    Known,
    Observation,
    PageFacts,
    Watch,
)
from target_health.config.canaries import Canaries, CanaryPage
from target_health.landing.schema import LAKE
from target_health.landing.view import lake_sql
from target_health.pages import Markers, load_markers
from target_health.paths import Home
from target_health.readers.bodies import TEXT_AS_PAGE, body_of, item_of
from target_health.readers.raw import Row
from target_health.warehouse.rows import rows_of

#: Checks of rows that never landed, as when their file was discarded, are kept this long.
ORPHANS_KEPT = timedelta(days=2)
STATUS = re.compile(r"\d{3}")
NO_BODY = "the log has no body to check"
UNKNOWN_ID = "canary not in canaries.yaml"


class LandingCanaries:
    """What landing asks and tells of canaries; one for each landing.

    ``begin`` reads what is known; ``see`` checks a canary's row; ``save`` keeps what was seen,
    inside the transaction that makes the rows visible; ``evidence`` marks learned answers.
    """

    def __init__(self, canaries: Canaries, marker_files: Sequence[Path]) -> None:
        self._canaries = canaries
        self._marker_files = list(marker_files)
        self._markers: Markers | None = None
        self._known: Mapping[tuple[str, str], Known] = {}
        self._seen: list[tuple[str, Observation]] = []
        self._answers: Sequence[MissingAnswer] = ()
        self._pages = pages_by_id(canaries)

    def begin(self, warehouse: duckdb.DuckDBPyConnection) -> None:
        self._known = storage.load_known(warehouse)
        self._answers = load_answers(warehouse)

    def evidence(self, site: str) -> str:
        """SQL of a row's evidence; ``site`` is that of its site."""
        return evidence_sql(self._answers, self._canaries.rules.probe_size_share, site=site)

    def see(self, event_id: str, row: Row) -> str | None:
        """Check a row that is a canary's and has a body; a remark for the landing's report."""
        name = row.fields.get("canary")
        if not name or row.page is None:
            return None
        wanted = self._pages.get(name)
        if wanted is None:
            return UNKNOWN_ID
        answer = answer_of(row)
        if self._markers is None:
            self._markers = load_markers(*self._marker_files)
        for site, page in wanted:
            seen = observe(
                Watch(site, page, CRAWLER, is_production=True),
                answer,
                self._known.get((site, page.id), Known()),
                self._markers,
                observed_at=datetime(1970, 1, 1),
                structure_share=self._canaries.rules.structure_share,
                via="crawl_log",
            )
            self._seen.append((row.fields.get("event_id") or event_id, seen))
        return None

    def save(self, warehouse: duckdb.DuckDBPyConnection, now: datetime) -> None:
        for event_id, seen in self._seen:
            warehouse.execute(
                "INSERT INTO canary_landed_checks VALUES (?, ?, ?, ?)",
                [event_id, seen.site, json.dumps(storage.dump_observation(seen)), now],
            )

    def saved(self) -> None:
        """The transaction is committed."""
        self._seen.clear()


def pages_by_id(canaries: Canaries) -> dict[str, list[tuple[str, CanaryPage]]]:
    """The pages that a log may mean by ``canary``: their id, or ``site/id``."""
    found: dict[str, list[tuple[str, CanaryPage]]] = {}
    for site, page in canaries.pages():
        for name in (page.id, f"{site}/{page.id}"):
            found.setdefault(name, []).append((site, page))
    return found


def answer_of(row: Row) -> Answer:
    """A logged fetch as an answer, its body included."""
    fields, page = row.fields, row.page
    body = b""
    headers: dict[str, str] = {}
    if page is not None:
        headers = dict(page.headers)
        body = body_of(page, row)
        if page.text is not None:
            headers["content-type"] = TEXT_AS_PAGE
    status = STATUS.search(fields.get("status") or "")
    return Answer(
        status=int(status[0]) if status else None,
        error=fields.get("error") or None,
        body=body,
        headers=headers,
        final_url=fields.get("final_url") or "",
        item=item_of(fields.get("item")),
        evidence=marks_of(fields.get("evidence")),
    )


def marks_of(text: str | None) -> tuple[str, ...]:
    try:
        marks = json.loads(text or "[]")
    except (ValueError, RecursionError):
        return ()
    return tuple(mark for mark in marks if isinstance(mark, str)) if isinstance(marks, list) else ()


# After the landing


def take_landed(
    connection: duckdb.DuckDBPyConnection, home: Home, canaries: Canaries, now: datetime
) -> list[tuple[str, Observation]]:
    """Inside a transaction: the canary fetches landed since the last time, each with its event id.

    A row whose body was not at hand tells of refusals, and of values nothing.
    """
    [(until,)] = connection.execute("SELECT max(landed_until) FROM canary_progress").fetchall()
    until = until or datetime(1970, 1, 1)
    # The last landing again: two may fall on one moment, and what is recorded already stays.
    files = connection.execute(
        "SELECT path, landed_at FROM lake_files WHERE landed_at >= ?", [until]
    ).fetchall()
    if not files:
        return []
    pages = pages_by_id(canaries)
    found: list[tuple[str, Observation]] = []
    checked = checked_rows(connection)
    for row in canary_rows(connection, [str(home.root / path) for path, _ in files]):
        for site, page in pages.get(row["canary"], ()):
            if site != row["site"]:
                continue
            seen = checked.get((row["event_id"], site)) or from_row(row, site, page)
            found.append(
                (
                    row["event_id"],
                    replace(
                        seen,
                        observed_at=row["ts"],
                        url=row["url"],
                        final_url=row["final_url"] or "",
                        latency_ms=row["latency_ms"],
                    ),
                )
            )
    connection.execute("DELETE FROM canary_progress")
    newest = max(landed_at for _, landed_at in files)
    connection.execute("INSERT INTO canary_progress VALUES (?)", [newest])
    connection.execute("DELETE FROM canary_landed_checks WHERE landed_at < ?", [now - ORPHANS_KEPT])
    return found


def canary_rows(
    connection: duckdb.DuckDBPyConnection, paths: Sequence[str]
) -> Iterable[dict[str, Any]]:
    return rows_of(
        connection,
        f"SELECT * FROM ({lake_sql(list(paths), LAKE)}) WHERE canary IS NOT NULL ORDER BY ts",
    )


def checked_rows(
    connection: duckdb.DuckDBPyConnection,
) -> dict[tuple[str, str], Observation]:
    """What landing checked, by event id and site."""
    rows = connection.execute(
        "SELECT event_id, site, observation FROM canary_landed_checks ORDER BY landed_at"
    ).fetchall()
    return {
        (event_id, site): storage.load_observation(json.loads(observation))
        for event_id, site, observation in rows
    }


def from_row(row: Mapping[str, Any], site: str, page: CanaryPage) -> Observation:
    """A landed fetch without its body: a refusal is told, and what a missing page answered."""
    answer = Answer(
        status=row["status"], error=row["error"], final_url=row["final_url"] or "",
        evidence=tuple(row["evidence"] or ()),
    )  # fmt: skip
    word = row["verdict"]
    if page.missing:
        checks: tuple[CheckResult, ...] = (missing_page(word, "", answer, row["title"]),)
    elif word in WITHHELD:
        detail = told_answer(word, answer)
        checks = tuple(
            CheckResult(check.label, WITHHELD[word], told_expectation(check), detail=detail)
            for check in page.checks
        )
    else:
        checks = (CheckResult(WHOLE_PAGE, "unknown", "a body", detail=NO_BODY),)
    return Observation(
        site=site,
        page=page.id,
        url=row["url"],
        observed_at=row["ts"],
        route=CRAWLER,
        via="crawl_log",
        outcome=gravest(checks),
        checks=checks,
        verdict=word,
        status=row["status"],
        error=row["error"],
        evidence=tuple(row["evidence"] or ()),
        facts=PageFacts(
            size=row["bytes"] or 0,
            title=row["title"],
            text_length=row["text_length"] or 0,
            content_hash=row["content_hash"],
            text_hash=row["text_hash"],
        ),
    )
