"""Pages and digests: who is told what, through Apprise, and whether it reached them."""

from target_health.paging.records import Page, PagingReport, Target
from target_health.paging.steps import page_people
from target_health.paging.targets import configured_targets, targets_in

__all__ = [
    "Page",
    "PagingReport",
    "Target",
    "configured_targets",
    "page_people",
    "targets_in",
]
