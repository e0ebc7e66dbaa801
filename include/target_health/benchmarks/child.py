"""The process of one measured piece: ``python -m target_health.benchmarks.child``."""

from __future__ import annotations

import importlib
import json
import resource
import sys
import time
from pathlib import Path

STATUS = Path("/proc/self/status")


def peak_bytes() -> int:
    """The most memory that this process has held.

    Linux counts what the parent held at the fork into ``ru_maxrss``, but not into ``VmHWM``.
    """
    if STATUS.exists():
        for line in STATUS.read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def main(module: str, name: str, arguments: str, out: str) -> None:
    piece = getattr(importlib.import_module(module), name)
    given = json.loads(arguments)
    began, processor_began = time.perf_counter(), time.process_time()
    report = piece(**given)
    seconds = time.perf_counter() - began
    processor_seconds = time.process_time() - processor_began
    measured = {
        "seconds": seconds,
        "processor_seconds": processor_seconds,
        "peak_bytes": peak_bytes(),
        "report": report,
    }
    Path(out).write_text(json.dumps(measured), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
