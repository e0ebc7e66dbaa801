"""Archives and bodies through landings that are killed anywhere."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from target_health.paths import Home
from tests.landing.conftest import Landing, fetch
from tests.landing.test_kill import run
from tests.readers.archives import warc


def filled(root: Path) -> Landing:
    """Two archives, one of them broken off, and a log with bodies in it and beside it."""
    landing = Landing(Home(root))
    landing.config = root / "config"
    landing.config.mkdir(parents=True)
    (landing.config / "sources.yaml").write_text("batch_rows: 1000\n", encoding="utf-8")
    landing.put("w/a.warc.gz", warc(20, zipped=True))
    landing.put("w/b.warc", warc(10, first=30)[:-50])
    landing.put("x/pages/1.html", "<title>Page not found</title><h1>Page not found</h1>")
    lines = [fetch(n, body=f"<p>Words {n}</p>") for n in range(30)]
    lines += ["{bad", fetch(40, body_path="pages/1.html"), fetch(41, body_path="pages/2.html")]
    landing.put("x/log.jsonl", "\n".join(lines) + "\n")
    return landing


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> tuple[Landing, int]:
    landing = filled(tmp_path_factory.mktemp("clean") / "home")
    done = run(landing, 1_000_000)
    assert done.returncode == 0, done.stderr
    assert landing.rows("verdict", "1")
    return landing, int(done.stdout)


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 4))]
)
def test_killed_again_and_again(tmp_path: Path, clean: tuple[Landing, int], seed: int) -> None:
    expected, steps = clean
    landing = filled(tmp_path / "home")
    chance = random.Random(seed)
    for _ in range(2):
        assert run(landing, chance.randrange(steps)).returncode in (-9, 0)
    landing.land()
    assert landing.state() == expected.state()
