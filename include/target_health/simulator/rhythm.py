"""When a site is crawled, and when its nights are: pure functions of time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import numpy as np

WINDOW_MS = 15 * 60 * 1000
HOUR_MS = 4 * WINDOW_MS
DAY_MS = 24 * HOUR_MS
EVERY_HOUR = tuple(range(24))


def epoch_ms(moment: datetime) -> int:
    """Milliseconds since 1970 of a naive UTC time."""
    return int(np.datetime64(moment, "ms").astype(np.int64))


def window_starts(start: datetime, end: datetime) -> np.ndarray:
    """Starts of the 15-minute windows that touch [start, end), ``int64`` epoch ms."""
    first = epoch_ms(start) // WINDOW_MS * WINDOW_MS
    return np.arange(first, epoch_ms(end), WINDOW_MS)


@dataclass(frozen=True, slots=True)
class Rhythm:
    """A site's daily and weekly rhythm; hours are UTC clock hours.

    ``fetches_per_hour`` is the mean over the hours in which the site is crawled. ``swing`` 0–1 is
    how far peak and trough stray from it, ``weekend`` the factor of Saturday and Sunday, and
    ``slow_night`` how much slower it answers at the depth of its night (0.5: half as long
    again). A bursty site is crawled for ``burst_hours`` from ``burst_at`` on, every
    ``burst_every_hours``.
    """

    fetches_per_hour: float
    active_hours: tuple[int, ...] = EVERY_HOUR
    peak_hour: float = 14.0
    swing: float = 0.5
    weekend: float = 1.0
    night_hour: float = 3.0
    slow_night: float = 0.4
    since: datetime | None = None
    burst_at: datetime | None = None
    burst_every_hours: int = 0
    burst_hours: int = 0

    def expected_fetches(self, window_starts: np.ndarray) -> np.ndarray:
        """Expected fetches of 15-minute windows, given by their starts (``int64`` epoch ms)."""
        quarters = np.arange(96) / 4
        is_active = np.isin(quarters.astype(int), self.active_hours)
        shape = is_active * self._daily_shape(quarters + 0.125)
        shape /= shape.sum() / is_active.sum()
        fetches = shape[window_starts % DAY_MS // WINDOW_MS]
        # 1970-01-01 was a Thursday.
        is_weekend = (window_starts // DAY_MS + 3) % 7 >= 5
        fetches *= np.where(is_weekend, self.weekend, 1.0) / ((5 + 2 * self.weekend) / 7)
        if self.since is not None:
            fetches *= window_starts >= epoch_ms(self.since)
        if self.burst_at is not None:
            since_burst = (window_starts - epoch_ms(self.burst_at)) % (
                self.burst_every_hours * HOUR_MS
            )
            fetches *= since_burst < self.burst_hours * HOUR_MS
        return fetches * self.fetches_per_hour * WINDOW_MS / HOUR_MS

    def latency_factor(self, window_starts: np.ndarray) -> np.ndarray:
        """How much longer than by day an answer takes."""
        angle = 2 * np.pi * ((window_starts % DAY_MS) / HOUR_MS - self.night_hour) / 24
        return 1.0 + self.slow_night * np.clip(np.cos(angle), 0, None) ** 2

    def _daily_shape(self, hour: np.ndarray) -> np.ndarray:
        return 1.0 + self.swing * np.cos(2 * np.pi * (hour - self.peak_hour) / 24)
