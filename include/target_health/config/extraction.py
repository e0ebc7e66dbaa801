"""``extraction.yaml``: how items are validated."""

from __future__ import annotations

from target_health.config.files import Section
from target_health.config.scoring import Positive, Share


class Extraction(Section):
    """The numbers of ``extraction.yaml``, whole and validated."""

    items_per_run: Positive
    item_megabytes_per_run: Positive
    data_docs_runs_kept: Positive
    draft_usual_share: Share
    always_share: Share
    min_records: Positive
    fields_kept: Positive
