"""The site of a URL, as landing tells it, without what only landing needs."""

from __future__ import annotations

import ipaddress
import logging
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit

from target_health.site_names import normal_host

logger = logging.getLogger(__name__)

#: Hosts whose site is remembered; a broad crawl meets millions.
REMEMBERED = 50_000


class SiteRule:
    """Sites of hosts: ``sites.yaml`` of a configuration directory, or the plain rule without one.

    A configuration that cannot be read is warned of, and the plain rule holds: the site is the
    host, lower case, without ``www.``.
    """

    def __init__(self, configuration: Path | None = None) -> None:
        self._site_of: Callable[[str], str] = str
        if configuration is not None:
            # Only who maps hosts pays for reading the configuration.
            from target_health.config.files import with_defaults
            from target_health.config.sites import load_sites

            try:
                numbers = with_defaults("scoring.yaml", configuration)
                self._site_of = load_sites(configuration, numbers).site_of
            except Exception as problem:
                logger.warning("each host is a site of its own: %s", problem)
        self.of_host = lru_cache(REMEMBERED)(self._of_host)

    def of_url(self, url: str) -> str:
        """The site of a URL; empty where it has no host."""
        with suppress(ValueError):
            return self.of_host(urlsplit(url).hostname or "")
        return ""

    def _of_host(self, host: str) -> str:
        """The site of a host as ``urlsplit`` gives it (IPv6 without brackets)."""
        if ":" in host:
            with suppress(ValueError):
                host = f"[{ipaddress.IPv6Address(host.partition('%')[0]).compressed}]"
        return self._site_of(normal_host(host))
