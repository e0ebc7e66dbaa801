"""A share of a crawler's own concurrency as a pace: how many at once, how long a rest.

One request at a time is the least concurrency; less than that is one with a rest after it.
"""

from __future__ import annotations

from dataclasses import dataclass

#: Of a site from which no answer has been timed yet.
FIRST_LATENCY_S = 1.0
#: Weight of the newest latency in the running mean.
NEWEST = 0.2
#: No smaller share is told apart: a site that is to be asked less is paused.
LEAST_SHARE = 0.01


@dataclass(slots=True)
class Latency:
    """The running mean of a site's latency."""

    mean_s: float = FIRST_LATENCY_S

    def timed(self, latency_s: float) -> None:
        self.mean_s += NEWEST * (latency_s - self.mean_s)


def at_once(share: float) -> int:
    """Requests under way at most."""
    return max(1, int(share))


def rest_s(share: float, latency_s: float) -> float:
    """Seconds from the begin of one request to the next; none where several may be under way."""
    return latency_s / max(share, LEAST_SHARE) if share < 1 else 0.0
