"""Every site's verdict from what stands in the warehouse, with what was collected since."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

import duckdb

from target_health.canaries import storage
from target_health.canaries.records import CRAWLER
from target_health.canaries.states import PageState
from target_health.canaries.verdicts import SiteVerdict, Standing, site_verdict
from target_health.canaries.watches import watches
from target_health.config.canaries import Canaries
from target_health.config.routes import Routes
from target_health.landing.view import lake_sql
from target_health.paths import Home
from target_health.times import floor_hour


def judge(
    connection: duckdb.DuckDBPyConnection, home: Home, canaries: Canaries, routes: Routes
) -> list[SiteVerdict]:
    """Inside a transaction: make ``canary_verdicts`` anew for the sites that have canaries."""
    previous = storage.load_verdicts(connection)
    standings = storage.load_standings(connection)
    by_site: dict[str, list[PageState]] = {}
    for state in configured(storage.load_states(connection).values(), canaries, routes):
        by_site.setdefault(state.site, []).append(state)
    verdicts = []
    for site, states in sorted(by_site.items()):
        verdict = site_verdict(
            site,
            states,
            canaries.rules,
            missing_pages=frozenset(page.id for page in canaries.sites[site].pages if page.missing),
            standing=standings.get(site, Standing()),
            previous=previous.get(site),
        )
        if verdict is not None:
            verdicts.append(with_counts(connection, home, verdict))
    storage.save_verdicts(connection, verdicts)
    return verdicts


def configured(states: Iterable[PageState], canaries: Canaries, routes: Routes) -> list[PageState]:
    """The states of pages and routes that are still watched."""
    current = {
        (one.site, one.page.id, one.route): one.is_production for one in watches(canaries, routes)
    }
    by_crawlers = {(site, page.id) for site, page in canaries.pages()}
    found = []
    for state in states:
        if state.key in current:
            found.append(replace(state, is_production=current[state.key]))
        elif state.route == CRAWLER and (state.site, state.page) in by_crawlers:
            found.append(state)
    return found


def with_counts(
    connection: duckdb.DuckDBPyConnection, home: Home, verdict: SiteVerdict
) -> SiteVerdict:
    """With what was collected since data is suspect; all that is held where nothing was good."""
    if not verdict.deceived:
        return verdict
    records, fetches = collected_since(connection, home, verdict.site, verdict.suspect_since)
    return replace(verdict, records_since=records, fetches_since=fetches)


def collected_since(
    connection: duckdb.DuckDBPyConnection, home: Home, site: str, since: datetime | None
) -> tuple[int, int]:
    """Records and delivered pages of a site's crawl after a time."""
    since = since or datetime(1970, 1, 1)
    paths = connection.execute(
        "SELECT path FROM lake_files WHERE hour_start >= ?", [floor_hour(since)]
    ).fetchall()
    if not paths:
        return 0, 0
    columns = dict.fromkeys(("site", "ts", "verdict", "canary", "item", "has_item_value"), "")
    lake = lake_sql([str(home.root / path) for (path,) in paths], columns)
    row = connection.execute(
        "SELECT coalesce(sum(CASE WHEN NOT coalesce(has_item_value, false) THEN 0"
        " WHEN starts_with(item, '[') THEN json_array_length(item)::BIGINT ELSE 1 END), 0),"
        " count(*) FILTER (verdict = 'ok')"
        f" FROM ({lake}) WHERE site = ? AND ts > ? AND canary IS NULL",
        [site, since],
    ).fetchone()
    records, fetches = row or (0, 0)
    return int(records), int(fetches)
