"""Whether a site's decisions are carried out or only recorded."""

from __future__ import annotations

from target_health.config.policy import Mode, Policy
from target_health.config.sites import Sites


def mode_of(policy: Policy, sites: Sites, site: str) -> Mode:
    """The site's own mode from ``sites.yaml``, or the fleet's."""
    return sites.entry(site).mode or policy.mode
