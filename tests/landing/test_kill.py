"""Killed at any step and run again, a landing ends as if nothing had happened."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from target_health.paths import PROJECT_ROOT, Home
from tests.landing.conftest import NOW, Landing, fetch

VICTIM = Path(__file__).with_name("kill_victim.py")


def filled(root: Path) -> Landing:
    """An inbox with several files, hours, bad lines, given ids and an unfinished end."""
    landing = Landing(Home(root))
    config = root / "config"
    config.mkdir(parents=True)
    (config / "sources.yaml").write_text("batch_rows: 1000\n", encoding="utf-8")
    landing.config = config
    for number in range(3):
        rows = [
            "{bad" if second % 50 == 7 else fetch(second - 3600 * (second % 3), size=number)
            for second in range(700)
        ]
        landing.put(f"x/{number}.jsonl", "\n".join(rows) + "\n")
    landing.put("y/ids.jsonl", "\n".join(fetch(s, event_id=f"e{s % 90}") for s in range(100)))
    landing.put("z/half.jsonl", fetch(1) + "\n" + fetch(2)[:30])
    return landing


def run(landing: Landing, steps: int, way: str = "staged") -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "PYTHONPATH": f"{PROJECT_ROOT / 'include'}{os.pathsep}{PROJECT_ROOT}",
        "TARGET_HEALTH_CONFIG": str(landing.config),
        **({"STREAM_FROM": "0"} if way == "straight" else {}),
    }
    return subprocess.run(
        [sys.executable, str(VICTIM), str(landing.home.root), str(steps), NOW.isoformat()],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module", params=["staged", "straight"])
def clean(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Landing, int, str]:
    landing = filled(tmp_path_factory.mktemp("clean") / "home")
    done = run(landing, 1_000_000, request.param)
    assert done.returncode == 0, done.stderr
    return landing, int(done.stdout), request.param


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 5))]
)
def test_killed_again_and_again(tmp_path: Path, clean: tuple[Landing, int, str], seed: int) -> None:
    expected, steps, way = clean
    landing = filled(tmp_path / "home")
    chance = random.Random(seed)
    for _ in range(3):
        assert run(landing, chance.randrange(steps), way).returncode in (-9, 0)
    landing.land()
    assert landing.state() == expected.state()
    assert not (landing.home.work / "landing.journal").exists()


@pytest.mark.parametrize("back", range(1, 40, 10))
def test_killed_around_the_commit(
    tmp_path: Path, clean: tuple[Landing, int, str], back: int
) -> None:
    expected, steps, way = clean
    landing = filled(tmp_path / "home")
    assert run(landing, steps - back, way).returncode == -9
    landing.land()
    assert landing.state() == expected.state()
    shutil.rmtree(landing.home.root)
