"""The crawler's side of the control file: what each site says, and requests kept meanwhile."""

from target_health.crawl_control.deferred import DeferredRequests
from target_health.crawl_control.follower import ControlFollower
from target_health.crawl_control.orders import NORMAL, Order, parse_orders
from target_health.crawl_control.site_rule import SiteRule

__all__ = ["NORMAL", "ControlFollower", "DeferredRequests", "Order", "SiteRule", "parse_orders"]
