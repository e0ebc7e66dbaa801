"""The hourly job under a real Airflow: scheduled, by hand, and as a backfill."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import requests

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
    answer,
    asset_events,
    backfill_in_airflow,
    deeds_of,
    simulate_story,
    tables_of,
    wait_for_answerable,
    wait_for_run,
    wait_for_runs,
)
from tests.dags.browser import open_page
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
        # Great Expectations takes seconds a run: that on Postgres has the suites, these have none.
        patch.setenv("TARGET_HEALTH_EXPECTATIONS", str(tmp_path_factory.mktemp("no_suites")))
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
        "extraction": "success",
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
    """Over the two newest hours, backwards, both at once; the newest of them ran already."""
    end, length = story.run_end, 2
    tables, deeds = tables_of(story.home, end), deeds_of(story.home, end)
    backfill_in_airflow(
        story.airflow, end - length * HOUR, end, "--run-backwards", "--max-active-runs", "2"
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
    answer(story.api, name, "Resume slower", why="they raised our limit")
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
    answer(story.api, "late", "Stop", why="too late")
    assert wait_for_run(story.api, "site_review", "late")["state"] == "success"
    assert story.api.task_states("site_review", "late")["carry_out"] == "skipped"
    control = json.loads(story.home.control.read_text())["sites"][REFUSING]
    assert (control["state"], control["step"]) == ("slowed", 3)


def test_dashboard_asks_for_airflows_login(story: Story) -> None:
    place = f"{story.airflow.url}/target-health"
    with requests.Session() as anonymous:
        anonymous.trust_env = False
        for path in ("/", "/api/fleet", "/csv/fleet.csv", "/api/openapi.json", "/site?name=x"):
            assert anonymous.get(place + path).status_code == 401, path
        assert anonymous.post(f"{place}/site/pace", data={"name": REFUSING}).status_code == 401
        login = anonymous.get(f"{place}/", headers={"accept": "text/html"}, allow_redirects=False)
        assert login.status_code == 303
        assert "/auth/login?next=" in login.headers["location"]
        user = {"username": "admin", "password": story.airflow.password()}
        token = anonymous.post(f"{story.airflow.url}/auth/token", json=user).json()["access_token"]
        fleet = anonymous.get(f"{place}/api/fleet", headers={"Authorization": f"Bearer {token}"})
    assert fleet.status_code == 200
    assert fleet.json()["sites"][0]["site"] == REFUSING


@pytest.mark.browser
def test_person_finds_the_resisting_site_sees_why_and_resumes_it(story: Story) -> None:
    configuration, why = load_configuration(), "let us ask them once more"
    job.pause(story.home, configuration, [REFUSING], now=utc_now(), by="tests", why=why)
    complaints: list[str] = []
    with open_page(complaints) as page:
        page.goto(f"{story.airflow.url}/auth/login")
        page.fill("input[name=username]", "admin")
        page.fill("input[name=password]", story.airflow.password())
        page.keyboard.press("Enter")
        page.get_by_text("Target Health").click()
        inside = page.frame_locator("iframe")
        row = inside.locator("table.fleet tbody tr").first
        assert "resisting" in row.inner_text()
        assert "more refusals" in row.inner_text()
        row.get_by_role("link", name=REFUSING).click()
        inside.locator("#charts.drawn #chart-score .plotly").wait_for()
        assert "are refused (403" in inside.locator("ul.why-now").inner_text()
        # The address in Airflow leads back here.
        assert page.url.endswith(f"/plugin/target-health/target-health/site?name={REFUSING}")
        inside.locator("details.change summary").click()
        inside.get_by_label("Why").fill("they answered: 괜찮아요")
        inside.locator("details.change button").click()
        inside.get_by_role("status").filter(has_text="Resumed, in your name").wait_for()
        assert "slowed" in inside.locator(".site-head").inner_text()
        inside.get_by_role("link", name="Required actions").click()
        page.wait_for_url("**/required_actions?response_received=false")
    assert complaints == []
    with open_published(story.home) as connection:
        newest = rows_of(
            connection,
            "SELECT kind, decided_by, why FROM actions WHERE site = ? ORDER BY sequence DESC",
            [REFUSING],
        )[0]
    assert newest == {
        "kind": "human_resume",
        "decided_by": "admin",
        "why": "they answered: 괜찮아요",
    }
    control = json.loads(story.home.control.read_text())
    assert control["sites"][REFUSING]["state"] == "slowed"
