"""The fleet: how many in which band, what is switched off, one page of sites."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from target_health.dashboard.database import Row, Snapshot

PAGE_SIZE = 50
MOST_ROWS = 1000
SPARK_DAYS = 7
SPARK_HOURS = 4
# Newest switched-off sites that are named; the rest is a link.
NAMED = 12

# What the table can be sorted by: a column's name to the SQL that orders it.
BAND_RANK = "list_position(['resisting', 'degraded', 'unscored', 'healthy'], band)"
STATE_RANK = "list_position(['stopped', 'paused', 'slowed', 'active'], state)"
SORTS = {
    "worst": f"{BAND_RANK} ASC, smoothed_score ASC NULLS LAST",
    "site": "site",
    "band": BAND_RANK,
    "score": "smoothed_score",
    "owner": "owner",
    "parser": "parser_health",
    "served": "smoothed_served_share",
    "cost": "cost_ratio",
    "state": STATE_RANK,
    "since": "since",
}


@dataclass(frozen=True, slots=True)
class Choice:
    """What a person wants to see of the fleet."""

    search: str = ""
    band: str = ""
    state: str = ""
    owner: str = ""
    sort: str = "worst"
    is_descending: bool = False
    page: int = 1
    size: int = PAGE_SIZE

    def order(self) -> str:
        key = SORTS.get(self.sort, SORTS["worst"])
        if key == SORTS["worst"]:
            return f"{key}, site"
        return f"{key} {'DESC' if self.is_descending else 'ASC'} NULLS LAST, site"

    def within(self, found: int) -> Choice:
        """The same choice with a size that is allowed, and a page that is there."""
        size = min(max(1, self.size), MOST_ROWS)
        return replace(self, size=size, page=min(max(1, self.page), page_count(found, size)))

    def limit(self) -> str:
        return f"LIMIT {self.size:d} OFFSET {(self.page - 1) * self.size:d}"

    def condition(self) -> tuple[str, list[object]]:
        """A condition on the fleet's rows, and its parameters."""
        parts: list[str] = []
        given: list[object] = []
        if self.search:
            parts.append("contains(lower(site), lower(?))")
            given.append(self.search)
        if self.band:
            parts.append("band = ?")
            given.append(self.band)
        if self.state == "off":
            parts.append("(state <> 'active' OR is_overridden)")
        elif self.state == "overridden":
            parts.append("is_overridden")
        elif self.state:
            parts.append("state = ?")
            given.append(self.state)
        if self.owner:
            parts.append("owner = ?")
            given.append(self.owner)
        return " AND ".join(parts) or "true", given


@dataclass(frozen=True, slots=True)
class Fleet:
    """One page of the fleet."""

    rows: list[Row]
    found: int
    choice: Choice

    @property
    def pages(self) -> int:
        return page_count(self.found, self.choice.size)


