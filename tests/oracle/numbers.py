"""The chosen numbers of the DESIGN, with its defaults."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any


def _weights() -> dict[str, float]:
    return {"hard_block": 35, "challenge": 25, "soft_block": 25, "latency": 15}


@dataclass(frozen=True)
class Numbers:
    """Scoring numbers; ``sites`` maps a site to the fields that it sets for itself.

    Requests are counts, days are days, shares and rates lie in 0..1, ``baseline_from`` is a naive
    UTC time. ``window_minutes`` is a number of minutes or ``'auto'``.
    """

    window_minutes: int | str = "auto"
    min_requests: int = 50
    baseline_days: float = 14
    baseline_gap_days: float = 1
    baseline_max_days: float = 60
    min_baseline_requests: int = 500
    min_baseline_days: int = 3
    pause_below_served_share: float | None = 0.5
    weights: dict[str, float] = field(default_factory=_weights)
    full_rate: float = 0.20
    full_latency_factor: float = 3
    baseline_from: datetime | None = None
    sites: dict[str, dict[str, Any]] = field(default_factory=dict)

    def of(self, site: str) -> Numbers:
        """The numbers that hold for one site."""
        own = dict(self.sites.get(site, {}))
        if "weights" in own:
            own["weights"] = {**self.weights, **own["weights"]}
        return replace(self, sites={}, **own)
