"""The hourly job under a real Airflow: scheduled, by hand, and as a backfill."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from target_health import job, local_airflow
from target_health.airflow_api import AirflowApi
from target_health.airflow_settings import LocalAirflow
from target_health.config import load_configuration
from target_health.paths import Home
from target_health.times import HOUR, floor_hour, parse_time, utc_now
from target_health.warehouse.published import open_published
from target_health.warehouse.rows import rows_of
from tests.dags.airflow_story import (
    DAYS,
    REFUSING,
    asset_events,
    backfill_in_airflow,
    deeds_of,
    simulate_story,
    tables_of,
    wait_for_answerable,
    wait_for_run,
    wait_for_runs,
)
from tests.paging.listening import listening

pytestmark = pytest.mark.airflow


@dataclass(frozen=True)
class Story:
    """Airflow after the scheduler's first run, up to ``run_end``; logs reach up to ``hour``."""

    home: Home
    airflow: LocalAirflow
    api: AirflowApi
    hour: datetime
    run_id: str
    run_end: datetime
    paged: list[dict[str, Any]]


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory, port: int) -> Iterator[Story]:
    home = Home(tmp_path_factory.mktemp("home"))
    hour = simulate_story(home)
    airflow = LocalAirflow.of(home, port)
    with listening() as (address, paged), pytest.MonkeyPatch.context() as patch:
        patch.setenv("TARGET_HEALTH_PAGE_URLS", f"json://{address}/")
        local_airflow.start(airflow, lambda message: None)
        try:
            api = local_airflow.api_of(airflow)
            run = wait_for_runs(api, 1, "scheduled")[-1]
            end = floor_hour(parse_time(run["data_interval_end"]))
            yield Story(home, airflow, api, hour, run["dag_run_id"], end, paged)
        finally:
            assert local_airflow.stop(airflow)


def log_of(story: Story, run_id: str, task_id: str) -> list[str]:
    return [line.strip() for line in story.api.task_log("crawl_health", run_id, task_id)]


def line_with(lines: list[str], start: str) -> str:
    (line,) = [line for line in lines if line.startswith(start)]
    return line


def test_scheduled_run_pauses_the_site_that_answers_403(story: Story) -> None:
    states = story.api.task_states("crawl_health", story.run_id)
    assert states == {
        "land": "success",
        "windows": "success",
        "scores": "success",
        "branch": "success",
        "hold_steady": "skipped",
        "slow_down": "skipped",
        "pause_sites": "success",
        "publish": "success",
        "announce": "success",
        "questions": "success",
        "ask_people": "success",
        "page": "success",
    }
    assert [event["source_run_id"] for event in asset_events(story.api)] == [story.run_id]
    control = json.loads(story.home.control.read_text())
    assert control["sites"][REFUSING]["state"] == "paused"
    assert control["sites"][REFUSING]["concurrency_factor"] == 0
    others = {name: site["state"] for name, site in control["sites"].items() if name != REFUSING}
    assert len(others) == 2
    assert set(others.values()) == {"active"}


def test_task_logs_show_what_was_done(story: Story) -> None:
    landed = log_of(story, story.run_id, "land")
    assert f"to {story.run_end:%Y-%m-%dT%H}:00:00Z" in line_with(landed, "This run is for")
    assert "pause" in line_with(log_of(story, story.run_id, "pause_sites"), REFUSING)
    fleet = line_with(log_of(story, story.run_id, "publish"), REFUSING)
    assert "resisting" in fleet
    assert fleet.split()[-1] == "paused"


def test_run_by_hand_takes_the_last_complete_hour_and_tells_that_no_log_is_new(
    story: Story,
) -> None:
    events = len(asset_events(story.api))
    run_id = story.api.trigger("crawl_health")["dag_run_id"]
    (run,) = wait_for_runs(story.api, 1, "manual")
    assert (run["dag_run_id"], run["state"]) == (run_id, "success")
    landed = log_of(story, run_id, "land")
    assert line_with(landed, "No new log in the inbox")
    until = floor_hour(parse_time(run["run_after"]))
    assert f"to {until:%Y-%m-%dT%H}:00:00Z" in line_with(landed, "This run is for")
    assert len(asset_events(story.api)) == events + 1
    control = json.loads(story.home.control.read_text())
    assert control["sites"][REFUSING]["state"] == "paused"


