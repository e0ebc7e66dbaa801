"""Which other numbers are worth a try: close to today's, weights that sum to 100."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from target_health.config.scoring import Scoring

SIGNALS = ("hard_block", "challenge", "soft_block", "latency")
WEIGHT_STEP, MOST_STEPS = 5, 2
# Thresholds, and by how much each is moved, one at a time.
THRESHOLDS: tuple[tuple[str, float], ...] = (
    ("healthy_from", 5),
    ("degraded_from", 5),
    ("full_rate_rise", 0.05),
    ("pause_below_served_share", 0.1),
)


def candidates(today: Scoring, number: int, *, any_weights: bool = False) -> list[Scoring]:
    """At most ``number`` sets of numbers other than today's: moved thresholds, then other weights.

    Hard and soft blocks weigh at least as much as the other signals, unless ``any_weights``.
    """
    tried = [*threshold_choices(today), *weight_choices(today, any_weights=any_weights)]
    return tried[:number]


def threshold_choices(today: Scoring) -> Iterator[Scoring]:
    """Today's numbers with one threshold moved, where that is allowed."""
    for (name, step), sign in product(THRESHOLDS, (1, -1)):
        value = getattr(today, name)
        if value is not None:
            made = with_numbers(today, {name: round(value + sign * step, 6)})
            if made is not None:
                yield made


def weight_choices(today: Scoring, *, any_weights: bool = False) -> list[Scoring]:
    """Today's numbers with other weights, at least 0 and together 100, the nearest first."""
    now = [getattr(today.weights, signal) for signal in SIGNALS]
    steps = [WEIGHT_STEP * step for step in range(-MOST_STEPS, MOST_STEPS + 1)]
    found: list[tuple[float, tuple[float, ...]]] = []
    for moves in product(steps, repeat=len(SIGNALS)):
        weights = tuple(weight + move for weight, move in zip(now, moves, strict=True))
        if min(weights) < 0 or sum(weights) != 100 or weights == tuple(now):
            continue
        hard, challenge, soft, latency = weights
        if any_weights or min(hard, soft) >= max(challenge, latency):
            found.append((sum(map(abs, moves)), weights))
    made = (
        with_numbers(today, {"weights": dict(zip(SIGNALS, weights, strict=True))})
        for _, weights in sorted(found)
    )
    return [one for one in made if one is not None]


def with_numbers(today: Scoring, numbers: dict[str, object]) -> Scoring | None:
    """Today's numbers with some of them exchanged; None where that is not allowed."""
    try:
        return Scoring.model_validate({**today.model_dump(), **numbers})
    except ValueError:
        return None


def both(one: Scoring, other: Scoring, today: Scoring) -> Scoring | None:
    """What either changes of today's numbers; of what both change, the first's."""
    changed = {**changes(other, today), **changes(one, today)}
    return with_numbers(today, changed)


def changes(made: Scoring, today: Scoring) -> dict[str, object]:
    """The keys that differ from today's, with their new values."""
    before, after = today.model_dump(), made.model_dump()
    return {key: value for key, value in after.items() if value != before[key]}
