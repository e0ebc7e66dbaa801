"""The hourly job as a piece: this module imports what the job does, and no more."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

from target_health import job
from target_health.benchmarks.measuring import Report
from target_health.canaries import landed, recording  # noqa: F401  (the job imports them late)
from target_health.config import load_configuration
from target_health.modelling import models, scores, windows
from target_health.paths import SHIPPED_CONFIG, Home
from target_health.times import HOUR, floor_hour, utc_now


def run_hour(home: str, end: str) -> Report:
    """The hourly job as ``target-health run --act`` does it, five minutes after the hour.

    Without validating items, which has figures of its own.
    """
    until = datetime.fromisoformat(end)
    report = job.run(
        Home(Path(home)),
        load_configuration(SHIPPED_CONFIG),
        until - HOUR,
        until,
        now=until + timedelta(minutes=5),
        act=True,
        validate=False,
    )
    return {
        "rows": report.landing.rows if report.landing else 0,
        "quarantined": report.landing.quarantined if report.landing else 0,
        "acted": report.acted,
    }


def run_hour_without(home: str, end: str, left_out: list[str]) -> Report:
    """The same without some models, whose tables then stay empty."""

    def replace_others(connection: Any, name: str, *more: Any) -> None:
        if name not in left_out:
            models.replace_range(connection, name, *more)

    with (
        patch.object(windows, "replace_range", replace_others),
        patch.object(scores, "replace_range", replace_others),
    ):
        return run_hour(home, end)


def run_last_hour(home: str) -> Report:
    """The job of the last complete hour, as the DAG's tasks together do it."""
    now = utc_now()
    end = floor_hour(now)
    report = job.run(Home(Path(home)), load_configuration(SHIPPED_CONFIG), end - HOUR, end, now=now)
    return {"acted": report.acted}
