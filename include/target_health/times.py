"""Times as users write them: ISO 8601, in UTC unless they say otherwise.

Inside the project a time is a naive ``datetime`` in UTC, as DuckDB's ``TIMESTAMP`` is.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from target_health.errors import UsageError

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


def utc_now() -> datetime:
    """The clock, as naive UTC."""
    return datetime.now(UTC).replace(tzinfo=None)


def to_utc(moment: datetime) -> datetime:
    """Naive UTC from an aware time; a naive one is UTC already."""
    return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment


def parse_time(text: str, name: str = "time") -> datetime:
    """Naive UTC from ISO 8601 text; ``UsageError`` names the argument when it is none."""
    try:
        return to_utc(datetime.fromisoformat(text.strip()))
    except ValueError:
        raise UsageError(
            f"{name}: {text!r} is not an ISO 8601 time, e.g. 2026-01-31T14:00Z"
        ) from None


def iso(moment: datetime) -> str:
    """ISO 8601 with a ``Z``, to the second unless there is a fraction."""
    return moment.isoformat() + "Z"


def stamp(moment: datetime) -> str:
    """``iso`` for people: without a fraction."""
    return iso(moment.replace(microsecond=0))


def floor_hour(moment: datetime) -> datetime:
    return moment.replace(minute=0, second=0, microsecond=0)


def floor_day(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def ceil_hour(moment: datetime) -> datetime:
    floor = floor_hour(moment)
    return floor if floor == moment else floor + HOUR
