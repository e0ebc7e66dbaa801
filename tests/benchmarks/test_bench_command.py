"""``target-health bench``: names, figures, status; the measuring itself stands in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from target_health.benchmarks import catalogue
from target_health.benchmarks.catalogue import NAMES, run_benchmarks
from target_health.benchmarks.results import Result, Skipped, at_most, at_rate, within
from target_health.benchmarks.workbench import Scale, Workbench, open_workbench
from target_health.cli import exit_status
from target_health.errors import DiskFull, TargetHealthError
from target_health.paths import Home

KEYS = ["name", "value", "unit", "floor", "ratio", "target", "holds"]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("TARGET_HEALTH_HOME", str(tmp_path / "home"))
    return Home(tmp_path / "home")


def put(monkeypatch: pytest.MonkeyPatch, **benchmarks: object) -> None:
    monkeypatch.setattr(catalogue, "BENCHMARKS", benchmarks)
    monkeypatch.setattr(catalogue, "NAMES", tuple(benchmarks))


def good(bench: Workbench) -> list[Result]:
    (bench.directory / "data").write_text("much")
    return [within("good", 2.0, floor=1.0, target=2.5)]


def bad(bench: Workbench) -> list[Result]:
    return [at_most("bad", 3.0, "GB", target=2.0)]


def broken(bench: Workbench) -> list[Result]:
    raise TargetHealthError("the floor fell in")


def impossible(bench: Workbench) -> list[Result]:
    raise Skipped("no Airflow here")


def test_every_figure_has_the_same_keys_and_nothing_is_left(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    put(monkeypatch, good=good, impossible=impossible)
    out = tmp_path / "bench.json"
    assert exit_status(["bench", "--json", str(out)]) == 0
    rows = json.loads(out.read_text())
    assert [list(row) for row in rows] == [KEYS, KEYS]
    assert rows[0] == {
        "name": "good",
        "value": 2.0,
        "unit": "s",
        "floor": 1.0,
        "ratio": 2.0,
        "target": 2.5,
        "holds": True,
    }
    assert (rows[1]["value"], rows[1]["holds"]) == (None, None)
    captured = capsys.readouterr()
    assert "good" in captured.out
    assert "impossible is skipped: no Airflow here" in captured.err
    assert not (home.root / "bench").exists()


@pytest.mark.parametrize("benchmark", [bad, broken])
def test_a_target_that_does_not_hold_and_a_failure_are_status_1(
    home: Home,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    benchmark: catalogue.Benchmark,
) -> None:
    put(monkeypatch, bad=benchmark, good=good)
    assert exit_status(["bench"]) == 1
    assert "good" in capsys.readouterr().out
    assert exit_status(["bench", "good"]) == 0
    assert not (home.root / "bench").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["bench", "speed"], "hourly_job"), (["bench", "--json", "/no/such/x.json"], "/no/such")],
)
def test_wrong_arguments_are_told_before_anything_is_measured(
    home: Home, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert exit_status(arguments) == 2
    assert words in capsys.readouterr().err
    assert not (home.root / "bench").exists()


def test_names_choose_figures_and_a_benchmark_runs_once() -> None:
    assert {"hourly_job", "hourly_job_memory", "growth_events", "growth_history"} <= set(NAMES)
    both = catalogue.wanted(["hourly_job_memory", "hourly_job"])
    assert both == [catalogue.hourly_job]
    assert len(catalogue.wanted([])) == len(set(catalogue.BENCHMARKS.values()))


def test_a_rate_is_held_against_its_target_and_compared_by_time() -> None:
    slow = at_rate("pages", 500, "pages/s", floor=1000, target=600)
    assert (slow.ratio, slow.holds) == (2.0, False)
    assert at_rate("pages", 600, "pages/s", floor=1000, target=600).holds is True


def test_two_runs_at_once_are_refused(home: Home) -> None:
    with open_workbench(home, Scale(), print), pytest.raises(TargetHealthError, match="another"):
        next(run_benchmarks(home, ["good"] if "good" in NAMES else [NAMES[0]], progress=print))


def test_too_little_room_is_said_before_harm(home: Home) -> None:
    with open_workbench(home, Scale(), print) as bench, pytest.raises(DiskFull, match="make room"):
        bench.need(10**18)


def test_a_run_that_is_told_to_stop_leaves_nothing(home: Home) -> None:
    running = subprocess.Popen(
        [sys.executable, "-c", "from target_health.cli import main; main()", "bench", "hourly_job"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 60
        while not (home.root / "bench").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert (home.root / "bench").exists()
        running.terminate()
        assert running.wait(timeout=60) != 0
    finally:
        running.kill()
        running.wait()
    assert not (home.root / "bench").exists()
