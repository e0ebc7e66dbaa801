"""One real Airflow at a time, whichever process tests it: each wants a core, and ports."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import filelock


@contextmanager
def one_airflow() -> Iterator[None]:
    """Wait until no other test process runs an Airflow."""
    with filelock.FileLock(Path(tempfile.gettempdir()) / "target-health-tests-airflow.lock"):
        yield
