"""A short run of the fuzzer, and hypothesis over free bytes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from target_health.paths import PROJECT_ROOT
from tests.fuzz.fuzz_readers import SEEDS, TOKENS, Checker, run_random


def test_mutations_of_every_format() -> None:
    assert run_random(60, seed=7, rounds=150) > 0


def test_guided_by_coverage() -> None:
    pytest.importorskip("atheris", reason="atheris has no wheel for this Python or system")
    run = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.guided", "-runs=15", "-seed=7"],
        cwd=PROJECT_ROOT,
        env=os.environ | {"PYTHONPATH": f"{PROJECT_ROOT / 'include'}:{PROJECT_ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    assert "cov:" in run.stderr


@pytest.fixture(scope="module")
def checker(tmp_path_factory: pytest.TempPathFactory) -> Checker:
    return Checker(Path(tmp_path_factory.mktemp("fuzz")))


PIECES = st.one_of(
    st.binary(max_size=30), st.sampled_from(TOKENS), st.sampled_from(list(SEEDS.values()))
)


@settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(PIECES, max_size=6).map(b"".join), st.sampled_from([None, *SEEDS]))
def test_any_bytes(checker: Checker, data: bytes, format_name: str | None) -> None:
    checker.check(data, format_name)
