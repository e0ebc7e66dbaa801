"""What the package imports is what requirements.in asks for, and the locks hold it."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions

import pytest

from target_health.paths import PROJECT_ROOT


def named(file_name: str) -> set[str]:
    """Distributions that a requirements file names, normalised."""
    lines = (PROJECT_ROOT / file_name).read_text(encoding="utf-8").splitlines()
    found = (re.match(r"[A-Za-z0-9._-]+", line) for line in lines if line[:1] not in "#- ")
    return {normal(match[0]) for match in found if match}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def named_by_extras() -> set[str]:
    """Distributions of the package's optional parts: what only crawlers import."""
    project = tomllib.loads((PROJECT_ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"].values()
    found = (re.match(r"[A-Za-z0-9._-]+", line) for extra in extras for line in extra)
    return {normal(match[0]) for match in found if match}


def test_every_import_of_the_package_is_required_by_name() -> None:
    distributions = packages_distributions()
    required = named("requirements.in") | named_by_extras()
    missing = {}
    for path in (PROJECT_ROOT / "include").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module]
            for module in {name.split(".")[0] for name in names}:
                if module in sys.stdlib_module_names or module in {"target_health", "airflow"}:
                    continue
                found = {normal(name) for name in distributions.get(module, [module])}
                if not found & required:
                    missing[module] = path.name
    assert missing == {}


@pytest.mark.parametrize("name", ["requirements", "requirements-dev", "requirements-server"])
def test_lock_holds_what_is_asked_for(name: str) -> None:
    assert named(f"{name}.in") <= named(f"{name}.txt")


@pytest.mark.parametrize("name", ["requirements", "requirements-dev", "requirements-server"])
def test_lock_pins_everything_and_names_no_index(name: str) -> None:
    lines = (PROJECT_ROOT / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith((" ", "#"))]
    assert pins
    assert [line for line in pins if "==" not in line] == []
    assert not any("://" in line for line in lines)
