"""A home for Airflow that is nobody's: it is read when Airflow is first imported."""

from __future__ import annotations

import os
import socket
import tempfile
from pathlib import Path

import pytest

from target_health.paths import PROJECT_ROOT

os.environ["AIRFLOW_HOME"] = tempfile.mkdtemp(prefix="target-health-airflow-")
for setting in [name for name in os.environ if name.startswith("AIRFLOW__")]:
    del os.environ[setting]


@pytest.fixture(scope="session")
def dags_folder() -> Path:
    return PROJECT_ROOT / "dags"


@pytest.fixture(scope="module")
def port() -> int:
    """The first of four neighbouring ports that nobody listens on."""
    # Neighbouring processes, which test side by side, begin with other blocks of four.
    for first in range(20_000 + 4 * os.getpid() % 20_000, 60_000, 4):
        try:
            for port in range(first, first + 4):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", port))
        except OSError:
            continue
        return first
    raise RuntimeError("no free ports")
