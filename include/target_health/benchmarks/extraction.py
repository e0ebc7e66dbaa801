"""Items validated and counted back, against Great Expectations alone on the same frames."""

from __future__ import annotations

from statistics import median

from target_health.benchmarks.extraction_pieces import (
    EXPECTATIONS,
    count_plainly,
    great_expectations_alone,
    validate_and_count,
)
from target_health.benchmarks.measuring import Measured, interleaved, measure
from target_health.benchmarks.results import Result, at_most, within
from target_health.benchmarks.workbench import Workbench
from target_health.errors import TargetHealthError

RATIO_TARGET, SECONDS_TARGET, MEMORY_TARGET_GB = 2.0, 60.0, 2.0
GB = 1e9


def extraction(bench: Workbench) -> list[Result]:
    """Three page types of twelve expectations; seconds are those of validating and counting."""
    items = bench.scale.items
    bench.progress(f"validating 3 × {items:,} items by {EXPECTATIONS} expectations each")
    expected = measure(count_plainly, items=items).report["failed"]

    def ours() -> Measured:
        done = measure(validate_and_count, items=items)
        if done.report["failed"] != expected:
            raise TargetHealthError(f"counted {done.report['failed']} failures, not {expected}")
        bench.progress(
            f"validated and counted back in {done.report['seconds']:.1f} s, after "
            f"{done.report['reading_seconds']:.1f} s of reading the items "
            f"({done.peak_bytes / GB:.2f} GB)"
        )
        return done

    def floor() -> Measured:
        return measure(great_expectations_alone, items=items)

    runs, floors = interleaved(bench.scale.repeats, ours, floor)
    seconds = median(run.report["seconds"] for run in runs)
    alone = median(run.report["seconds"] for run in floors)
    whole = median(run.report["seconds"] + run.report["reading_seconds"] for run in runs)
    peak = max(run.peak_bytes for run in runs)
    return [
        within("extraction", seconds, floor=alone, target=RATIO_TARGET),
        at_most("extraction_seconds", whole, "s", target=SECONDS_TARGET),
        at_most("extraction_memory", peak / GB, "GB", target=MEMORY_TARGET_GB),
    ]
