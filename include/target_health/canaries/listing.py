"""What canaries there are, and what each said last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from target_health.canaries import storage
from target_health.canaries.people import known_sites
from target_health.canaries.recording import Setup
from target_health.canaries.records import CRAWLER
from target_health.canaries.states import PageState
from target_health.canaries.watches import watches
from target_health.config import Configuration
from target_health.config.sources import load_sources
from target_health.landing.redact import Redaction
from target_health.paths import Home
from target_health.warehouse.published import open_published
from target_health.warehouse.tables import table_exists


def listed(
    home: Home, configuration: Configuration, sites: Sequence[str] | None = None
) -> list[dict[str, Any]]:
    """Every canary through each of its routes, with what it said last, from the published copy."""
    setup = Setup.of(configuration)
    chosen = None if sites is None else set(known_sites(setup.canaries, configuration.sites, sites))
    states: Mapping[Any, PageState] = {}
    if home.published.exists():
        with open_published(home) as published:
            if table_exists(published, "canary_states"):
                states = storage.load_states(published)
    wanted = [(one.site, one.page, one.route) for one in watches(setup.canaries, setup.routes)]
    wanted += [
        (site, page, CRAWLER)
        for site, page in setup.canaries.pages()
        if page.fetched_by == "crawler" or (site, page.id, CRAWLER) in states
    ]
    redaction = Redaction(load_sources(configuration.directory).redact_parameters)
    rows = []
    for site, page, route in wanted:
        if chosen is not None and site not in chosen:
            continue
        state = states.get((site, page.id, route))
        rows.append(
            {
                "site": site,
                "page": page.id,
                "url": redaction.text(page.url),
                "route": route,
                "checks": [check.label for check in page.checks],
                "missing": page.missing,
                "outcome": state.newest_outcome if state else None,
                "observed_at": state.newest_at if state else None,
                "last_good_at": state.last_good_at if state else None,
                "wrong_runs": state.wrong_runs if state else 0,
                "detail": state.newest_detail if state else "",
            }
        )
    return rows
