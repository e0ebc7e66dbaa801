"""``target-health suite``, and what ``status`` says of a suite that is broken."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from target_health import job
from target_health.cli import exit_status
from target_health.extraction.suites import read_suite
from tests.extraction.conftest import DAY, HOUR, NOW, Bench, spread

GOOD = {"name": "lamp", "price": 3}


@pytest.fixture
def published(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setenv("TARGET_HEALTH_HOME", str(bench.home.root))
    monkeypatch.setenv("TARGET_HEALTH_EXPECTATIONS", str(bench.suites))
    monkeypatch.setenv("TARGET_HEALTH_CONFIG", str(bench.configuration.directory))
    bench.suite("listing", "fields: 3")
    bench.land(*spread(DAY, [GOOD] * 5), *spread(DAY, [GOOD], page_type="listing"))
    bench.run(DAY, DAY + HOUR)
    job.publish_step(bench.home, bench.configuration, now=NOW, control=False)
    return bench


def test_a_suite_is_proposed_written_once_and_checked(
    published: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_status(["suite", "draft", "product"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("# Proposed from 5 items of 1 site, 2026-03-02T00:00:00Z to ")
    path: Path = published.suites / "product.yaml"
    assert exit_status(["suite", "draft", "product", "--write"]) == 0
    assert path.read_text(encoding="utf-8") == printed
    assert read_suite(path).fields == ("name", "price")
    assert exit_status(["suite", "draft", "product", "--write"]) == 2
    assert "has a suite already" in capsys.readouterr().err
    assert exit_status(["suite", "draft", "nobody"]) == 2
    assert "there are product, listing" in capsys.readouterr().err
    assert path.read_text(encoding="utf-8") == printed


def test_a_broken_suite_is_seen_in_status(
    published: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    said = "Not validated: page type listing (1 items of the newest day): listing.yaml: fields: "
    for arguments in (["status"], ["status", "shop.example"]):
        assert exit_status(arguments) == 0
        assert said in capsys.readouterr().out


def test_check_names_every_suite_and_fails_for_a_broken_one(
    published: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    published.suite("product", "fields: {name: {expect_column_values_to_match_regex: {regex: x}}}")
    assert exit_status(["suite", "check", "--json"]) == 2
    captured = capsys.readouterr()
    rows = {row["page_type"]: row for row in json.loads(captured.out)}
    assert rows["product"]["problem"] is None
    assert (rows["product"]["fields"], rows["product"]["expectations"]) == (1, 1)
    assert "listing.yaml: fields: " in rows["listing"]["problem"]
    assert captured.err.startswith("target-health: listing.yaml: fields: ")
    (published.suites / "listing.yaml").unlink()
    assert exit_status(["suite", "check"]) == 0
