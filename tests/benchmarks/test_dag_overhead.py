"""The benchmark that starts an Airflow."""

from __future__ import annotations

import pytest

from target_health.benchmarks.airflow_run import dag_overhead
from target_health.benchmarks.workbench import Workbench


@pytest.mark.airflow
@pytest.mark.slow
def test_dag_overhead_is_the_dag_runs_time_above_the_jobs(bench: Workbench) -> None:
    (result,) = dag_overhead(bench)
    assert (result.name, result.unit, result.target) == ("dag_overhead", "s", None)
    assert result.value is not None
    assert result.value > 0
