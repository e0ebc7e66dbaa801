"""Airflow on this machine, in the background: ``python -m target_health.local_airflow up``."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from target_health.airflow_api import AirflowApi
from target_health.airflow_settings import DEFAULT_PORT, USER, LocalAirflow
from target_health.errors import TargetHealthError, UsageError
from target_health.paths import Home

DAGS = ("crawl_health", "backfill_scores", "canaries", "accept_canary")
START_WAIT_S = 300
STOP_WAIT_S = 30

Progress = Callable[[str], None]


def api_of(airflow: LocalAirflow) -> AirflowApi:
    return AirflowApi(airflow.url, USER, airflow.password())


def running_process(airflow: LocalAirflow) -> psutil.Process | None:
    """The process that ``start`` left behind, if it still runs."""
    try:
        pid, created = airflow.pid_file.read_text(encoding="utf-8").split()
        process = psutil.Process(int(pid))
        is_ours = abs(process.create_time() - float(created)) < 1
        return process if is_ours and process.status() != psutil.STATUS_ZOMBIE else None
    except (OSError, ValueError, psutil.NoSuchProcess):
        return None


def running_port(airflow: LocalAirflow) -> int:
    """The port that the settings of the running Airflow name."""
    for line in airflow.config_file.read_text(encoding="utf-8").splitlines():
        if line.startswith("base_url = "):
            return int(line.rsplit(":", 1)[1])
    return airflow.port


def start(airflow: LocalAirflow, progress: Progress) -> bool:
    """Start Airflow and wait until its DAGs are loaded; False when it was running already.

    Raises ``TargetHealthError`` when the port is taken or Airflow does not come up.
    """
    process = running_process(airflow)
    if process is not None:
        if running_port(airflow) != airflow.port:
            raise UsageError(
                f"Airflow runs on port {running_port(airflow)} already: `make down` first"
            )
        wait_until_ready(airflow, process, progress)
        return False
    for port in range(airflow.port, airflow.port + 3):
        refuse_taken(port)
    airflow.write()
    environment = airflow.environment()
    # `airflow standalone` looks for `airflow` on the path to start its parts.
    scripts = Path(sys.executable).parent
    environment["PATH"] = f"{scripts}{os.pathsep}{environment.get('PATH', '')}"
    with airflow.log_file.open("w", encoding="utf-8") as log:
        started = subprocess.Popen(
            [str(scripts / "airflow"), "standalone"],
            cwd=airflow.root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    process = psutil.Process(started.pid)
    airflow.pid_file.write_text(f"{process.pid} {process.create_time()}\n", encoding="utf-8")
    try:
        wait_until_ready(airflow, process, progress)
    except BaseException:
        stop(airflow)
        raise
    return True


def refuse_taken(port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            raise UsageError(
                f"port {port} is taken: choose another, e.g. PORT={port + 1000}"
            ) from None


def wait_until_ready(airflow: LocalAirflow, process: psutil.Process, progress: Progress) -> None:
    api = api_of(airflow)
    deadline = time.monotonic() + START_WAIT_S
    while time.monotonic() < deadline:
        if not process.is_running() or process.status() == psutil.STATUS_ZOMBIE:
            raise TargetHealthError(
                f"Airflow stopped while starting; {airflow.log_file} ends: {last_line(airflow)}"
            )
        waiting = api.unhealthy()
        if not waiting:
            waiting = [f"DAG {dag_id}" for dag_id in DAGS if not is_loaded(api, dag_id)]
            errors = api.import_errors() if waiting else []
            if errors:
                raise TargetHealthError(f"a DAG does not load: {errors[0]}")
        if not waiting:
            return
        progress(f"Airflow starts: waiting for {', '.join(waiting)}")
        time.sleep(1)
    raise TargetHealthError(f"Airflow is not ready after {START_WAIT_S} s: see {airflow.log_file}")


def is_loaded(api: AirflowApi, dag_id: str) -> bool:
    """Whether Airflow knows the DAG; unpauses it."""
    dag = api.dag(dag_id)
    if dag is None or dag["is_stale"]:
        return False
    if dag["is_paused"]:
        api.unpause(dag_id)
    return True


def last_line(airflow: LocalAirflow) -> str:
    lines = airflow.log_file.read_text(encoding="utf-8", errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "(empty)")


def stop(airflow: LocalAirflow) -> bool:
    """Stop Airflow and all that it started; False when it was not running."""
    process = running_process(airflow)
    if process is None:
        airflow.pid_file.unlink(missing_ok=True)
        return False
    # Its parts end well by themselves when they are told to; `standalone` only knows Ctrl-C, which
    # a process from the background of a shell ignores.
    family = [process, *process.children(recursive=True)]
    for member in [*process.children(), process]:
        with contextlib.suppress(psutil.NoSuchProcess):
            member.terminate()
    _, left = psutil.wait_procs(family, timeout=STOP_WAIT_S)
    for straggler in left:
        with contextlib.suppress(psutil.NoSuchProcess):
            straggler.kill()
    psutil.wait_procs(left, timeout=5)
    airflow.pid_file.unlink(missing_ok=True)
    return True


def main(arguments: list[str]) -> int:
    """``up`` or ``down``; the port comes from ``PORT``."""
    airflow = LocalAirflow.of(Home.from_environment(), port_of(os.environ.get("PORT", "")))
    try:
        if arguments == ["down"]:
            print("Airflow is stopped." if stop(airflow) else "Airflow was not running.")
            return 0
        if arguments != ["up"]:
            raise UsageError("say up or down")
        start(airflow, narrator())
    except TargetHealthError as problem:
        print(f"target-health: {problem}", file=sys.stderr)
        return problem.exit_status
    print(f"Airflow is up: {airflow.url}  (user {USER}, password {airflow.password()})")
    print(f"How the sites stand: {airflow.url}/plugin/target-health")
    print("The DAG crawl_health runs at five past every hour; stop Airflow with: make down")
    return 0


def narrator() -> Progress:
    """Prints a message when it differs from the last."""
    last = ""

    def tell(message: str) -> None:
        nonlocal last
        if message != last:
            print(message, flush=True)
            last = message

    return tell


def port_of(text: str) -> int:
    """A port number from the environment; ``UsageError`` when it is none."""
    if not text:
        return DEFAULT_PORT
    if not text.isdecimal() or not 1024 <= int(text) <= 65000:
        raise UsageError(f"PORT={text}: give a port number from 1024 to 65000")
    return int(text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
