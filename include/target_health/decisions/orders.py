"""What a state means for a crawler: factors, and absolute numbers where the normal is known."""

from __future__ import annotations

import math
from dataclasses import dataclass

from target_health.decisions.records import StateName


@dataclass(frozen=True, slots=True)
class Orders:
    """Factors on the normal (concurrency at most 1, revisit at least 1) and what they come to."""

    concurrency_factor: float
    revisit_factor: float
    concurrency: int | None
    revisit_interval_s: float | None


def orders(
    state: StateName,
    step: int,
    normal_concurrency: int | None = None,
    normal_revisit_interval_s: float | None = None,
) -> Orders:
    """Each step halves concurrency and doubles the revisit interval; a halted site gets none.

    A site that is crawled at all keeps a concurrency of at least one.
    """
    halted = state in ("paused", "stopped")
    factor = 0.0 if halted else 0.5**step
    concurrency = None
    if normal_concurrency is not None:
        concurrency = 0 if halted else max(1, math.floor(normal_concurrency * factor))
    revisit_factor = 2.0**step
    interval = normal_revisit_interval_s
    return Orders(
        concurrency_factor=factor,
        revisit_factor=revisit_factor,
        concurrency=concurrency,
        revisit_interval_s=None if interval is None else interval * revisit_factor,
    )
