"""The hourly job killed at any moment, and run again, against an undisturbed one."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
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
KILLS = 2


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


def time_of_run(home: Home, config: Path) -> float:
    """Seconds that one undisturbed run takes on this machine, now."""
    began = time.monotonic()
    assert run_once(home, config)
    return time.monotonic() - began


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
    run_s = time_of_run(calm, config)
    moments, kills = random.Random(20260331), 0
    while kills < KILLS:
        # A run over what a killed one had already done is shorter: then the range shrinks with it.
        if run_once(killed, config, kill_after_s=moments.uniform(0.1, 0.9) * run_s):
            run_s *= 0.7
        else:
            kills += 1
    assert run_once(killed, config)
    assert snapshot(killed) == snapshot(calm)
    assert control_of(killed) == control_of(calm)
    assert leftovers(killed) == []
