"""A spider's process does not carry the system around."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.crawlers.crawls import ROOT

HEAVY = ("duckdb", "airflow", "pandas", "numpy", "great_expectations", "sqlalchemy")
SCRAPY = ("target_health.scrapy", "target_health.scrapy.watch", "target_health.scrapy.items")


@pytest.mark.parametrize("modules", [SCRAPY, ("target_health.requests",)])
def test_importing_an_adapter_imports_nothing_of_the_system(modules: tuple[str, ...]) -> None:
    if modules is SCRAPY:
        pytest.importorskip("scrapy")
    script = f"import json, sys, {', '.join(modules)}; print(json.dumps(list(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={"PYTHONPATH": str(ROOT / "include")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(json.loads(done.stdout)) & set(HEAVY) == set()
