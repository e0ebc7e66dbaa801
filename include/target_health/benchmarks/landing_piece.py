"""Landing as a piece: this module imports what landing does, and no more."""

from __future__ import annotations

import subprocess
from datetime import datetime
from pathlib import Path

from target_health.benchmarks.measuring import Report
from target_health.config import load_configuration
from target_health.landing import land
from target_health.paths import SHIPPED_CONFIG, Home


def land_inbox(home: str, now: str) -> Report:
    """Land what lies in a home's inbox."""
    report = land(
        Home(Path(home)),
        now=datetime.fromisoformat(now),
        configuration=load_configuration(SHIPPED_CONFIG),
    )
    return {"rows": report.rows, "skipped": report.skipped, "quarantined": report.quarantined}


def unpack(log: str) -> Report:
    """``zcat`` of a log, to nowhere."""
    with open(log, "rb") as source:
        subprocess.run(["gzip", "-dc"], stdin=source, stdout=subprocess.DEVNULL, check=True)
    return {}
