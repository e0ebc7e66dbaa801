"""Parser health's evidence: the items of delivered pages, validated by Great Expectations.

``suites`` reads what a page type's items must be; ``step`` validates the items of windows that have
no checks yet, and counts failing ones back to site, window, field and expectation. Only
``validation`` and ``data_docs`` import Great Expectations, when there is something to validate;
``step`` imports pandas, so whoever validates nothing leaves it alone.
"""

from target_health.extraction.report import ExtractionReport

__all__ = ["ExtractionReport"]
