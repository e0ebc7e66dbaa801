"""The arithmetic of a score, signal by signal, as the command line and the dashboard show it."""

from __future__ import annotations

from typing import Any

from target_health.config import Configuration
from target_health.config.scoring import Scoring


def arithmetic(row: dict[str, Any], configuration: Configuration) -> list[dict[str, Any]]:
    """Each signal's points: now, own normal, weight, and the sum as text."""
    if row["score"] is None:
        return []
    scoring = configuration.scoring_of(row["site"])
    signals = ("hard_block", "challenge", "soft_block")
    parts = [rate_part(row, signal, scoring) for signal in signals]
    return [*parts, latency_part(row, scoring)]


def rate_part(row: dict[str, Any], signal: str, scoring: Scoring) -> dict[str, Any]:
    now, base = row[f"{signal}_rate"], row[f"base_{signal}_rate"]
    points, weight = row[f"{signal}_penalty"], getattr(scoring.weights, signal)
    return {
        "signal": signal,
        "now": now,
        "base": base,
        "weight": weight,
        "points": points,
        "text": f"{signal:<10} {weight:g} x min(1, max(0, ({now:.4f} - {base:.4f}) / "
        f"{scoring.full_rate_rise:g})) = {points:.3f}",
    }


def latency_part(row: dict[str, Any], scoring: Scoring) -> dict[str, Any]:
    now, base, points = row["p95_latency_ms"], row["base_p95_latency_ms"], row["latency_penalty"]
    weight = scoring.weights.latency
    if now is None or base is None:
        text = f"{'latency':<10} no p95 now or in the baseline = {points:.3f}"
    else:
        text = (
            f"{'latency':<10} {weight:g} x min(1, max(0, ({now:.1f} ms / {max(base, 1):.1f} ms - 1)"
            f" / {scoring.full_latency_factor - 1:g})) = {points:.3f}"
        )
    return {
        "signal": "latency",
        "now": now,
        "base": base,
        "weight": weight,
        "points": points,
        "text": text,
    }
