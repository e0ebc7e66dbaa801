"""``docker-compose.yaml`` and ``.env.example`` fit each other, the project and the DAGs."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import pytest
import yaml

from target_health.paths import PROJECT_ROOT

COMPOSE = PROJECT_ROOT / "docker-compose.yaml"
EXAMPLE = PROJECT_ROOT / ".env.example"
# Read by Docker itself.
OF_DOCKER = {"COMPOSE_PROFILES"}


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    return yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))["services"]


def example_lines() -> list[str]:
    return EXAMPLE.read_text(encoding="utf-8").splitlines()


def test_every_setting_is_used_and_every_one_used_is_a_setting() -> None:
    offered = {line.split("=")[0] for line in example_lines() if re.match(r"[A-Z_]+=", line)}
    used = set(re.findall(r"(?<!\$)\$\{([A-Z_]+)", COMPOSE.read_text(encoding="utf-8")))
    assert offered - OF_DOCKER == used


def test_every_setting_is_explained() -> None:
    lines = example_lines()
    for before, line in pairwise(lines):
        if re.match(r"[A-Z_]+=", line):
            assert before.startswith("#"), line


def test_defaults_are_those_of_the_example() -> None:
    offered = dict(line.split("=", 1) for line in example_lines() if re.match(r"[A-Z_]+=", line))
    pattern = r"(?<!\$)\$\{([A-Z_]+):-([^}]*)\}"
    for name, default in re.findall(pattern, COMPOSE.read_text(encoding="utf-8")):
        assert offered[name] == default, name


def test_secrets_have_no_default_and_no_value_in_the_example() -> None:
    lines = example_lines()
    for name in (
        "POSTGRES_PASSWORD",
        "AIRFLOW_FERNET_KEY",
        "AIRFLOW_SECRET_KEY",
        "AIRFLOW_JWT_SECRET",
    ):
        assert f"{name}=" in lines
        assert re.search(rf"\$\{{{name}:\?", COMPOSE.read_text(encoding="utf-8"))


def test_parts_of_airflow_are_there_with_health_checks(services: dict[str, Any]) -> None:
    parts = {"postgres", "api-server", "scheduler", "dag-processor", "triggerer"}
    assert parts | {"init"} == {name for name, one in services.items() if "profiles" not in one}
    for name, service in services.items():
        assert ("healthcheck" in service) == (name != "init"), name
    for name in parts - {"postgres"}:
        assert services[name]["depends_on"] == {
            "postgres": {"condition": "service_healthy"},
            "init": {"condition": "service_completed_successfully"},
        }
        assert any(volume.endswith(":/data") for volume in services[name]["volumes"])


def test_celery_gives_all_writing_tasks_to_one_worker(services: dict[str, Any]) -> None:
    from target_health.airflow_bridge import WRITING_TASK

    assert {name for name, one in services.items() if one.get("profiles") == ["celery"]} == {
        "redis",
        "writer",
        "worker",
    }
    writers = [
        one["command"]
        for one in services.values()
        if WRITING_TASK["queue"] in one.get("command", [])
    ]
    (writer,) = writers
    assert writer[writer.index("--queues") + 1] == WRITING_TASK["queue"]
    assert writer[writer.index("--concurrency") + 1] == "1"


def test_image_installs_the_pinned_requirements(services: dict[str, Any]) -> None:
    build = services["scheduler"]["build"]["dockerfile_inline"]
    for name in re.findall(r"requirements[a-z-]*\.txt", build):
        assert (PROJECT_ROOT / name).is_file()
    assert "requirements.txt" in build
    assert "requirements-server.txt" in build
