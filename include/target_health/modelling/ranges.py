"""Ranges of time, in pieces that never cross a UTC midnight.

What judges a window (baselines, flags, page profiles, window lengths) comes from windows at least
a day older. So a SELECT over at most one UTC day finds all of that already in its tables.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass
from datetime import datetime

from target_health.times import DAY, floor_day


@dataclass(frozen=True, slots=True)
class Range:
    """The windows that end in (start, end]."""

    start: datetime
    end: datetime

    def days(self, filled: Container[datetime]) -> Iterator[Range]:
        """The range cut at every UTC midnight, in order: of the days in ``filled`` (midnights)."""
        start = self.start
        while start < self.end:
            end = min(floor_day(start) + DAY, self.end)
            if floor_day(start) in filled:
                yield Range(start, end)
            start = end
