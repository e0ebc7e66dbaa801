"""A site's history by column, as the charts take it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from target_health.dashboard import site as sites
from target_health.dashboard.database import Row, Snapshot

SCORE_COLUMNS = (
    "window_start",
    "window_end",
    "score",
    "smoothed_score",
    "band",
    "hard_block_rate",
    "base_hard_block_rate",
    "challenge_rate",
    "base_challenge_rate",
    "soft_block_rate",
    "base_soft_block_rate",
    "p95_latency_ms",
    "base_p95_latency_ms",
)
# More points than a screen has pixels say nothing more: longer spans are drawn in stretches.
MOST_POINTS = 1500


def history(snapshot: Snapshot, span: sites.Span) -> dict[str, Any]:
    """Scores and windows by column, actions and incidents as rows, all within the span."""
    verdicts = sites.verdict_columns()
    # Named, so that of a large table no more columns are read than are drawn.
    scores = sites.scores(snapshot, span, ", ".join(SCORE_COLUMNS))
    windows = sites.windows(
        snapshot, span, ", ".join(("window_start", "window_end", *verdicts.values()))
    )
    return {
        "site": span.site,
        "start": span.start,
        "end": span.end,
        "scores": by_column(thinned(scores), SCORE_COLUMNS),
        "bands": band_spells(scores),
        "verdicts": bars(summed(windows, tuple(verdicts.values())), tuple(verdicts.values())),
        "actions": sites.actions(snapshot, span),
        "incidents": sites.incidents(snapshot, span) or [],
    }


def by_column(rows: Sequence[Row], names: Any) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in dict.fromkeys(("window_start", *names))}


def bars(rows: Sequence[Row], counts: Sequence[str]) -> dict[str, list[Any]]:
    """Counts by column, with the length of what each row counts."""
    lengths = [
        (row["window_end"] - row["window_start"]) // timedelta(milliseconds=1) for row in rows
    ]
    return {"length_ms": lengths, **by_column(rows, counts)}


def thinned(scores: Sequence[Row]) -> list[Row]:
    """The lowest score of each stretch, where there are too many to draw."""
    size = -(-len(scores) // MOST_POINTS)
    if size <= 1:
        return list(scores)
    stretches = (scores[place : place + size] for place in range(0, len(scores), size))
    return [min(stretch, key=lowest) for stretch in stretches]


def lowest(row: Row) -> float:
    return 101.0 if row["score"] is None else float(row["score"])


def summed(windows: Sequence[Row], counts: Sequence[str]) -> list[Row]:
    """Counts of neighbouring windows together, so that few enough bars are drawn."""
    size = -(-len(windows) // (MOST_POINTS // 10))
    if size <= 1:
        return list(windows)
    stretches = (windows[place : place + size] for place in range(0, len(windows), size))
    return [
        {
            "window_start": stretch[0]["window_start"],
            "window_end": stretch[-1]["window_end"],
            **{name: sum(row[name] for row in stretch) for name in counts},
        }
        for stretch in stretches
    ]


def band_spells(scores: Sequence[Row]) -> list[Row]:
    """Stretches of one band outside healthy, oldest first."""
    spells: list[Row] = []
    for row in scores:
        last = spells[-1] if spells else None
        if last and last["band"] == row["band"] and last["end"] == row["window_start"]:
            last["end"] = row["window_end"]
        else:
            spells.append(
                {"band": row["band"], "start": row["window_start"], "end": row["window_end"]}
            )
    return [spell for spell in spells if spell["band"] != "healthy"]
