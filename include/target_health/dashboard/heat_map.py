"""Sites × days: the record of each site's attitude."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

from target_health.dashboard.database import Row, Snapshot
from target_health.dashboard.fleet import (
    Choice,
    as_of_of,
    count_sites,
    fleet_source,
    page_count,
    version_of,
)
from target_health.times import floor_day

RANGES = {30: "30 days", 60: "60 days", 90: "90 days", 180: "180 days"}
DEFAULT_DAYS = 60
PAGE_SIZE = 50


@dataclass(frozen=True, slots=True)
class HeatMap:
    """``cells[site][day]`` is the day's lowest smoothed score and worst band; days ascend."""

    days: list[date]
    sites: list[Row]
    cells: dict[str, dict[date, Row]]
    found: int
    choice: Choice

    @property
    def pages(self) -> int:
        return page_count(self.found, self.choice.size)

    def rows(self) -> list[Row]:
        """One row a site and day that has windows."""
        return [
            {"site": site["site"], "day": day, **self.cells[site["site"]][day]}
            for site in self.sites
            for day in self.days
            if day in self.cells.get(site["site"], {})
        ]


def heat_map(snapshot: Snapshot, choice: Choice, days: int) -> HeatMap:
    """The days of one page of sites."""
    source = fleet_source(snapshot)
    condition, given = choice.condition()
    found = count_sites(snapshot, choice)
    choice = choice.within(found)
    sites = snapshot.rows(
        f"SELECT site, band, state, smoothed_score FROM {source} WHERE {condition} "
        f"ORDER BY {choice.order()} {choice.limit()}",
        given,
    )
    as_of = as_of_of(snapshot)
    if as_of is None or not sites:
        return HeatMap([], sites, {}, found, choice)
    # An hour's windows belong to the day in which they end, as midnight's are of the day before.
    last = floor_day(as_of - timedelta(microseconds=1))
    first = last - timedelta(days=days - 1)
    names = [site["site"] for site in sites]
    rows = snapshot.rows(
        f"""
        SELECT
            site,
            window_start::DATE AS day,
            min(smoothed_score) AS score,
            max(list_position(['unscored', 'healthy', 'degraded', 'resisting'], band)) AS rank,
            ['unscored', 'healthy', 'degraded', 'resisting'][rank] AS band
        FROM site_scores
        WHERE
            window_start >= ?
            AND site IN ({", ".join("?" * len(names))})
            AND config_version = ?
        GROUP BY site, day
        """,
        [first, *names, version_of(snapshot)],
    )
    cells: dict[str, dict[date, Row]] = {}
    for row in rows:
        cells.setdefault(row["site"], {})[row["day"]] = {
            "score": row["score"],
            "band": row["band"],
        }
    # Days before anything was crawled say nothing.
    begin = min((row["day"] for row in rows), default=last.date())
    shown = [begin + timedelta(days=place) for place in range((last.date() - begin).days + 1)]
    return HeatMap(shown, sites, cells, found, choice)
