"""What the tests with a real Airflow share: logs, waiting for runs, what is compared."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from target_health.airflow_api import AirflowApi
from target_health.airflow_settings import LocalAirflow
from target_health.errors import TargetHealthError
from target_health.paths import Home
from target_health.simulator import simulate
from target_health.times import floor_hour, utc_now
from target_health.warehouse.published import open_published
from target_health.warehouse.rows import rows_of

# market-03 of the simulator's story answers 403 from two hours before the end on.
SITES, DAYS, REFUSING = 3, 4.5, "market-03.example"
WAIT_S = 420
TABLES = ("site_windows", "site_scores")


def simulate_story(home: Home, sites: int = SITES, days: float = DAYS) -> datetime:
    """Put logs up to the present hour into the inbox; returns that hour."""
    end = floor_hour(utc_now())
    simulate(sites, days, home.inbox, seed=3, end=end, troubles=["sudden_403s"])
    return end


def wait_for_runs(api: AirflowApi, expected: int, run_type: str) -> list[dict[str, Any]]:
    """Until so many runs of a type are there and all are done."""
    deadline = time.monotonic() + WAIT_S
    while True:
        runs = [run for run in api.runs("crawl_health") if run["run_type"] == run_type]
        going = [run for run in runs if run["state"] in ("queued", "running")]
        if len(runs) >= expected and not going:
            return runs
        if time.monotonic() > deadline:
            states = {run["dag_run_id"]: run["state"] for run in runs}
            raise AssertionError(f"{expected} {run_type} runs were not done in time: {states}")
        time.sleep(1)


def wait_for_run(api: AirflowApi, dag_id: str, run_id: str) -> dict[str, Any]:
    """Until one run is done."""
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        run = api.call("GET", f"dags/{dag_id}/dagRuns/{run_id}")
        if run is not None and run["state"] in ("success", "failed"):
            return run
        time.sleep(1)
    raise AssertionError(f"{run_id} was not done in time: {api.task_states(dag_id, run_id)}")


def wait_for_answerable(api: AirflowApi, dag_id: str, run_id: str, task_id: str) -> dict[str, Any]:
    """Until a task waits for its answer; returns what it asks."""
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        asked = api.required_action(dag_id, run_id, task_id)
        if asked and api.task_states(dag_id, run_id)[task_id] == "awaiting_input":
            return asked
        time.sleep(1)
    raise AssertionError(f"{task_id} of {run_id} asked nothing: {api.task_states(dag_id, run_id)}")


def answer(api: AirflowApi, run_id: str, option: str, **fields: Any) -> None:
    """Answer a question of site_review, as a person would: once more where SQLite was busy."""
    for left in range(9, -1, -1):
        try:
            api.answer("site_review", run_id, "decide", option, **fields)
        except TargetHealthError as problem:
            if left == 0 or "answers 500" not in str(problem):
                raise
            time.sleep(1)
        else:
            return


def airflow_command(airflow: LocalAirflow, *arguments: str) -> str:
    done = subprocess.run(
        [str(Path(sys.executable).parent / "airflow"), *arguments],
        env=airflow.environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def backfill_in_airflow(airflow: LocalAirflow, start: datetime, end: datetime, *more: str) -> None:
    """Ask Airflow for the hours of [start, end), also those that ran already."""
    first, last = start + timedelta(minutes=5), end - timedelta(minutes=55)
    airflow_command(
        airflow,
        "backfill",
        "create",
        "--dag-id",
        "crawl_health",
        "--from-date",
        f"{first:%Y-%m-%dT%H:%M:%S+00:00}",
        "--to-date",
        f"{last:%Y-%m-%dT%H:%M:%S+00:00}",
        "--reprocess-behavior",
        "completed",
        *more,
    )


def tables_of(home: Home, until: datetime) -> dict[str, list[dict[str, Any]]]:
    """The published windows and scores that ended by ``until``, in order."""
    with open_published(home) as connection:
        return {
            table: rows_of(
                connection,
                f"SELECT * FROM {table} WHERE window_end <= ? ORDER BY site, window_start",
                [until],
            )
            for table in TABLES
        }


def deeds_of(home: Home, until: datetime) -> tuple[object, ...]:
    """What acting left behind, as far as runs up to ``until`` did it."""
    with open_published(home) as connection:
        return (
            rows_of(
                connection, "SELECT * FROM actions WHERE run_end <= ? ORDER BY sequence", [until]
            ),
            rows_of(
                connection, "SELECT * FROM acting_runs WHERE run_end <= ? ORDER BY run_end", [until]
            ),
            rows_of(connection, "SELECT site, state, step, since FROM site_state ORDER BY site"),
            json.loads(home.control.read_text())["sites"],
        )


def asset_events(api: AirflowApi) -> list[dict[str, Any]]:
    return api.call("GET", "assets/events")["asset_events"]