def page_count(found: int, size: int) -> int:
    """How many pages of ``size`` rows there are; one at least, if an empty one."""
    return max(1, -(-found // size))


def fleet_source(snapshot: Snapshot) -> str:
    """``site_health`` with what else is known: who holds the site, its canaries.

    Overridden: a person's word, or observe mode, stands above what the system would do.
    """
    canaries, join = "NULL::VARCHAR", ""
    if snapshot.has("canary_verdicts", "site", "verdict"):
        canaries = "canary_verdicts.verdict"
        join = "LEFT JOIN canary_verdicts ON site_health.site = canary_verdicts.site"
    return f"""
    (
        SELECT
            site_health.*,
            {canaries} AS canaries,
            coalesce(site_state.paused_by_human, false) AS is_held,
            site_state.shadow IS NOT NULL AS is_observed,
            is_held OR is_observed AS is_overridden
        FROM site_health
        LEFT JOIN site_state ON site_health.site = site_state.site
        {join}
    ) AS fleet
    """


def fleet_page(snapshot: Snapshot, choice: Choice) -> Fleet:
    """The rows that were asked for, each with its last seven days."""
    source = fleet_source(snapshot)
    condition, given = choice.condition()
    found = count_sites(snapshot, choice)
    choice = choice.within(found)
    rows = snapshot.rows(
        f"SELECT * FROM {source} WHERE {condition} ORDER BY {choice.order()} {choice.limit()}",
        given,
    )
    add_lately(snapshot, rows)
    return Fleet(rows, found, choice)


def count_sites(snapshot: Snapshot, choice: Choice) -> int:
    """How many sites the choice finds, on all pages."""
    condition, given = choice.condition()
    counted = snapshot.row(
        f"SELECT count(*) AS found FROM {fleet_source(snapshot)} WHERE {condition}", given
    )
    return counted["found"] if counted else 0


def as_of_of(snapshot: Snapshot) -> datetime | None:
    """Up to when windows were made, None in a fleet without sites."""
    row = snapshot.row("SELECT max(as_of) AS as_of FROM site_health")
    return row["as_of"] if row else None


@dataclass(frozen=True, slots=True)
class Lately:
    """A site's last seven days: the lowest smoothed score of each stretch of four hours, oldest
    first, None where there is none; and when a window of each band last ended.
    """

    spark: list[float | None]
    band_ends: dict[str, datetime]

    def band_since(self, band: str) -> datetime | None:
        """Since when the site has been in this band; None when for longer than seven days."""
        return max((end for other, end in self.band_ends.items() if other != band), default=None)


def lately(snapshot: Snapshot, sites: Sequence[str], as_of: datetime | None) -> dict[str, Lately]:
    """The last seven days of some sites."""
    if not sites or as_of is None:
        return {}
    stretches = SPARK_DAYS * 24 // SPARK_HOURS
    start = as_of - timedelta(days=SPARK_DAYS)
    found = snapshot.rows(
        f"""
        SELECT
            site,
            least(
                date_diff('second', ?::TIMESTAMP, window_start) // {SPARK_HOURS * 3600},
                {stretches - 1}
            ) AS place,
            band,
            min(smoothed_score) AS score,
            max(window_end) AS band_end,
            max(window_minutes) AS window_minutes
        FROM site_scores
        WHERE
            window_start >= ?
            AND site IN ({", ".join("?" * len(sites))})
            AND config_version = ?
        GROUP BY site, place, band
        ORDER BY site, place
        """,
        [start, start, *sites, version_of(snapshot)],
    )
    known = {site: Lately([None] * stretches, {}) for site in sites}
    for row in found:
        site = known[row["site"]]
        end = site.band_ends.get(row["band"])
        site.band_ends[row["band"]] = max(end, row["band_end"]) if end else row["band_end"]
        # A long window's score holds for all of its stretches.
        length = max(1, (row["window_minutes"] or 0) // (SPARK_HOURS * 60))
        for place in range(row["place"], min(row["place"] + length, stretches)):
            scores = (site.spark[place], row["score"])
            site.spark[place] = min((score for score in scores if score is not None), default=None)
    return known


def add_lately(snapshot: Snapshot, rows: Sequence[Row]) -> None:
    """Give each row of the fleet its ``spark`` and ``band_since``."""
    known = lately(snapshot, [row["site"] for row in rows], as_of_of(snapshot))
    for row in rows:
        site = known.get(row["site"])
        row["spark"] = site.spark if site else []
        row["band_since"] = site.band_since(row["band"]) if site else None


def version_of(snapshot: Snapshot) -> str | None:
    """The numbers in force, looked up first: as a constant they let DuckDB skip what is older."""
    row = snapshot.row("SELECT max(config_version) AS version FROM site_health")
    return row["version"] if row else None


def band_counts(snapshot: Snapshot) -> dict[str, int]:
    found = snapshot.rows("SELECT band, count(*) AS sites FROM site_health GROUP BY band")
    return {row["band"]: row["sites"] for row in found}


def owners(snapshot: Snapshot) -> list[str]:
    found = snapshot.rows(
        "SELECT DISTINCT owner FROM site_health WHERE owner IS NOT NULL ORDER BY owner"
    )
    return [row["owner"] for row in found]


def switched_off(snapshot: Snapshot) -> dict[str, Any]:
    """What is not crawled as it normally is: counts by state, and the newest such sites."""
    source = fleet_source(snapshot)
    counts = snapshot.row(
        f"""
        SELECT
            count(*) FILTER (state = 'paused') AS paused,
            count(*) FILTER (state = 'slowed') AS slowed,
            count(*) FILTER (state = 'stopped') AS stopped,
            count(*) FILTER (is_overridden) AS overridden,
            count(*) FILTER (state <> 'active' OR is_overridden) AS sites,
            min(since) FILTER (state IN ('paused', 'stopped')) AS oldest_halt_at
        FROM {source}
        """
    )
    named = snapshot.rows(
        f"""
        SELECT site, state, step, since, reasons, is_held, is_observed, band
        FROM {source}
        WHERE state <> 'active' OR is_overridden
        ORDER BY {STATE_RANK}, since DESC NULLS LAST, site
        LIMIT {NAMED}
        """
    )
    return {"counts": counts or {}, "named": named}


def every_site(snapshot: Snapshot, choice: Choice) -> list[Row]:
    """All rows that the choice finds, without sparklines."""
    condition, given = choice.condition()
    return snapshot.rows(
        f"SELECT * FROM {fleet_source(snapshot)} WHERE {condition} ORDER BY {choice.order()}",
        given,
    )
