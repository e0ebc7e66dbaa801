"""Alarms judged afterwards: the form, what was filed, and what it says of the numbers."""

from target_health.reviews.filing import Review, file_review, reviews_to_ask
from target_health.reviews.report import ReviewReport, SignalReport, review_report

__all__ = [
    "Review",
    "ReviewReport",
    "SignalReport",
    "file_review",
    "review_report",
    "reviews_to_ask",
]
