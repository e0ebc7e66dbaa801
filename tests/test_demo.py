"""The story of ``make run`` goes on where it stopped."""

from __future__ import annotations

import gzip
import json
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from target_health import demo
from target_health.airflow_settings import LocalAirflow
from target_health.errors import TargetHealthError
from target_health.paths import PROJECT_ROOT, Home
from target_health.times import HOUR, iso

BEGAN = datetime(2026, 3, 10, 22)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setattr(demo, "SITES", 3)
    monkeypatch.setattr(demo, "DAYS", 1)
    return Home(tmp_path)


def logged(home: Home) -> list[str]:
    """The lines of all logs in the inbox."""
    lines: list[str] = []
    for path in sorted((home.inbox / "crawler").iterdir()):
        lines += gzip.decompress(path.read_bytes()).decode().splitlines()
    return lines


def test_hours_that_are_missing_are_simulated_once(home: Home) -> None:
    """Across a midnight too: the same logs as all at once, line by line."""
    story = demo.Story(iso(BEGAN), iso(BEGAN - timedelta(days=1)))
    narrator = demo.Narrator()
    for hours in (0, 1, 1, 4):
        story = demo.simulate_until(home, story, BEGAN + hours * HOUR, narrator)
    other = Home(home.root / "other")
    at_once = demo.Story(iso(BEGAN), iso(BEGAN - timedelta(days=1)))
    demo.simulate_until(other, at_once, BEGAN + 4 * HOUR, narrator)
    assert len(logged(home)) > 500
    assert sorted(logged(home)) == sorted(logged(other))
    assert story.simulated_until == iso(BEGAN + 4 * HOUR)
    assert demo.load_story(home) == story


def test_nothing_but_logs_is_left_behind(home: Home) -> None:
    story = demo.Story(iso(BEGAN), iso(BEGAN - 2 * HOUR))
    demo.simulate_until(home, story, BEGAN, demo.Narrator())
    assert {path.name for path in home.root.iterdir()} == {"inbox", "demo.json"}
    assert all(path.name.endswith(".jsonl.gz") for path in home.inbox.rglob("*.*"))


def test_damaged_story_says_what_to_do(home: Home) -> None:
    demo.story_file(home).write_text(json.dumps({"began": 1}))
    with pytest.raises(TargetHealthError, match="damaged: remove"):
        demo.load_story(home)


def test_next_steps_name_what_is_there(home: Home) -> None:
    story = demo.Story(iso(BEGAN), iso(BEGAN), run_id="scheduled__x")
    up, query, own = demo.next_steps(home, LocalAirflow(home.root, 9090), story)
    assert up[1] == (
        "make up PORT=9090",
        "http://localhost:9090/plugin/target-health",
        "http://localhost:9090/dags/crawl_health/runs/scheduled__x",
    )
    assert str(home.published) in query[1][0]
    report = query[1][0].split("open('")[1].split("'")[0]
    assert (PROJECT_ROOT / report).is_file()
    assert own[1][0].startswith(".venv/bin/target-health try")
    assert demo.next_steps(home, LocalAirflow(home.root), story)[0][1][0] == "make up"
