"""The Scrapy add-on: every attempt becomes a row of the crawl log, and the control is obeyed.

In a project's or spider's settings::

    ADDONS = {"target_health.scrapy.TargetHealth": 500}
    TARGET_HEALTH_HOME = "/srv/target-health"
"""

from target_health.scrapy.addon import TargetHealth

__all__ = ["TargetHealth"]
