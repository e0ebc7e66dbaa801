"""Running a piece in a process of its own; its time, its processor time and its peak memory."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from target_health.errors import TargetHealthError

Report = dict[str, Any]
Piece = Callable[..., Report]

EXCEPTION = re.compile(r"[A-Za-z_][\w.]*: ")


@dataclass(frozen=True, slots=True)
class Measured:
    """One run of a piece: seconds of the clock and of processors, peak resident bytes, and what
    the piece itself reports.
    """

    seconds: float
    processor_seconds: float
    peak_bytes: int
    report: Report


def measure(piece: Piece, **arguments: Any) -> Measured:
    """Call ``piece(**arguments)`` in a new Python; only the call counts, not the imports.

    The piece is a function of a module, its arguments and its report are what JSON can say; paths
    are given as text. Raises ``TargetHealthError`` with the piece's last words when it fails.
    """
    with tempfile.TemporaryDirectory(prefix="target-health-bench-") as directory:
        out = Path(directory) / "measured.json"
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "target_health.benchmarks.child",
                piece.__module__,
                piece.__name__,
                json.dumps(arguments),
                str(out),
            ],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0 or not out.exists():
            said = last_words(done.stderr or done.stdout)
            raise TargetHealthError(f"{piece.__name__} ended with status {done.returncode}: {said}")
        return Measured(**json.loads(out.read_text(encoding="utf-8")))


def last_words(output: str) -> str:
    """The exception that ended a Python, without the lines that explain it; else the last line."""
    lines = output.strip().splitlines() or ["it said nothing"]
    return next((line for line in reversed(lines) if EXCEPTION.match(line)), lines[-1])


def settle(place: Path) -> None:
    """Have a file, or a directory's files, written to disk now, so that no piece waits for it."""
    for path in place.rglob("*") if place.is_dir() else (place,):
        if path.is_file() and not path.is_symlink():
            descriptor = os.open(path, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def interleaved(repeats: int, *pieces: Callable[[], Measured]) -> tuple[Sequence[Measured], ...]:
    """Run the pieces in turn, ``repeats`` times; the runs of each piece, in the pieces' order.

    In turn, so that what else the machine does burdens all of them alike.
    """
    runs = [tuple(piece() for piece in pieces) for _ in range(repeats)]
    return tuple(zip(*runs, strict=True))


def typical(runs: Sequence[Measured]) -> Measured:
    """The run in the middle by its time.

    Not the fastest: a short floor meets a quiet moment more often than what is measured by it.
    """
    return sorted(runs, key=lambda run: run.seconds)[len(runs) // 2]


def highest_peak(runs: Sequence[Measured]) -> int:
    """The most memory that any of the runs took, in bytes."""
    return max(run.peak_bytes for run in runs)
