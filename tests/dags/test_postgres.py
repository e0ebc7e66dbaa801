"""Airflow on Postgres, as an installation has it, without Docker: Debian's server on loopback."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from target_health import local_airflow
from target_health.airflow_settings import LocalAirflow
from target_health.paths import Home
from tests.dags.airflow_story import REFUSING, simulate_story, wait_for_runs

pytestmark = pytest.mark.airflow

SERVERS = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))


def ordinary_user() -> str | None:
    """Postgres refuses to run as root."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return next((name for name in ("postgres", "nobody") if name in names), None)


@pytest.fixture(scope="module")
def postgres_url(tmp_path_factory: pytest.TempPathFactory, port: int) -> Iterator[str]:
    initdb = str(SERVERS[-1]) if SERVERS else shutil.which("initdb")
    if initdb is None:
        pytest.skip("needs a Postgres server: apt-get install postgresql")
    programs, user = Path(initdb).parent, ordinary_user()
    # Not under pytest's directory, which only its owner may enter.
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))
    if user:
        shutil.chown(folder, user)
    data, own_port = folder / "data", port + 3
    options = (
        f"-p {own_port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder} "
        "-c fsync=off"
    )

    def call(program: str, *arguments: str) -> None:
        subprocess.run(
            [str(programs / program), *arguments],
            user=user,
            cwd=folder,
            check=True,
            timeout=120,
            stdout=subprocess.DEVNULL,
        )

    try:
        call("initdb", "-D", str(data), "-U", "airflow", "-A", "trust", "-E", "UTF8")
        call("pg_ctl", "-D", str(data), "-l", str(folder / "log"), "-o", options, "-w", "start")
        call("createdb", "-h", "127.0.0.1", "-p", str(own_port), "-U", "airflow", "airflow")
        yield f"postgresql+psycopg2://airflow@127.0.0.1:{own_port}/airflow"
    finally:
        subprocess.run(
            [str(programs / "pg_ctl"), "-D", str(data), "-m", "immediate", "stop"],
            user=user,
            cwd=folder,
            check=False,
            stdout=subprocess.DEVNULL,
        )
        shutil.rmtree(folder, ignore_errors=True)


def test_scheduled_run_on_postgres(tmp_path: Path, port: int, postgres_url: str) -> None:
    home = Home(tmp_path)
    simulate_story(home, sites=3, days=5)
    airflow = LocalAirflow(home.root / "airflow", port, database=postgres_url)
    local_airflow.start(airflow, lambda message: None)
    try:
        api = local_airflow.api_of(airflow)
        run = wait_for_runs(api, 1, "scheduled")[-1]
        states = api.task_states("crawl_health", run["dag_run_id"])
    finally:
        local_airflow.stop(airflow)
    assert run["state"] == "success"
    assert (states["pause_sites"], states["hold_steady"]) == ("success", "skipped")
    assert not (airflow.root / "airflow.db").exists()
    assert json.loads(home.control.read_text())["sites"][REFUSING]["state"] == "paused"