def test_backfill_equals_one_pass_and_acts_on_nothing(story: Story, tmp_path: Path) -> None:
    """Over the four newest hours, backwards, three at once; the newest of them ran already."""
    end, length = story.run_end, 4
    tables, deeds = tables_of(story.home, end), deeds_of(story.home, end)
    backfill_in_airflow(
        story.airflow, end - length * HOUR, end, "--run-backwards", "--max-active-runs", "3"
    )
    runs = wait_for_runs(story.api, length, "backfill")
    assert story.run_id in {run["dag_run_id"] for run in runs}
    assert [run["state"] for run in runs] == ["success"] * length
    for run in runs:
        states = story.api.task_states("crawl_health", run["dag_run_id"])
        assert states["publish"] == "success"
        acted = {states[name] for name in ("hold_steady", "slow_down", "pause_sites", "announce")}
        assert acted == {"skipped"}
    assert deeds_of(story.home, end) == deeds
    announced = [event["source_run_id"] for event in asset_events(story.api)]
    assert announced.count(story.run_id) == 1
    assert not [run_id for run_id in announced if run_id.startswith("backfill")]

    other = Home(tmp_path)
    other.inbox.symlink_to(story.home.inbox)
    start = story.hour - timedelta(days=DAYS)
    job.backfill(other, load_configuration(), start, end, now=utc_now())
    in_one_pass = tables_of(other, end)
    assert len(in_one_pass["site_scores"]) > 100
    assert tables_of(story.home, end) == in_one_pass == tables


def test_a_person_is_paged_once_and_answers_in_airflow(story: Story) -> None:
    """The site goes on at the lowest step at once; a second answer is refused politely."""
    (page,) = [page for page in story.paged if "digest" not in page["title"]]
    assert page["title"].startswith(f"{REFUSING} refuses our crawl: paused")
    control = json.loads(story.home.control.read_text())["sites"][REFUSING]
    name = control["incident_id"]
    assert f"/dags/site_review/runs/{name}/tasks/decide/required_actions" in page["message"]

    asked = wait_for_answerable(story.api, "site_review", name, "decide")
    assert asked["options"][0] == "Resume slower"
    assert REFUSING in asked["subject"]
    assert "| hard_block |" in asked["body"]
    story.api.answer("site_review", name, "decide", "Resume slower", why="they raised our limit")
    run = wait_for_run(story.api, "site_review", name)
    assert run["state"] == "success"
    states = story.api.task_states("site_review", name)
    assert (states["carry_out"], states["review"]) == ("success", "skipped")

    control = json.loads(story.home.control.read_text())["sites"][REFUSING]
    assert (control["state"], control["step"]) == ("slowed", 3)
    with open_published(story.home) as connection:
        (decision,) = rows_of(connection, "SELECT * FROM human_decisions")
    assert (decision["run_id"], decision["choice"]) == (name, "resume")
    assert (decision["decided_by"], decision["why"]) == ("admin", "they raised our limit")

    # The same question asked again by hand: nothing is left to resume.
    story.api.call(
        "POST",
        "dags/site_review/dagRuns",
        json={"logical_date": None, "dag_run_id": "late", "conf": {"incident_id": name}},
    )
    wait_for_answerable(story.api, "site_review", "late", "decide")
    story.api.answer("site_review", "late", "decide", "Stop", why="too late")
    assert wait_for_run(story.api, "site_review", "late")["state"] == "success"
    assert story.api.task_states("site_review", "late")["carry_out"] == "skipped"
    control = json.loads(story.home.control.read_text())["sites"][REFUSING]
    assert (control["state"], control["step"]) == ("slowed", 3)
