"""Landing: what is new in the inbox becomes typed rows of the lake, once and completely."""

from target_health.landing.land import land
from target_health.landing.report import LandingReport
from target_health.landing.try_log import read_log
from target_health.landing.view import crawl_log_view_sql

__all__ = ["LandingReport", "crawl_log_view_sql", "land", "read_log"]
