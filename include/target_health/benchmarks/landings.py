"""Landing alone: the memory that a log longer than memory takes, and what gzip costs."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

from target_health.benchmarks.landing_piece import land_inbox, unpack
from target_health.benchmarks.logs import compress, make_long_log
from target_health.benchmarks.measuring import (
    Measured,
    interleaved,
    measure,
    settle,
    typical,
)
from target_health.benchmarks.results import Result, at_most, within
from target_health.benchmarks.workbench import END, Workbench
from target_health.errors import TargetHealthError

MEMORY_TARGET_GB, GZIP_TARGET = 1.5, 1.3
GB = 1e9


def measured_landing(bench: Workbench, log: Path, lines: int, until: datetime) -> Measured:
    """Land a log in a fresh home; raises when not every line became a row."""
    root = bench.home_with(log)
    done = measure(land_inbox, home=str(root), now=until.isoformat())
    if done.report["rows"] != lines:
        raise TargetHealthError(f"{log.name}: of {lines} lines {done.report} landed")
    bench.progress(
        f"landing {log.name}: {done.seconds:.1f} s ({done.processor_seconds:.1f} s of processors, "
        f"{done.peak_bytes / GB:.2f} GB)"
    )
    bench.drop(root)
    return done


def landing_memory(bench: Workbench) -> list[Result]:
    """The most memory that landing a log of many hours holds."""
    # The log, the rows on their way to the lake, and the lake's files.
    bench.need(3 * bench.scale.log_bytes)
    hour = bench.hour_log(bench.scale.fetches)
    log = bench.directory / "long.jsonl"
    bench.progress(f"preparing a log of {bench.scale.log_bytes / GB:.1f} GB")
    lines = make_long_log(hour, END, log, bench.scale.log_bytes)
    settle(log)
    done = measured_landing(bench, log, lines, END + timedelta(days=1))
    bench.drop(log)
    return [at_most("landing_memory", done.peak_bytes / GB, "GB", target=MEMORY_TARGET_GB)]


def gzip_landing(bench: Workbench) -> list[Result]:
    """Landing a compressed hour, against unpacking it and landing it plain."""
    scale = bench.scale
    plain = bench.hour_log(scale.fetches)
    bench.progress("preparing the compressed hour")
    packed = compress(plain)
    settle(packed)
    until = END + timedelta(minutes=5)
    compressed, unpacked, landed = interleaved(
        scale.repeats,
        lambda: measured_landing(bench, packed, scale.fetches, until),
        lambda: measure(unpack, log=str(packed)),
        lambda: measured_landing(bench, plain, scale.fetches, until),
    )
    bench.drop(packed)
    floor = typical(unpacked).seconds + typical(landed).seconds
    return [within("gzip_landing", typical(compressed).seconds, floor=floor, target=GZIP_TARGET)]
