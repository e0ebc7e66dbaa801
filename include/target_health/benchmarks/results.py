"""What a benchmark says: one row a figure."""

from __future__ import annotations

from dataclasses import dataclass

from target_health.errors import TargetHealthError


class Skipped(TargetHealthError):
    """A benchmark cannot be run on this machine; the message says why."""


@dataclass(frozen=True, slots=True)
class Result:
    """One figure.

    ``ratio`` says how many times the floor's time it took; ``target`` bounds the ratio where there
    is a floor and the target is not a rate, else the value. ``holds`` is None without a target.
    A benchmark that was skipped or failed has no ``value``.
    """

    name: str
    value: float | None
    unit: str
    floor: float | None = None
    ratio: float | None = None
    target: float | None = None
    holds: bool | None = None


def within(name: str, seconds: float, *, floor: float, target: float) -> Result:
    """A time that must stay within ``target`` times the floor's."""
    ratio = seconds / floor
    return Result(name, seconds, "s", floor, ratio, target, ratio <= target)


def at_most(name: str, value: float, unit: str, *, target: float) -> Result:
    """A quantity that must not exceed ``target``."""
    return Result(name, value, unit, target=target, holds=value <= target)


def compared(name: str, seconds: float, *, floor: float) -> Result:
    """A time beside the floor's, without a target."""
    return Result(name, seconds, "s", floor, seconds / floor)


def at_rate(
    name: str, rate: float, unit: str, *, floor: float, target: float | None = None
) -> Result:
    """A rate beside the floor's; ``target`` is the least that the rate itself must be."""
    holds = None if target is None else rate >= target
    return Result(name, rate, unit, floor, floor / rate, target, holds)


def unmeasured(name: str, *, failed: bool) -> Result:
    """A figure that there is none of; a failure holds no target."""
    return Result(name, None, "", holds=False if failed else None)
