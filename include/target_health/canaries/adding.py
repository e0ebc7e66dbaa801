"""A new canary, proposed from what its URL answers now."""

from __future__ import annotations

import json
from typing import Any

from target_health.canaries.fetching import RouteSession, fetch
from target_health.canaries.outcomes import LOGIN, observe, told_answer
from target_health.canaries.proposals import page_id_of, propose
from target_health.canaries.recording import Setup
from target_health.canaries.records import Known, Observation, Watch
from target_health.canaries.ways import open_ways
from target_health.config import Configuration
from target_health.config.canaries import CanaryPage
from target_health.config.sites import normal_host
from target_health.errors import TargetHealthError, UsageError
from target_health.landing.hosts import host_of
from target_health.pages.markers import active_markers
from target_health.times import utc_now


def propose_entry(
    configuration: Configuration,
    url: str,
    *,
    route: str | None = None,
    missing: bool = False,
) -> tuple[str, dict[str, Any], Observation]:
    """A page's entry for ``canaries.yaml``, proposed from what its URL answers now.

    Returns the site, the entry, and what was seen. Raises ``UsageError`` for what is no URL, and
    ``TargetHealthError`` when the page does not come: of a refusal nothing can be learned.
    """
    host = host_of(url)
    if host is None or not url.startswith(("http://", "https://")):
        raise UsageError(f"{url}: is no URL that begins with http:// or https://")
    site = configuration.sites.site_of(normal_host(host))
    setup = Setup.of(configuration)
    name = route or setup.routes.route_of(site)
    way = open_ways(setup.routes, [name])[name]
    fetching = setup.canaries.fetching
    session = RouteSession(way, fetching.max_redirects)
    answer = fetch(
        session,
        url,
        timeout_s=way.route.timeout_s or fetching.timeout_s,
        max_bytes=fetching.max_bytes,
    )
    entry = setup.canaries.sites.get(site)
    page_id = page_id_of(url, {page.id for page in entry.pages} if entry else set())
    watched = CanaryPage(id=page_id, url=url, missing=True)
    seen = observe(
        Watch(site, watched, name, is_production=True),
        answer,
        Known(),
        active_markers(configuration.directory),
        observed_at=utc_now(),
        structure_share=setup.canaries.rules.structure_share,
    )
    came = seen.verdict in ("ok", "paywalled") and LOGIN not in seen.evidence
    if not came and not (missing and seen.outcome == "pass"):
        told = way.without_secrets(told_answer(seen.verdict, answer))
        raise TargetHealthError(f"{url}: the page did not come through {name}: {told}")
    page: dict[str, Any] = {"id": page_id, "url": seen.final_url or url}
    if missing:
        page |= {"url": url, "missing": True}
    else:
        page["checks"] = propose(answer)
    text = way.without_secrets(json.dumps(page, ensure_ascii=False))
    return site, json.loads(text), seen
