"""Which pages are watched through which routes."""

from __future__ import annotations

from collections.abc import Iterable

from target_health.canaries.records import Watch
from target_health.config.canaries import Canaries
from target_health.config.routes import Routes
from target_health.errors import ConfigurationError


def watches(
    canaries: Canaries,
    routes: Routes,
    *,
    sites: Iterable[str] | None = None,
    pages: Iterable[str] | None = None,
    stopped: frozenset[str] = frozenset(),
) -> list[Watch]:
    """Every page that we fetch, through each of its routes; ``stopped`` sites are left alone.

    Raises ``ConfigurationError`` for a route that ``routes.yaml`` does not have.
    """
    wanted_sites = None if sites is None else set(sites)
    wanted_pages = None if pages is None else set(pages)
    found: list[Watch] = []
    for site, page in canaries.pages():
        names = page.routes or canaries.sites[site].routes or (routes.route_of(site),)
        for name in names:
            if name not in routes.routes:
                raise ConfigurationError(
                    f"canaries.yaml: sites.{site}: {page.id}: {name!r} is no route of "
                    f"routes.yaml; there are {', '.join(routes.routes)}"
                )
        if page.fetched_by == "crawler" or site in stopped:
            continue
        if wanted_sites is not None and site not in wanted_sites:
            continue
        if wanted_pages is not None and page.id not in wanted_pages:
            continue
        found += [
            Watch(site, page, name, is_production=place == 0) for place, name in enumerate(names)
        ]
    return found
