"""What people do with canaries: run them now, keep skeletons, accept what rightly changed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import duckdb

from target_health import job
from target_health.canaries import storage
from target_health.canaries.deceptions import tell_incidents
from target_health.canaries.expectations import expectation_key, new_expectation
from target_health.canaries.missing_answers import learn
from target_health.canaries.outcomes import needs_skeleton
from target_health.canaries.recording import Setup, production_routes
from target_health.canaries.records import Acceptance, Observation
from target_health.canaries.runs import RunReport, look, no_progress, record
from target_health.canaries.states import accepted
from target_health.canaries.verdict_rows import judge
from target_health.canaries.watching import Progress
from target_health.canaries.ways import ProxyOf
from target_health.config import Configuration
from target_health.config.canaries import Canaries, CanaryPage
from target_health.config.sites import Sites, normal_host
from target_health.errors import UsageError
from target_health.paths import Home
from target_health.times import utc_now
from target_health.warehouse import open_writer
from target_health.warehouse.rows import rows_of
from target_health.warehouse.transactions import transaction


def run(
    home: Home,
    configuration: Configuration,
    *,
    sites: Sequence[str] | None = None,
    now: datetime,
    progress: Progress = no_progress,
    connection: ProxyOf | None = None,
) -> RunReport:
    """A whole round now: fetch, record, publish."""
    setup = Setup.of(configuration)
    chosen = None if sites is None else known_sites(setup.canaries, configuration.sites, sites)
    observations = look(
        home, configuration, setup=setup, sites=chosen, progress=progress, connection=connection
    )
    return record(
        home,
        configuration,
        observations,
        f"by hand {now.isoformat()}",
        setup=setup,
        now=utc_now(),
    )


def keep_skeletons(
    home: Home,
    configuration: Configuration,
    *,
    sites: Sequence[str] | None = None,
    page: str | None = None,
    by: str,
    now: datetime,
    progress: Progress = no_progress,
) -> tuple[list[Observation], list[Observation]]:
    """Fetch pages and keep their skeletons for ``structure: unchanged``; a page that must not exist
    has its answer learned. Returns those kept, and those whose page did not come.
    """
    setup = Setup.of(configuration)
    chosen = None if sites is None else known_sites(setup.canaries, configuration.sites, sites)
    if page is not None and chosen:
        page_of(setup.canaries, chosen[0], page)
    production = production_routes(setup)
    observations = [
        seen
        for seen in look(
            home,
            configuration,
            setup=setup,
            sites=chosen,
            pages=None if page is None else [page],
            progress=progress,
        )
        if production.get((seen.site, seen.page)) == seen.route
    ]
    kept = [seen for seen in observations if is_recordable(setup.canaries, seen)]
    with open_writer(home) as connection:
        with transaction(connection):
            for seen in kept:
                if seen.facts.skeleton:
                    storage.add_skeleton(connection, seen, by, now)
            missing = frozenset((one.site, one.page) for one in kept if not one.facts.skeleton)
            learn(connection, home, kept, storage.load_states(connection), missing)
        job.publish(connection, home, configuration, now=now, control=False)
    return kept, [seen for seen in observations if seen not in kept and wants_record(setup, seen)]


def wants_record(setup: Setup, seen: Observation) -> bool:
    page = setup.canaries.page(seen.site, seen.page)
    return page is not None and (page.missing or needs_skeleton(page))


def is_recordable(canaries: Canaries, seen: Observation) -> bool:
    """Whether what came is the page itself."""
    page = canaries.page(seen.site, seen.page)
    if page is None:
        return False
    if page.missing:
        return seen.outcome == "pass"
    return bool(seen.facts.skeleton) and seen.verdict in ("ok", "paywalled")


def accept(
    home: Home,
    configuration: Configuration,
    site: str,
    page: str,
    *,
    by: str,
    why: str,
    now: datetime,
    check: str | None = None,
) -> list[Acceptance]:
    """A person's word that what a page shows now is right: its wrong values become the expected
    ones, what was wrong before counts no more, and the site's verdict changes at once.

    Raises ``UsageError`` for a page or check that is not there, or of which nothing is wrong.
    """
    if not by.strip() or not why.strip():
        raise UsageError("say who accepts and why: --by NAME --why TEXT")
    setup = Setup.of(configuration)
    [site] = known_sites(setup.canaries, configuration.sites, [site])
    entry = page_of(setup.canaries, site, page)
    with open_writer(home) as connection:
        with transaction(connection):
            wrong = newest_wrong(connection, site, page)
            if check is not None:
                wrong = [row for row in wrong if row["check_name"] == check]
            if not wrong:
                what = f"{site} {page}" + (f" {check}" if check else "")
                raise UsageError(f"{what}: its newest values are not wrong: nothing to accept")
            made = [acceptance_of(entry, site, row, by.strip(), why.strip(), now) for row in wrong]
            for one in made:
                storage.add_acceptance(connection, one)
            if check is None or not newest_wrong(connection, site, page):
                states = storage.load_states(connection, [site]).values()
                mine = [state for state in states if state.page == page]
                storage.save_states(connection, [accepted(state, now) for state in mine])
            verdicts = judge(connection, home, setup.canaries, setup.routes)
        tell_incidents(connection, home, configuration, verdicts, now)
        job.publish(connection, home, configuration, now=now, control=False)
    return made


NEWEST_WRONG = """
SELECT * FROM canary_results
WHERE
    site = $site AND page = $page AND is_production AND outcome = 'wrong_value'
    AND observed_at = (
        SELECT max(observed_at) FROM canary_results
        WHERE
            site = $site AND page = $page AND is_production
            AND page_outcome IN ('pass', 'wrong_value', 'missing')
    )
    AND observed_at > coalesce(
        (
            SELECT max(accepted_at) FROM canary_acceptances AS accepted
            WHERE
                accepted.site = $site AND accepted.page = $page
                AND accepted.check_name = canary_results.check_name
        ),
        TIMESTAMP '1970-01-01'
    )
