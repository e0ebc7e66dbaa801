"""A piece's memory is its own, whatever the process that asked for it holds."""

from __future__ import annotations

from typing import Any

from target_health.benchmarks.measuring import (
    Measured,
    highest_peak,
    interleaved,
    measure,
    typical,
)

MB = 1_000_000


def hold(size_bytes: int) -> dict[str, Any]:
    """A piece that touches so much memory."""
    held = bytearray(size_bytes)
    held[::4096] = b"x" * len(held[::4096])
    return {"held": len(held)}


def test_peak_memory_is_the_pieces_own() -> None:
    ours = hold(1)
    ballast = bytearray(b"x") * (400 * MB)
    small = measure(hold, size_bytes=1 * MB)
    large = measure(hold, size_bytes=200 * MB)
    assert (small.report, large.report) == ({"held": 1 * MB}, {"held": 200 * MB})
    assert small.peak_bytes < 200 * MB <= large.peak_bytes
    assert large.peak_bytes - small.peak_bytes < 250 * MB
    assert ours
    assert ballast


def test_pieces_take_turns_and_the_best_run_counts() -> None:
    turns: list[str] = []

    def piece(name: str, *seconds: float) -> Any:
        left = iter(seconds)

        def run() -> Measured:
            turns.append(name)
            value = next(left)
            return Measured(value, value, int(value * 10), {})

        return run

    first, second = interleaved(3, piece("a", 3.0, 2.0, 9.0), piece("b", 5.0, 7.0, 6.0))
    assert turns == ["a", "b"] * 3
    assert typical(first).seconds == 3.0
    assert typical(second).seconds == 6.0
    assert highest_peak(second) == 70
