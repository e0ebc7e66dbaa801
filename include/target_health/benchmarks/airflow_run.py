"""What Airflow adds to the hourly job: a DAG run's wall time above the job's own."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from statistics import median
from typing import Any

from target_health import job, local_airflow
from target_health.airflow_settings import LocalAirflow
from target_health.benchmarks.job_piece import run_last_hour
from target_health.benchmarks.measuring import measure, typical
from target_health.benchmarks.results import Result, Skipped
from target_health.benchmarks.workbench import Workbench
from target_health.config import load_configuration
from target_health.demo import DAG_ID, triggered, wait_for_scheduled, wait_until_idle
from target_health.errors import TargetHealthError
from target_health.paths import SHIPPED_CONFIG, Home
from target_health.simulator import simulate
from target_health.times import HOUR, floor_hour, utc_now

SITES, SEED = 12, 7
FIRST_PORT, LAST_PORT = 18_080, 19_080


def dag_overhead(bench: Workbench) -> list[Result]:
    """A DAG run that is asked for by hand, until it is done, above the job in one process.

    Skipped where Airflow cannot be started.
    """
    home = Home(bench.directory / "airflow")
    hour = floor_hour(utc_now())
    bench.progress(f"preparing a fleet of {SITES} sites")
    simulate(SITES, bench.scale.fleet_days, home.inbox, seed=SEED, end=hour)
    start = hour - bench.scale.fleet_days * 24 * HOUR
    job.backfill(home, load_configuration(SHIPPED_CONFIG), start, hour, now=utc_now())
    with airflow_up(bench, home) as airflow:
        api = local_airflow.api_of(airflow)
        wait_for_scheduled(api, utc_now(), bench.progress)
        wait_until_idle(api, bench.progress)
        runs = []
        for _ in range(bench.scale.repeats):
            runs.append(seconds_of(finished(triggered(api, bench.progress))))
            bench.progress(f"a DAG run of {DAG_ID}: {runs[-1]:.1f} s")
    own = typical([measure(run_last_hour, home=str(home.root)) for _ in range(bench.scale.repeats)])
    return [Result("dag_overhead", median(runs) - own.seconds, "s", floor=own.seconds)]


@contextmanager
def airflow_up(bench: Workbench, home: Home) -> Iterator[LocalAirflow]:
    """A local Airflow on ports of its own; stopped at the end."""
    airflow = LocalAirflow.of(home, free_port())
    try:
        local_airflow.start(airflow, bench.progress)
    except (TargetHealthError, OSError) as problem:
        raise Skipped(f"Airflow cannot be started here: {problem}") from None
    try:
        yield airflow
    finally:
        bench.progress("stopping Airflow")
        local_airflow.stop(airflow)


def free_port() -> int:
    """The first of three neighbouring ports that nobody listens on."""
    for first in range(FIRST_PORT, LAST_PORT, 3):
        if all(is_free(port) for port in range(first, first + 3)):
            return first
    raise Skipped(f"no three ports in a row are free from {FIRST_PORT} to {LAST_PORT}")


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def finished(run: dict[str, Any]) -> dict[str, Any]:
    if run["state"] != "success":
        raise TargetHealthError(f"the DAG run {run['dag_run_id']} ended as {run['state']}")
    return run


def seconds_of(run: dict[str, Any]) -> float:
    """From being asked for to the end of the last task."""
    asked = datetime.fromisoformat(run["queued_at"] or run["start_date"])
    return (datetime.fromisoformat(run["end_date"]) - asked).total_seconds()
