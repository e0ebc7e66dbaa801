"""SQL measures: from the lake to windows, baselines and scores, a range of time at once."""

from target_health.modelling.progress import modelled_until
from target_health.modelling.scores import make_scores
from target_health.modelling.windows import make_windows

__all__ = ["make_scores", "make_windows", "modelled_until"]
