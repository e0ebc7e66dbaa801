"""Every DAG loads, documents itself, retries, and holds no logic."""

from __future__ import annotations

import ast
from datetime import timedelta
from pathlib import Path

import pytest
from airflow.dag_processing.dagbag import DagBag
from airflow.sdk import DAG
from airflow.serialization.serialized_objects import DagSerialization

from target_health.paths import PROJECT_ROOT

DAG_FILES = sorted((PROJECT_ROOT / "dags").glob("*.py"))
PACKAGE_FILES = sorted((PROJECT_ROOT / "include" / "target_health").rglob("*.py"))
HOURLY = {
    "land",
    "windows",
    "scores",
    "branch",
    "hold_steady",
    "slow_down",
    "pause_sites",
    "publish",
    "announce",
    "questions",
    "ask_people",
    "page",
}
FORMS = {"decide", "review"}
# Tasks that write no warehouse, so that many may go at once.
SIDE_BY_SIDE = {*FORMS, "ask_people"}


@pytest.fixture(scope="module")
def dags(dags_folder: Path) -> dict[str, DAG]:
    bag = DagBag(dag_folder=dags_folder, load_op_links=False)
    assert bag.import_errors == {}
    return bag.dags


def test_one_file_a_dag_of_the_same_name(dags: dict[str, DAG]) -> None:
    assert set(dags) == {path.stem for path in DAG_FILES}


def test_every_dag_serializes_and_tells_what_it_is(dags: dict[str, DAG]) -> None:
    for dag in dags.values():
        assert dag.tasks
        dag.check_cycle()
        DagSerialization.to_dict(dag)
        assert dag.doc_md
        assert dag.doc_md.strip().startswith("### ")
        assert dag.catchup is False


def test_every_task_is_documented_and_retries_with_growing_pauses(dags: dict[str, DAG]) -> None:
    for dag in dags.values():
        for task in dag.tasks:
            assert task.doc_md or task.python_callable.__doc__, task.task_id
            assert task.retries >= 2, task.task_id
            assert task.retry_exponential_backoff > 1, task.task_id
            assert task.max_retry_delay <= timedelta(minutes=15)


def test_one_run_and_one_task_of_a_kind_writes_at_a_time(dags: dict[str, DAG]) -> None:
    for dag in dags.values():
        if dag.dag_id != "site_review":
            assert dag.max_active_runs == 1
        for task in dag.tasks:
            fetches = (dag.dag_id, task.task_id) == ("canaries", "fetch")
            assert task.queue == ("default" if fetches else "target_health_writer")
            if task.task_id not in SIDE_BY_SIDE:
                assert task.max_active_tis_per_dag == 1


def test_a_thousand_questions_wait_at_once(dags: dict[str, DAG]) -> None:
    """A form that waits counts against its task's limit, and its run against the DAG's."""
    dag = dags["site_review"]
    assert dag.max_active_runs >= 1000
    assert set(dag.task_ids) >= FORMS
    for name in FORMS:
        assert dag.get_task(name).max_active_tis_per_dag is None
        assert dag.get_task(name).response_timeout is None
    downstream = {task.task_id: task.downstream_task_ids for task in dag.tasks}
    assert downstream["ask"] == FORMS
    assert downstream["decide"] == {"carry_out"}
    assert downstream["review"] == {"file_review"}


def test_hourly_run_is_wired_as_designed(dags: dict[str, DAG]) -> None:
    dag = dags["crawl_health"]
    downstream = {task.task_id: task.downstream_task_ids for task in dag.tasks}
    assert set(downstream) == HOURLY
    assert downstream["land"] == {"windows"}
    assert downstream["windows"] == {"scores"}
    assert downstream["scores"] == {"branch"}
    assert downstream["branch"] == {"hold_steady", "slow_down", "pause_sites", "publish"}
    for name in ("hold_steady", "slow_down", "pause_sites"):
        assert downstream[name] == {"publish"}
    assert downstream["publish"] == {"announce", "questions", "page"}
    assert downstream["questions"] == {"ask_people"}
    # Nobody waits for a page until all questions are asked.
    assert downstream["ask_people"] == downstream["page"] == set()
    assert dag.get_task("publish").trigger_rule == "none_failed"
    assert dag.get_task("land").trigger_rule == "all_success"
    assert [asset.name for asset in dag.get_task("announce").outlets] == ["target_health"]


def test_hourly_run_has_an_interval_of_an_hour_from_minute_five(dags: dict[str, DAG]) -> None:
    timetable = dags["crawl_health"].timetable
    assert type(timetable).__name__ == "CronDataIntervalTimetable"
    assert timetable.expression == "5 * * * *"
    assert str(timetable.timezone) == "UTC" or timetable.timezone.name == "UTC"


def test_branches_are_tasks_of_the_hourly_run(dags: dict[str, DAG]) -> None:
    from target_health.airflow_bridge import BRANCH, PUBLISH
    from target_health.decisions import BRANCHES

    dag = dags["crawl_health"]
    assert set(BRANCHES) | {PUBLISH} == dag.get_task(BRANCH).downstream_task_ids


def test_backfill_asks_for_its_range(dags: dict[str, DAG]) -> None:
    dag = dags["backfill_scores"]
    assert set(dag.params) == {"start", "end"}
    assert dag.task_ids == ["backfill"]


def test_canaries_are_fetched_every_quarter_of_an_hour_then_recorded(dags: dict[str, DAG]) -> None:
    dag = dags["canaries"]
    assert {task.task_id: task.downstream_task_ids for task in dag.tasks} == {
        "fetch": {"record"},
        "record": set(),
    }
    assert dag.timetable.expression == "*/15 * * * *"
    assert dag.get_task("fetch").execution_timeout < timedelta(minutes=15)


def test_accepting_asks_for_site_page_and_why(dags: dict[str, DAG]) -> None:
    dag = dags["accept_canary"]
    assert set(dag.params) == {"site", "page", "check", "why", "by"}
    assert dag.task_ids == ["accept"]


@pytest.mark.parametrize("path", DAG_FILES, ids=lambda path: path.stem)
def test_dags_only_wire(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        assert not isinstance(
            node, ast.If | ast.For | ast.While | ast.Try | ast.IfExp | ast.ListComp | ast.Lambda
        ), f"{path.name}:{node.lineno} holds logic: it belongs into the package"
    assert imported(tree) <= {"airflow.sdk", "target_health"}


def test_airflow_is_imported_in_one_module_only() -> None:
    importers = [
        path.name
        for path in PACKAGE_FILES
        if any(
            name.split(".")[0] == "airflow"
            for name in imported(ast.parse(path.read_text(encoding="utf-8")))
        )
    ]
    assert importers == ["airflow_bridge.py"]


def imported(tree: ast.AST) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return names
