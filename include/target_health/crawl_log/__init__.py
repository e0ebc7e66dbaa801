"""The crawler's side of the crawl log: rows in, complete files out, whatever happens meanwhile."""

from target_health.crawl_log.log import ABSENT, CrawlLog, Page

__all__ = ["ABSENT", "CrawlLog", "Page"]
