"""The local Airflow: its settings, and knowing whether it runs."""

from __future__ import annotations

import configparser
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from target_health import local_airflow
from target_health.airflow_settings import SECRETS, LocalAirflow
from target_health.errors import UsageError


@pytest.fixture
def airflow(tmp_path: Path) -> LocalAirflow:
    made = LocalAirflow(tmp_path / "airflow", 18_999)
    made.write()
    return made


def read(airflow: LocalAirflow) -> configparser.RawConfigParser:
    config = configparser.RawConfigParser()
    config.read(airflow.config_file)
    return config


def test_secrets_and_password_are_made_once_and_private(airflow: LocalAirflow) -> None:
    before, password = read(airflow), airflow.password()
    LocalAirflow(airflow.root, 19_999).write()
    after = read(airflow)
    for section, key in SECRETS:
        assert len(after.get(section, key)) >= 40
        assert after.get(section, key) == before.get(section, key)
    assert len({after.get(*one) for one in SECRETS}) == len(SECRETS)
    assert airflow.password() == password
    assert after.get("api", "port") == "19999"
    for path in (airflow.config_file, airflow.passwords_file):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_ui_listens_on_this_machine_only(airflow: LocalAirflow) -> None:
    assert read(airflow).get("api", "host") == "localhost"


def test_processes_get_no_other_settings_of_airflow(
    airflow: LocalAirflow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW__CORE__EXECUTOR", "CeleryExecutor")
    monkeypatch.setenv("AIRFLOW_CONFIG", "/elsewhere")
    monkeypatch.setenv("AIRFLOW_CONN_LOGS", "aws://")
    monkeypatch.setenv("TARGET_HEALTH_CONFIG", "include/config")
    environment = airflow.environment()
    assert {name for name in environment if name.startswith("AIRFLOW")} == {
        "AIRFLOW_HOME",
        "AIRFLOW_CONN_LOGS",
    }
    assert environment["TARGET_HEALTH_HOME"] == str(airflow.root.parent)
    assert Path(environment["TARGET_HEALTH_CONFIG"]).is_absolute()


@pytest.fixture
def sleeper() -> Iterator[psutil.Process]:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    yield psutil.Process(child.pid)
    child.kill()
    child.wait()


def test_process_is_known_by_its_id_and_start(
    airflow: LocalAirflow, sleeper: psutil.Process
) -> None:
    assert local_airflow.running_process(airflow) is None
    airflow.pid_file.write_text(f"{sleeper.pid} {sleeper.create_time()}")
    assert local_airflow.running_process(airflow) == sleeper
    airflow.pid_file.write_text(f"{sleeper.pid} {sleeper.create_time() - 100}")
    assert local_airflow.running_process(airflow) is None
    airflow.pid_file.write_text("")
    assert local_airflow.running_process(airflow) is None


def test_stop_leaves_a_stranger_alone_that_got_the_old_id(
    airflow: LocalAirflow, sleeper: psutil.Process
) -> None:
    airflow.pid_file.write_text(f"{sleeper.pid} {sleeper.create_time() - 100}")
    assert local_airflow.stop(airflow) is False
    assert sleeper.is_running()
    assert not airflow.pid_file.exists()


def test_stop_ends_the_process(airflow: LocalAirflow, sleeper: psutil.Process) -> None:
    airflow.pid_file.write_text(f"{sleeper.pid} {sleeper.create_time()}")
    assert local_airflow.stop(airflow) is True
    assert local_airflow.running_process(airflow) is None


def test_taken_port_is_named(airflow: LocalAirflow) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        with pytest.raises(UsageError, match=f"port {port} is taken"):
            local_airflow.start(LocalAirflow(airflow.root, port), lambda message: None)


@pytest.mark.parametrize("text", ["eighty", "80", "70000", "-1", "8080 "])
def test_port_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="PORT="):
        local_airflow.port_of(text)


def test_port_has_a_default() -> None:
    assert (local_airflow.port_of(""), local_airflow.port_of("9090")) == (8080, 9090)


def test_command_is_refused_in_one_line() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "target_health.local_airflow", "sideways"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PORT": ""},
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "target-health: say up or down\n"
