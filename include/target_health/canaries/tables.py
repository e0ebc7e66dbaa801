"""Canaries as tables and lines for a terminal or a task log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from target_health.canaries.verdicts import SiteVerdict
from target_health.times import iso

WORDS = ("deceived", "note", "refused", "unknown", "good")
STYLES = {
    "deceived": "bold red",
    "refused": "red",
    "note": "yellow",
    "good": "green",
    "unknown": "dim",
    "pass": "green",
    "wrong_value": "bold red",
    "missing": "yellow",
    "blocked": "red",
    "challenged": "red",
}


def verdict_table(verdicts: Iterable[SiteVerdict]) -> Table:
    """One row a site, the worst first."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in ("site", "canaries say", "good", "wrong", "refused", "unknown"):
        table.add_column(name, overflow="fold")
    table.add_column("notes", overflow="fold")
    for one in sorted(verdicts, key=lambda one: (WORDS.index(one.verdict), one.site)):
        table.add_row(
            one.site,
            Text(one.verdict, style=STYLES[one.verdict]),
            f"{one.good_pages} of {one.pages}",
            str(len(one.wrong_pages)),
            str(one.refused_pages),
            str(one.unknown_pages),
            Text("\n".join(told(one))),
        )
    return table


def told(verdict: SiteVerdict) -> list[str]:
    """What a verdict comes to, in lines."""
    lines = []
    if verdict.deceived:
        since = iso(verdict.deceived_since) if verdict.deceived_since else "now"
        lines.append(f"deceived since {since}; {suspect(verdict)}")
    if verdict.disagreement:
        lines.append(verdict.disagreement)
    return [*lines, *verdict.notes]


def suspect(verdict: SiteVerdict) -> str:
    """Since when data is suspect, and how much of it there is."""
    since = (
        f"data is suspect since {iso(verdict.suspect_since)}, the last good canary"
        if verdict.suspect_since
        else "no canary was ever good: all data is suspect"
    )
    return f"{since}: {verdict.records_since:,} records, {verdict.fetches_since:,} pages"


def results_table(rows: Iterable[Mapping[str, Any]]) -> Table:
    """One row a canary and route: ``site page route outcome observed_at detail``."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in ("site", "page", "route", "outcome", "observed", "last good", "detail"):
        table.add_column(name, overflow="fold", no_wrap=name in ("outcome", "observed"))
    for row in rows:
        outcome = row["outcome"] or "not seen yet"
        table.add_row(
            str(row["site"]),
            str(row["page"]),
            str(row["route"]),
            Text(outcome, style=STYLES.get(outcome, "dim")),
            iso(row["observed_at"].replace(microsecond=0)) if row["observed_at"] else "–",
            iso(row["last_good_at"].replace(microsecond=0)) if row["last_good_at"] else "–",
            Text(str(row["detail"] or "")),
        )
    return table
