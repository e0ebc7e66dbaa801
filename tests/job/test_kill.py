"""The hourly job killed at any moment, and run again, against an undisturbed one."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

from target_health.paths import Home
from target_health.times import iso
from tests.job.test_hourly_job import (
    HOUR,
    START,
    control_of,
    denied_from,
    log_sites,
    snapshot,
)

END = START + timedelta(days=4, hours=9)
KILLS = 6


def run_once(home: Home, config: Path, kill_after_s: float | None = None) -> bool:
    """One ``target-health run``; False when it was killed before it was done."""
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "target_health", "run", "--act"),
            *("--start", iso(END - HOUR), "--end", iso(END)),
        ],
        env={
            **os.environ,
            "TARGET_HEALTH_HOME": str(home.root),
            "TARGET_HEALTH_CONFIG": str(config),
        },
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        _, errors = process.communicate(timeout=kill_after_s)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.communicate()
        return False
    assert process.returncode == 0, errors
    return True


def leftovers(home: Home) -> list[str]:
    """Files that only a killed run leaves."""
    return [str(path) for path in home.root.rglob("*.tmp")]


def test_killed_at_any_moment_and_run_again_is_as_undisturbed(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.mkdir()
    (config / "scoring.yaml").write_text("window_minutes: 15\n")
    sites: dict[str, Any] = {"good.example": 200, "bad.example": denied_from(END - HOUR)}
    calm, killed = Home(tmp_path / "calm"), Home(tmp_path / "killed")
    for home in (calm, killed):
        log_sites(home, sites, END)
    assert run_once(calm, config)
    moments, kills = random.Random(20260331), 0
    for _ in range(KILLS):
        kills += not run_once(killed, config, kill_after_s=moments.uniform(0.5, 8))
    assert run_once(killed, config)
    assert kills > 0
    assert snapshot(killed) == snapshot(calm)
    assert control_of(killed) == control_of(calm)
    assert leftovers(killed) == []
