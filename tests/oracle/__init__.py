"""An independent oracle for verdicts, windows, routes, baselines, scores, bands and owners.

Plain, slow Python written from DESIGN sections 4 to 7 alone, without a look at the SQL models: it
exists so that the models can be compared with something that was not derived from them. Where the
text leaves a choice, the choice and its alternative stand in a comment that begins with
``AMBIGUOUS:``.

Times are naive ``datetime`` values in UTC. A fetch is a dict with the columns of ``crawl_log``;
a column that is not there counts as null, except ``item``: no ``item`` key means that extraction
was not attempted, ``None`` that it was attempted without result.
"""

from __future__ import annotations

from .baselines import Baseline, baseline_of, baselines, is_flagged
from .numbers import Numbers
from .scores import SCORE_COLUMNS, site_scores
from .verdicts import History, final_verdict, has_value, landing_verdict
from .windows import ROUTE_COLUMNS, WINDOW_COLUMNS, route_windows, site_windows, window_minutes

__all__ = [
    "ROUTE_COLUMNS",
    "SCORE_COLUMNS",
    "WINDOW_COLUMNS",
    "Baseline",
    "History",
    "Numbers",
    "baseline_of",
    "baselines",
    "final_verdict",
    "has_value",
    "is_flagged",
    "landing_verdict",
    "route_windows",
    "site_scores",
    "site_windows",
    "window_minutes",
]
