"""The add-on that switches all parts on."""

from __future__ import annotations

from scrapy.exceptions import NotConfigured
from scrapy.settings import BaseSettings

from target_health.crawl_control.places import Places
from target_health.errors import UsageError

#: Before every middleware that acts for a request, robots.txt and off-site checks among them.
GATE_ORDER = 10
#: Beside the downloader, so that every attempt passes: retries, redirects, and none from a cache.
ATTEMPTS_ORDER = 990
#: Beside the spider, so that items are seen as extraction brought them.
ITEMS_ORDER = 1100


class TargetHealth:
    """Set ``TARGET_HEALTH_HOME``, or ``TARGET_HEALTH_INBOX`` and ``TARGET_HEALTH_CONTROL``."""

    def update_settings(self, settings: BaseSettings) -> None:
        """Add the parts. Raises ``NotConfigured``, so the crawl goes on without them."""
        if not settings.getbool("TARGET_HEALTH_ENABLED", True):
            raise NotConfigured("TARGET_HEALTH_ENABLED is off")
        try:
            Places.of(settings.get, "crawler")
        except UsageError as problem:
            raise NotConfigured(str(problem)) from None
        for name, component, order in (
            ("DOWNLOADER_MIDDLEWARES", "target_health.scrapy.gate.Gate", GATE_ORDER),
            ("DOWNLOADER_MIDDLEWARES", "target_health.scrapy.attempts.Attempts", ATTEMPTS_ORDER),
            ("SPIDER_MIDDLEWARES", "target_health.scrapy.items.Items", ITEMS_ORDER),
        ):
            settings.setdefault_in_component_priority_dict(name, _loaded(component), order)


def _loaded(path: str) -> type:
    from scrapy.utils.misc import load_object

    component: type = load_object(path)
    return component
