"""What a site answers where nothing is, learned from canaries that must not exist.

Landing marks the same answer elsewhere as ``soft_404:probe``, in the columns that its verdict is
made of: so nothing downstream needs to know of it, and a window made again stays as it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

import duckdb

from target_health.canaries.records import Observation
from target_health.canaries.states import Key, PageState
from target_health.canaries.storage import record
from target_health.landing.view import lake_sql
from target_health.paths import Home
from target_health.readers.sql_text import literal
from target_health.times import DAY, floor_hour
from target_health.warehouse.rows import rows_of
from target_health.warehouse.tables import table_exists

EVIDENCE = "soft_404:probe"

#: A page that most of the crawl is given is the site's page, or an application's empty shell, not
#: its not-found page; told from this many delivered pages on, over this long.
COMMON_SHARE = 0.5
COMMON_FROM = 20
COMMON_DAYS = 2


@dataclass(frozen=True, slots=True)
class MissingAnswer:
    """One site's answer to one URL that must not exist; a row of ``canary_missing_answers``."""

    site: str
    page: str
    url: str
    final_url: str
    status: int | None
    title: str | None
    byte_count: int
    content_hash: str | None
    text_hash: str | None
    learned_at: datetime
    seen_at: datetime
    by_hash: bool
    by_title: bool
    why_not: str = ""


def learned(
    seen: Observation,
    good: Iterable[PageState],
    before: MissingAnswer | None,
    common_share: float,
) -> MissingAnswer | None:
    """What an observation of a missing page teaches; None where it tells nothing. Pure.

    ``good`` are the site's canaries, ``common_share`` says how much of the crawl is given the same
    answer. An answer that known pages give as well marks nothing.
    """
    facts = seen.facts
    if seen.outcome != "pass":
        return before
    pages = [state for state in good if state.last_good_at is not None]
    why_not = ""
    if seen.status is not None and not 200 <= seen.status < 300:
        why_not = f"the status {seen.status} says it already"
    elif facts.content_hash is None and facts.text_hash is None:
        why_not = "the answer is empty"
    elif any(_same(facts.content_hash, state.good_content_hash) for state in pages) or any(
        _same(facts.text_hash, state.good_text_hash) for state in pages
    ):
        why_not = "a page that exists gives the same answer"
    elif common_share > COMMON_SHARE:
        why_not = "most of the crawl is given the same answer"
    titles = {state.good_title for state in pages}
    same = before is not None and (before.content_hash, before.text_hash, before.title) == (
        facts.content_hash, facts.text_hash, facts.title,
    )  # fmt: skip
    return MissingAnswer(
        site=seen.site,
        page=seen.page,
        url=seen.url,
        final_url=seen.final_url or seen.url,
        status=seen.status,
        title=facts.title,
        byte_count=facts.size,
        content_hash=facts.content_hash,
        text_hash=facts.text_hash,
        learned_at=before.learned_at if same and before is not None else seen.observed_at,
        seen_at=seen.observed_at,
        by_hash=not why_not,
        # One title for every page is common; only pages known to exist show that it is not so.
        by_title=not why_not and bool(titles) and bool(facts.title) and facts.title not in titles,
        why_not=why_not,
    )


def _same(one: str | None, other: str | None) -> bool:
    return one is not None and one == other


def common_share(connection: duckdb.DuckDBPyConnection, home: Home, seen: Observation) -> float:
    """How much of what a site lately delivered is the answer to a page that must not exist."""
    since = floor_hour(seen.observed_at - COMMON_DAYS * DAY)
    paths = connection.execute(
        "SELECT path FROM lake_files WHERE hour_start >= ?", [since]
    ).fetchall()
    columns = {"site": "", "verdict": "", "canary": "", "content_hash": "", "text_hash": ""}
    if not paths:
        return 0.0
    lake = lake_sql([str(home.root / path) for (path,) in paths], columns)
    row = connection.execute(
        "SELECT count(*), count(*) FILTER (content_hash = ? OR text_hash = ?) "
        f"FROM ({lake}) WHERE site = ? AND verdict = 'ok' AND canary IS NULL",
        [seen.facts.content_hash, seen.facts.text_hash, seen.site],
    ).fetchone()
    delivered, same = row or (0, 0)
    return same / delivered if delivered >= COMMON_FROM else 0.0


def learn(
    connection: duckdb.DuckDBPyConnection,
    home: Home,
    observations: Iterable[Observation],
    states: Mapping[Key, PageState],
    missing_pages: frozenset[tuple[str, str]],
) -> None:
    """Inside a transaction: keep what the observations of ``missing_pages`` teach."""
    before = {(one.site, one.page): one for one in load_answers(connection)}
    for seen in observations:
        if (seen.site, seen.page) not in missing_pages:
            continue
        known = before.get((seen.site, seen.page))
        if known is not None and seen.observed_at <= known.seen_at:
            continue
        good = [
            state
            for key, state in states.items()
            if key[0] == seen.site and key[:2] not in missing_pages
        ]
        is_new = known is None or known.content_hash != seen.facts.content_hash
        share = common_share(connection, home, seen) if is_new and seen.outcome == "pass" else 0.0
        if not is_new and known is not None and "most of the crawl" in known.why_not:
            share = 1.0
        answer = learned(seen, good, known, share)
        if answer is not None and answer != known:
            values = [getattr(answer, name) for name in answer.__slots__]
            marks = ", ".join("?" for _ in values)
            connection.execute(
                f"INSERT OR REPLACE INTO canary_missing_answers VALUES ({marks})", values
            )


def load_answers(connection: duckdb.DuckDBPyConnection) -> list[MissingAnswer]:
    if not table_exists(connection, "canary_missing_answers"):
        return []
    rows = rows_of(connection, "SELECT * FROM canary_missing_answers ORDER BY site, page")
    return [record(MissingAnswer, row) for row in rows]


def evidence_sql(
    answers: Iterable[MissingAnswer], size_share: float, *, site: str, evidence: str = "evidence"
) -> str:
    """The evidence of a landed row, with ``soft_404:probe`` where it is a learned answer.

    SQL over the columns of typed rows; ``site`` is the SQL of a row's site. Only a delivered page
    without a record is marked, and never the address itself that the site sends missing pages to.
    """
    marking = [answer for answer in answers if answer.by_hash or answer.by_title]
    if not marking:
        return evidence
    conditions = [_condition(answer, size_share, site) for answer in marking]
    sites = ", ".join(sorted({literal(answer.site) for answer in marking}))
    return (
        f"CASE WHEN {site} IN ({sites}) AND status BETWEEN 200 AND 299 AND canary IS NULL "
        f"AND NOT coalesce(has_item_value, false) AND ({' OR '.join(conditions)}) "
        f"THEN list_append({evidence}, '{EVIDENCE}') ELSE {evidence} END"
    )


def _condition(answer: MissingAnswer, size_share: float, site: str) -> str:
    same = []
    if answer.by_hash and answer.content_hash:
        same.append(f"content_hash = {literal(answer.content_hash)}")
    if answer.by_hash and answer.text_hash:
        same.append(f"text_hash = {literal(answer.text_hash)}")
    if answer.by_title and answer.title:
        least = int(answer.byte_count * (1 - size_share))
        most = int(answer.byte_count * (1 + size_share)) + 1
        same.append(f"(title = {literal(answer.title)} AND bytes BETWEEN {least} AND {most})")
    return (
        f"({site} = {literal(answer.site)} AND url <> {literal(answer.final_url)} "
        f"AND coalesce({' OR '.join(same)}, false))"
    )
