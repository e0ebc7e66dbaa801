"""The story of ``make run``: simulated logs, their history, the newest hour in Airflow, the fleet.

What is done already is not done again: within the same hour it only shows the fleet; after that, it
simulates the hours that are missing.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from rich.console import Console

from target_health import job, local_airflow
from target_health.airflow_api import AirflowApi
from target_health.airflow_settings import DEFAULT_PORT, LocalAirflow
from target_health.config import load_configuration
from target_health.errors import TargetHealthError
from target_health.fleet_table import fleet_table
from target_health.paths import PROJECT_ROOT, REPORTS, Home
from target_health.simulator import simulate_plan, story_plan
from target_health.times import HOUR, floor_hour, iso, parse_time, to_utc, utc_now
from target_health.warehouse.published import open_published
from target_health.warehouse.rows import rows_of

SITES, DAYS, SEED = 12, 21, 7
DAG_ID = "crawl_health"
RUN_WAIT_S = 900
# The schedule's minute: until then the scheduler's newest run is for the hour before.
SCHEDULE_MINUTE = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Story:
    """How far the demonstration has come; kept in ``demo.json``, times as ISO 8601."""

    began_at: str
    simulated_until: str
    is_backfilled: bool = False
    run_id: str | None = None
    run_end: str | None = None


def story_file(home: Home) -> Path:
    return home.root / "demo.json"


def load_story(home: Home) -> Story | None:
    try:
        return Story(**json.loads(story_file(home).read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError):
        raise TargetHealthError(
            f"{story_file(home)} is damaged: remove {home.root} and run again"
        ) from None


def save_story(home: Home, story: Story) -> Story:
    home.root.mkdir(parents=True, exist_ok=True)
    partial = story_file(home).with_suffix(".tmp")
    partial.write_text(json.dumps(asdict(story), indent=1) + "\n", encoding="utf-8")
    partial.replace(story_file(home))
    return story


class Narrator:
    """Tells each step once; on a terminal with a spinner that says how far it is."""

    def __init__(self) -> None:
        self.console = Console(width=None if sys.stdout.isatty() else 120, highlight=False)

    @contextmanager
    def step(self, title: str) -> Iterator[Any]:
        """Yields a function that shows where the step is."""
        started = time.monotonic()
        if self.console.is_terminal:
            with self.console.status(title) as status:
                yield lambda text: status.update(f"{title}: {text}")
        else:
            self.console.print(f"{title} …")
            yield lambda text: None
        self.console.print(f"[green]✓[/green] {title} ({time.monotonic() - started:.0f} s)")


def run(home: Home, airflow: LocalAirflow) -> None:
    """The whole story; raises ``TargetHealthError`` where it stops."""
    narrator = Narrator()
    hour = floor_hour(utc_now())
    story = load_story(home) or Story(iso(hour), iso(hour - DAYS * 24 * HOUR))
    began_at = parse_time(story.began_at)
    if not story.is_backfilled:
        # The newest hour is left for the DAG to land.
        story = simulate_until(home, story, began_at - HOUR, narrator)
        with narrator.step(f"Scoring {DAYS} days of history") as show:
            job.backfill(
                home,
                load_configuration(),
                began_at - DAYS * 24 * HOUR,
                began_at - HOUR,
                now=utc_now(),
                progress=show,
            )
        story = save_story(home, replace(story, is_backfilled=True))
    story = simulate_until(home, story, hour, narrator)
    if story.run_end is None or parse_time(story.run_end) < hour:
        story = run_in_airflow(home, story, hour, airflow, narrator)
    show_fleet(home, airflow, story, narrator.console)


def simulate_until(home: Home, story: Story, end: datetime, narrator: Narrator) -> Story:
    """Simulate the hours from where the story is to ``end`` into the inbox."""
    start = parse_time(story.simulated_until)
    if start >= end:
        return story
    hours = (end - start) // HOUR
    span = (
        f"{round(hours / 24)} days"
        if hours >= 48
        else f"{hours} hours"
        if hours > 1
        else "the hour"
    )
    plan = replace(
        story_plan(SITES, DAYS, parse_time(story.began_at), seed=SEED), start=start, end=end
    )
    with narrator.step(f"Simulating crawl logs: {SITES} sites, {span} to {iso(end)}") as show:
        # Beside the inbox first, so that nobody lands half a file.
        aside = home.root / "demo"
        summary = simulate_plan(
            plan, aside, progress=lambda done, of: show(f"{100 * done // of} %")
        )
        for name in summary.files:
            (home.inbox / name).parent.mkdir(parents=True, exist_ok=True)
            (aside / name).replace(home.inbox / name)
        shutil.rmtree(aside)
    return save_story(home, replace(story, simulated_until=iso(end)))


def run_in_airflow(
    home: Home, story: Story, hour: datetime, airflow: LocalAirflow, narrator: Narrator
) -> Story:
    """Have Airflow run the DAG for the hour that ends at ``hour``; returns the story with its run.

    A scheduler that starts runs the newest interval by itself. That is the hour before in the first
    minutes of an hour; then, or where Airflow was up already, a run is triggered.
    """
    since = utc_now()
    with narrator.step("Starting Airflow") as show:
        started = local_airflow.start(airflow, show)
    api = local_airflow.api_of(airflow)
    try:
        with narrator.step(
            f"Running the DAG {DAG_ID} for {iso(hour - HOUR)} to {iso(hour)}"
        ) as show:
            if started:
                wait_for_scheduled(api, utc_now(), show)
            wait_until_idle(api, show)
            done = run_for(api, hour, since) or triggered(api, show)
        if done["state"] != "success":
            raise TargetHealthError(failure_of(api, done, airflow))
    finally:
        if started:
            with narrator.step("Stopping Airflow"):
                local_airflow.stop(airflow)
    return save_story(home, replace(story, run_id=done["dag_run_id"], run_end=iso(hour)))


def wait_for_scheduled(api: AirflowApi, now: datetime, show: Any) -> None:
    """Until the scheduler has made the run of the newest interval, as it does when it starts."""
    newest_end = floor_hour(now - SCHEDULE_MINUTE) + SCHEDULE_MINUTE
    deadline = time.monotonic() + RUN_WAIT_S
    while time.monotonic() < deadline:
        if any(interval_end(run) == newest_end for run in api.runs(DAG_ID)):
            return
        show("waiting for the scheduler")
        time.sleep(1)
    raise TargetHealthError("the scheduler made no run of crawl_health: see `make up`")


def wait_until_idle(api: AirflowApi, show: Any) -> None:
    """Until no run is queued or running."""
    deadline = time.monotonic() + RUN_WAIT_S
    while time.monotonic() < deadline:
        going = [run for run in api.runs(DAG_ID) if run["state"] in ("queued", "running")]
        if not going:
            return
        show(tasks_text(api.task_states(DAG_ID, going[-1]["dag_run_id"])))
        time.sleep(1)
    raise TargetHealthError(f"the run is not done after {RUN_WAIT_S} s: look at it with `make up`")


def tasks_text(states: dict[str, str | None]) -> str:
    done = sum(state in ("success", "skipped") for state in states.values())
    names = [name for name, state in states.items() if state in ("running", "up_for_retry")]
    return f"{done} of {len(states)} tasks done" + (f", {' and '.join(names)}" if names else "")


def interval_end(run: dict[str, Any]) -> datetime | None:
    text = run["data_interval_end"]
    return to_utc(datetime.fromisoformat(text)) if text else None


def run_for(api: AirflowApi, hour: datetime, since: datetime) -> dict[str, Any] | None:
    """A scheduled run of the hour that ends at ``hour``, started no earlier than ``since``."""
    for run in api.runs(DAG_ID):
        end = interval_end(run)
        if (
            run["run_type"] == "scheduled"
            and end is not None
            and floor_hour(end) == hour
            and parse_time(run["start_date"]) >= since
        ):
            return run
    return None


def triggered(api: AirflowApi, show: Any) -> dict[str, Any]:
    """A run triggered by hand, when it is done: it takes the last complete hour."""
    run_id = api.trigger(DAG_ID)["dag_run_id"]
    wait_until_idle(api, show)
    return api.call("GET", f"dags/{DAG_ID}/dagRuns/{run_id}")


def failure_of(api: AirflowApi, run: dict[str, Any], airflow: LocalAirflow) -> str:
    """One line: which task failed, what it said last, where to look."""
    states = api.task_states(DAG_ID, run["dag_run_id"])
    failed = [name for name, state in states.items() if state == "failed"] or ["?"]
    folder = airflow.root / "logs" / f"dag_id={DAG_ID}" / f"run_id={run['dag_run_id']}"
    return (
        f"the DAG run failed in {', '.join(failed)}: its log is under {folder}; "
        "open it with `make up`"
    )


def show_fleet(home: Home, airflow: LocalAirflow, story: Story, console: Console) -> None:
    """The fleet, and what to do next."""
    with open_published(home) as connection:
        rows = rows_of(connection, "SELECT * FROM site_health")
    console.print(fleet_table(rows))
    as_of = max(row["as_of"] for row in rows)
    console.print(f"As of {iso(as_of)}, decided by the Airflow run {story.run_id}.", markup=False)
    console.print("\nNext:")
    for number, (what, how) in enumerate(next_steps(home, airflow, story), start=1):
        console.print(f"  {number}. {what}", markup=False)
        for line in how:
            console.print(f"     {line}", markup=False, soft_wrap=True)


def next_steps(
    home: Home, airflow: LocalAirflow, story: Story
) -> list[tuple[str, tuple[str, ...]]]:
    port = "" if airflow.port == DEFAULT_PORT else f" PORT={airflow.port}"
    report = shown_path(REPORTS / "worst_sites.sql")
    query = (
        f"import duckdb; duckdb.connect('{shown_path(home.published)}', read_only=True)"
        f".sql(open('{report}').read()).show()"
    )
    return [
        (
            "See it in Airflow's UI: the fleet, and the run:",
            (
                f"make up{port}",
                f"{airflow.url}/plugin/target-health",
                f"{airflow.url}/dags/{DAG_ID}/runs/{story.run_id}",
            ),
        ),
        (
            "Ask DuckDB, with any SQL or a ready query of sql/reports/:",
            (f'.venv/bin/python -c "{query}"',),
        ),
        (
            "Try it on your own crawl log; nothing is kept:",
            (".venv/bin/target-health try YOUR-CRAWL.LOG",),
        ),
    ]


def shown_path(path: Path) -> str:
    """As short as it can be written from the project's root, where ``make`` runs."""
    return str(path.relative_to(PROJECT_ROOT) if path.is_relative_to(PROJECT_ROOT) else path)


def main() -> int:
    home = Home.from_environment()
    try:
        port = local_airflow.port_of(os.environ.get("PORT", ""))
        run(home, LocalAirflow.of(home, port))
    except TargetHealthError as problem:
        print(f"target-health: {problem}", file=sys.stderr)
        return problem.exit_status
    except KeyboardInterrupt:
        print("target-health: stopped; `make run` goes on from here", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
