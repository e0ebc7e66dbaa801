"""The console script from outside: exit statuses, one clear line, JSON."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from target_health.cli import exit_status
from tests.job.logs import steady, write_log

START = datetime(2026, 3, 1)
EVERY = timedelta(seconds=12)
TIMES = ["--start", "2026-03-01T00:00Z", "--end", "2026-03-01T02:00Z"]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TARGET_HEALTH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TARGET_HEALTH_CONFIG", str(tmp_path / "config"))
    (tmp_path / "config").mkdir()
    return tmp_path / "home"


@pytest.fixture
def log(home: Path) -> Path:
    fetches = steady("shop.example", START, START + timedelta(hours=2), EVERY)
    return write_log(home / "inbox" / "crawler" / "a.jsonl", fetches)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nonsense"], "nonsense"),
        (["run", "--start", "2026-03-01"], "--end"),
        (["run", "--start", "yesterday", "--end", "2026-03-01"], "--start: 'yesterday'"),
        (["run", "--start", "2026-03-02", "--end", "2026-03-01"], "before"),
        (["backfill", "--start", "2026-03-01", "--end", "2026-03-01"], "before"),
        (["pause", "--by", "Kim", "--why", "test"], "--all"),
        (["pause", "nowhere.example", "--by", "Kim", "--why", "test"], "nowhere.example"),
        (["land", "--inbox", "/nowhere/at/all"], "/nowhere/at/all"),
        (["try", "/nowhere/at/all.log"], "/nowhere/at/all.log"),
        (["backfill", *TIMES, "--config", "/nowhere.yaml"], "/nowhere.yaml"),
        (["classify", "/nowhere.html"], "/nowhere.html"),
    ],
)
def test_wrong_arguments_are_one_line_and_status_2(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_status(arguments) == 2
    errors = capsys.readouterr().err
    assert errors.count("\n") == 1
    assert says in errors


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("scoring.yaml", "weights: {hard_block: heavy}", "weights.hard_block: must be a number"),
        ("scoring.yaml", "wieghts: {}", "wieghts: unknown key; allowed:"),
        ("scoring.yaml", "window_minutes: 17", "window_minutes: must be auto or one of 5, 10"),
        ("scoring.yaml", "weights: {hard_block: 101}", "weights.hard_block: must be less"),
        ("scoring.yaml", "min_requests: 5\nmin_requests: 6", "stands twice"),
        ("scoring.yaml", "baseline_days: 90", "baseline_days: must be"),
        ("scoring.yaml", "healthy_from: 40", "degraded_from: must not be above"),
        ("sources.yaml", "sources: {x: {constants: {foo: 1}}}", "allowed: page_type, route, site"),
        ("scoring.yaml", "- 1", "must be a mapping"),
        ("scoring.yaml", "min_requests: [", "cannot be read as YAML"),
        ("sites.yaml", "sites: {a.example: {colour: red}}", "sites.a.example.colour: unknown key"),
        ("sites.yaml", "sites: {a.example: {min_requests: x}}", "sites.a.example.min_requests"),
        (
            "sites.yaml",
            "sites: {a.example: {hosts: ['*.x.example']}, b.example: {hosts: [q.x.example]}}",
            "overlaps",
        ),
        ("sources.yaml", "sources: {a: {format: word}}", "sources.a.format"),
        ("policy.yaml", "mode: shout", "mode"),
    ],
)
def test_a_broken_configuration_is_one_line_that_names_file_and_key(
    tmp_path: Path,
    name: str,
    content: str,
    says: str,
    capsys: pytest.CaptureFixture[str],
    log: Path,
) -> None:
    (tmp_path / "config" / name).write_text(content)
    assert exit_status(["run", *TIMES]) == 2
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 1
    assert name in errors[0]
    assert says in errors[0]
    assert not (tmp_path / "home" / "lake").exists()


def test_status_before_the_first_run_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_status(["status"]) == 1
    assert "target-health run" in capsys.readouterr().err


def json_of(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> Any:
    capsys.readouterr()
    assert exit_status([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_from_log_to_control_by_commands(
    log: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    landed = json_of(["land"], capsys)
    assert {key: landed[key] for key in ("files", "rows", "skipped", "quarantined")} == {
        "files": 1,
        "rows": 600,
        "skipped": 0,
        "quarantined": 0,
    }
    assert list(landed["sources"]) == ["crawler"]
    assert landed["sources"]["crawler"]["skipped"] == {}
    run = json_of(["run", *TIMES, "--act"], capsys)
    assert run["acted"] is True
    assert run["landing"]["rows"] == 0
    (row,) = json_of(["status"], capsys)
    assert row["site"] == "shop.example"
    assert row["unscored_reason"] == "no baseline yet"
    assert row["as_of"] == "2026-03-01T02:00:00Z"
    decided = ["--by", "Kim", "--why", "night"]
    assert json_of(["pause", "shop.example", *decided], capsys)["actions"][0]["decided_by"] == "Kim"
    assert json_of(["control", "show"], capsys)["sites"]["shop.example"]["state"] == "paused"
    (row,) = json_of(["status", "shop.example"], capsys)
    assert row["state"] == "paused"
    json_of(["resume", "--all", *decided], capsys)
    assert json_of(["control", "show"], capsys)["sites"]["shop.example"]["state"] == "active"
    assert exit_status(["status", "shop.example", "--why"]) == 0
    assert "no baseline yet" in capsys.readouterr().out


def test_try_keeps_nothing(log: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(home.rglob("*"))
    tried = json_of(["try", str(log)], capsys)
    assert tried["sites"][0]["site"] == "shop.example"
    assert tried["sites"][0]["ok"] == 600
    assert exit_status(["try", str(log)]) == 0
    assert "shop.example" in capsys.readouterr().out
    assert sorted(home.rglob("*")) == before


def test_backfill_under_other_numbers_stands_beside_the_active_scores(
    log: Path, home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    json_of(["backfill", *TIMES], capsys)
    other = tmp_path / "other.yaml"
    other.write_text("min_requests: 10\n")
    report = json_of(["backfill", *TIMES, "--config", str(other)], capsys)
    assert report["config_changes"] == {"min_requests": {"active": 50, "config": 10}}
    (row,) = json_of(["status"], capsys)
    assert row["config_version"] != report["config_version"]
    assert not (home / "control" / "crawl_control.json").exists()


def test_landing_counts_lines_by_reason(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = home / "inbox" / "s" / "a.jsonl"
    log.parent.mkdir(parents=True)
    log.write_text('{"ts": "2026-03-01T00:00:00Z", "url": "https://a.example/"}\nx\n\n\n')
    landed = json_of(["land"], capsys)
    assert (landed["rows"], landed["skipped"], landed["quarantined"]) == (1, 2, 1)
    source = landed["sources"]["s"]
    assert source["skipped"] == {"blank line": 2}
    assert list(source["quarantined"].values()) == [1]


def test_a_run_into_the_future_does_not_act(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    far = ["--start", "2026-03-01", "--end", "2199-01-01"]
    assert exit_status(["run", *far, "--act"]) == 2
    assert "future" in capsys.readouterr().err
    assert exit_status(["run", *TIMES]) == 0
    assert "ends more than 2 hours from the clock" in capsys.readouterr().out


def test_backfill_says_what_of_another_configuration_had_an_effect(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    json_of(["backfill", *TIMES], capsys)
    other = tmp_path / "other.yaml"
    other.write_text("window_minutes: 60\n")
    assert exit_status(["backfill", *TIMES, "--config", str(other)]) == 0
    shown = capsys.readouterr().out
    assert "--config changes window_minutes auto → 60; every other number is the active" in shown
    assert "so window_minutes changed none of them" in shown


def test_places_that_cannot_be_used_are_one_plain_line(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config" / "scoring.yaml").mkdir()
    assert exit_status(["land"]) == 2
    errors = capsys.readouterr().err
    assert errors.endswith("scoring.yaml: cannot be read: is a directory, not a file\n")
    (tmp_path / "config" / "scoring.yaml").rmdir()
    home.write_text("a file")
    for command in (["land"], ["run", *TIMES], ["control", "show"]):
        assert exit_status(command) == 1
        errors = capsys.readouterr().err
        assert errors.count("\n") == 1
        assert "Error" not in errors
        assert f"set TARGET_HEALTH_HOME (now {home})" in errors
