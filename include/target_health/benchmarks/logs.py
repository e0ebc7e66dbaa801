"""The logs that are landed: a simulated hour, and longer ones made from it."""

from __future__ import annotations

import gzip
import shutil
from datetime import datetime, timedelta
from pathlib import Path

from target_health.benchmarks.measuring import Report
from target_health.simulator import simulate_hour
from target_health.times import HOUR

SEED = 1
_PART = 16 << 20


def make_hour(out: str, sites: int, fetches: int, end: str) -> Report:
    """The hour before ``end`` of a fleet without troubles, as ``simulate_hour`` makes it."""
    summary = simulate_hour(sites, fetches, Path(out), seed=SEED, end=datetime.fromisoformat(end))
    return {"rows": summary.rows, "bytes": summary.size_bytes}


def make_long_log(hour: Path, end: datetime, out: Path, size_bytes: int) -> int:
    """Repeat an hour's log, each time an hour later, up to a size; returns the lines.

    All lines differ: their times do.
    """
    lines, written, shift = 0, 0, timedelta(0)
    before = f'{{"ts":"{end - HOUR:%Y-%m-%dT%H}:'.encode()
    with out.open("wb") as log:
        while written < size_bytes:
            after = f'{{"ts":"{end - HOUR + shift:%Y-%m-%dT%H}:'.encode()
            with hour.open("rb") as source:
                while written < size_bytes and (part := source.read(_PART)):
                    # Whole lines only, so that no time is cut in two.
                    part += source.readline()
                    log.write(part.replace(before, after))
                    lines += part.count(b"\n")
                    written += len(part)
            shift += HOUR
    return lines


def compress(log: Path) -> Path:
    """The same log as ``gzip`` makes it, beside it."""
    packed = log.with_name(f"{log.name}.gz")
    with log.open("rb") as source, gzip.open(packed, "wb", compresslevel=6) as out:
        shutil.copyfileobj(source, out, _PART)
    return packed