ORDER BY check_name
"""


def newest_wrong(
    connection: duckdb.DuckDBPyConnection, site: str, page: str
) -> list[dict[str, Any]]:
    """The wrong values of a page's newest observation that tells of any."""
    return rows_of(connection, NEWEST_WRONG, {"site": site, "page": page})


def acceptance_of(
    page: CanaryPage, site: str, row: Mapping[str, Any], by: str, why: str, now: datetime
) -> Acceptance:
    name = str(row["check_name"])
    check = next((one for one in page.checks if one.label == name), None)
    where = f"{site} {page.id} {name}"
    if check is None:
        raise UsageError(f"{where}: canaries.yaml has no such check any more; wait for a run")
    if row["value"] is None:
        raise UsageError(f"{where}: there is no value to accept: change canaries.yaml")
    try:
        new = new_expectation(check, json.loads(str(row["value"])))
    except ValueError as problem:
        raise UsageError(f"{where}: {problem}") from None
    return Acceptance(
        site=site,
        page=page.id,
        check=name,
        expectation=expectation_key(check),
        old=str(row["expected"]),
        new=json.dumps(new, ensure_ascii=False),
        accepted_at=now,
        accepted_by=by,
        why=why,
    )


def known_sites(canaries: Canaries, sites: Sites, names: Iterable[str]) -> list[str]:
    """The sites meant by names or hosts; ``UsageError`` for one without canaries."""
    found: list[str] = []
    for name in names:
        host = normal_host(name)
        candidates = (name, host, sites.site_of(host))
        site = next((one for one in candidates if one in canaries.sites), None)
        if site is None:
            there = ", ".join(list(canaries.sites)[:5]) or "no site"
            raise UsageError(f"{name}: has no canaries; canaries.yaml has them for {there}")
        found.append(site)
    return found


def page_of(canaries: Canaries, site: str, page: str) -> CanaryPage:
    entry = canaries.page(site, page)
    if entry is None:
        there = ", ".join(one.id for one in canaries.sites[site].pages)
        raise UsageError(f"{site}: has no canary {page!r}; it has {there}")
    return entry
