"""What did the site really serve? One pure function from a response to its verdict."""

from target_health.pages.classify import classify
from target_health.pages.markers import Markers, MarkersError, load_markers, shipped_markers
from target_health.pages.response import NOT_ATTEMPTED, PageVerdict, Response

__all__ = [
    "NOT_ATTEMPTED",
    "Markers",
    "MarkersError",
    "PageVerdict",
    "Response",
    "classify",
    "load_markers",
    "shipped_markers",
]
