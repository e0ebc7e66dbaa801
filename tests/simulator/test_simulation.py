from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from target_health.errors import UsageError
from target_health.simulator import (
    Plan,
    SitePlan,
    Trouble,
    draw_profile,
    simulate,
    simulate_hour,
    simulate_plan,
    story_plan,
)

END = datetime(2026, 3, 5, 14)
COUNT = {"type": "integer", "minimum": 0}
NATIVE = {
    "type": "object",
    "required": ["ts", "url", "status"],
    "additionalProperties": False,
    "properties": {
        "ts": {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$"},
        "url": {"type": "string", "pattern": r"^https://(www\.)?[a-z]+-\d+\.example/[a-z]+/\d+$"},
        "site": {"type": "string"},
        "page_type": {"enum": ["product", "listing", "article", "section", "page"]},
        "status": {"type": ["integer", "null"], "minimum": 100, "maximum": 999},
        "error": {
            "enum": ["connection_reset", "timeout", "dns", "tls", "proxy", "aborted", "other", None]
        },
        "latency_ms": {"type": "integer", "minimum": 1},
        "bytes": COUNT,
        "attempts": {"type": "integer", "minimum": 1},
        "redirects": COUNT,
        "credits": {"type": "number", "exclusiveMinimum": 0},
        "route": {
            "type": "object",
            "required": ["gateway", "country", "pool", "session", "exit"],
            "additionalProperties": False,
            "properties": {
                **{key: {"type": "string"} for key in ("gateway", "country", "pool", "exit")},
                "session": {"enum": ["sticky", "rotating"]},
            },
        },
        "final_url": {"type": "string", "pattern": "^https://"},
        "content_hash": {"type": "string", "pattern": "^[0-9a-f]{16}$"},
        "title": {"type": "string", "minLength": 1},
        "text_length": COUNT,
        "evidence": {
            "type": "array",
            "minItems": 1,
            "items": {"pattern": "^(challenge|soft_block|soft_404|paywalled):[a-z0-9_]+$"},
        },
        "item": {"type": ["object", "array", "null"]},
    },
}
EXTRACTING = {"product", "listing", "article"}


def lines_of(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as log:
        for line in log:
            yield json.loads(line)


def content(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("simulated")
    simulate(16, 2.5, out, seed=3, end=END)
    return out


@pytest.fixture(scope="module")
def rows(simulated: Path) -> list[dict[str, Any]]:
    return [row for path in sorted((simulated / "crawler").iterdir()) for row in lines_of(path)]


def test_a_day_a_file_and_the_last_day_an_hour_a_file(simulated: Path) -> None:
    assert list(content(simulated)) == [
        "crawler/crawl-20260303.jsonl.gz",
        "crawler/crawl-20260304.jsonl.gz",
        *[f"crawler/crawl-20260305T{hour:02d}.jsonl.gz" for hour in range(14)],
        "truth.json",
    ]


def test_every_line_is_native(rows: list[dict[str, Any]]) -> None:
    validator = jsonschema.Draft202012Validator(NATIVE)
    # One line of every shape, not of every number: validating each would take minutes.
    shapes = {
        (
            row["page_type"],
            row["status"],
            row.get("error"),
            tuple(row),
            str(row.get("evidence")),
            row["url"].split("/")[2],
        ): row
        for row in rows
    }
    assert len(shapes) > 100
    for row in shapes.values():
        validator.validate(row)


def test_a_fetch_has_a_response_or_an_error(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        assert (row["status"] is None) == ("error" in row)
        if row["status"] is None:
            assert not row.keys() & {"bytes", "content_hash", "title", "item", "final_url"}


def test_items_are_attempted_on_their_page_types_only(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        if row["page_type"] not in EXTRACTING or row["status"] in {None, 403, 404, 429, 304}:
            assert "item" not in row or row.get("evidence"), row
        elif row["status"] == 200:
            assert "item" in row
        if "challenge" in str(row.get("evidence")):
            assert row.get("item") is None
    kinds = {row["page_type"]: type(row["item"]) for row in rows if row.get("item")}
    assert kinds == {"product": dict, "listing": list, "article": dict}


def test_one_hash_is_one_body(rows: list[dict[str, Any]]) -> None:
    sizes: dict[tuple[str, str], set[tuple[int, int]]] = {}
    for row in rows:
        if "content_hash" in row:
            key = (row["url"].split("/")[2], row["content_hash"])
            sizes.setdefault(key, set()).add((row["bytes"], row["text_length"]))
    assert len(sizes) > 1_000
    assert all(len(size) == 1 for size in sizes.values())


def test_credits_follow_attempts_where_they_are_known(
    rows: list[dict[str, Any]], simulated: Path
) -> None:
    sites = json.loads((simulated / "truth.json").read_text())["sites"]
    price = {"datacenter": 1, "residential": 5, "mobile": 20}
    known = {name for name, site in sites.items() if site["credits_known"]}
    assert 0 < len(known) < len(sites)
    for row in rows:
        site = row["url"].split("/")[2].removeprefix("www.")
        expected = row["attempts"] * price[row["route"]["pool"]] if site in known else None
        assert row.get("credits") == expected


def test_files_hold_their_own_time_in_order(simulated: Path) -> None:
    files = json.loads((simulated / "truth.json").read_text())["files"]
    for name, number in files.items():
        times = [datetime.fromisoformat(row["ts"][:-1]) for row in lines_of(simulated / name)]
        assert times == sorted(times)
        assert len(times) == number
        stamp = name.removeprefix("crawler/crawl-").removesuffix(".jsonl.gz")
        assert {time.strftime("%Y%m%dT%H"[: 6 + 3 * ("T" in stamp)]) for time in times} == {stamp}
        assert END - timedelta(days=2.5) <= times[0]
        assert times[-1] < END


def test_truth_counts_the_rows(rows: list[dict[str, Any]], simulated: Path) -> None:
    truth = json.loads((simulated / "truth.json").read_text())
    counts = Counter(row["url"].split("/")[2].removeprefix("www.") for row in rows)
    assert truth["rows"] == len(rows) == sum(truth["files"].values())
    for name, site in truth["sites"].items():
        assert site["rows"] == counts[name] == sum(site["verdicts"].values())
        assert site["rows"] == sum(site["verdicts_at_landing"].values())
        # Two and a half days are no baseline.
        assert site["expected_band"] == "unscored"
        assert site["expected_action"] == "none"


def test_the_same_seed_gives_the_same_bytes(simulated: Path, tmp_path: Path) -> None:
    simulate(16, 2.5, tmp_path, seed=3, end=END)
    assert content(tmp_path) == content(simulated)


def test_another_seed_gives_another_log(simulated: Path, tmp_path: Path) -> None:
    simulate(16, 2.5, tmp_path, seed=4, end=END)
    ours, theirs = content(tmp_path), content(simulated)
    assert all(ours[name] != theirs[name] for name in theirs)


def test_a_site_does_not_depend_on_the_others(simulated: Path, tmp_path: Path) -> None:
    simulate(3, 2.5, tmp_path, seed=3, end=END)
    hour = "crawler/crawl-20260305T13.jsonl.gz"
    few = list(lines_of(tmp_path / hour))
    hosts = {row["url"].split("/")[2] for row in few}
    assert len(hosts) == 3
    assert few == [r for r in lines_of(simulated / hour) if r["url"].split("/")[2] in hosts]


def test_a_plan_goes_on_where_it_ended(tmp_path: Path) -> None:
    site = SitePlan(
        draw_profile(0, "shop-01.example", seed=0),
        (Trouble("soft_blocks", END - timedelta(hours=3)),),
    )
    first = simulate_plan(Plan(0, END - timedelta(hours=2), END, (site,)), tmp_path / "first")
    whole = simulate_plan(
        Plan(0, END - timedelta(hours=2), END + timedelta(hours=2), (site,)), tmp_path / "whole"
    )
    before, after = content(first.out), content(whole.out)
    hours = [name for name in before if name.startswith("crawler")]
    assert len(hours) == 2
    assert len(after) == 5
    assert all(after[name] == before[name] for name in hours)


def test_an_earlier_simulation_is_replaced_and_nothing_else(tmp_path: Path) -> None:
    simulate(2, 1.5, tmp_path, end=END)
    (tmp_path / "crawler" / "own.jsonl").write_text("{}\n")
    summary = simulate(2, 0.25, tmp_path, end=END, fetches_per_hour=60)
    logs = {f"crawler/{path.name}" for path in (tmp_path / "crawler").iterdir()}
    assert logs == {*summary.files, "crawler/own.jsonl"}


def test_the_volume_can_be_set(tmp_path: Path) -> None:
    summary = simulate(5, 2, tmp_path, end=END, fetches_per_hour=100)
    assert summary.rows == pytest.approx(4_800, rel=0.08)
    assert summary.size_bytes == sum(
        path.stat().st_size for path in (tmp_path / "crawler").iterdir()
    )


def test_kinds_of_trouble_can_be_chosen() -> None:
    def kinds(plan: Plan) -> set[str]:
        return {t.kind for site in plan.sites for t in site.troubles} | {
            t.kind for t in plan.fleet_troubles
        }

    chosen = story_plan(16, 21, END, troubles={"soft_blocks", "dead_gateway"})
    assert kinds(chosen) == {"soft_blocks", "dead_gateway"}
    bands = [site.expected_band for site in chosen.sites]
    assert Counter(bands) == {"healthy": 14, "degraded": 1, "unscored": 1}
    assert kinds(story_plan(16, 21, END, troubles=())) == set()
    assert len(kinds(story_plan(16, 21, END))) >= 14


def test_progress_counts_days(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    simulate(1, 2, tmp_path, end=END, progress=lambda done, of: seen.append((done, of)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sites": 0}, "--sites"),
        ({"days": 0}, "--days"),
        ({"troubles": ["flood"]}, "unknown trouble 'flood'"),
    ],
)
def test_wrong_arguments_are_refused(
    arguments: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=message):
        simulate(**{"sites": 1, "days": 1, "out": tmp_path, "end": END, **arguments})
    assert content(tmp_path) == {}


def test_foreign_files_are_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "truth.json").write_text('{"mine": 1}')
    with pytest.raises(UsageError, match="not a simulation's"):
        simulate(1, 1, tmp_path, end=END)
    assert content(tmp_path) == {"truth.json": b'{"mine": 1}'}
    with pytest.raises(UsageError, match="is a file"):
        simulate(1, 1, tmp_path / "truth.json", end=END)


def test_a_truth_that_names_other_files_removes_none(tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text("mine")
    out = tmp_path / "out"
    out.mkdir()
    (out / "truth.json").write_text(json.dumps({"files": {"../other.txt": 1, "truth.json": 1}}))
    simulate(1, 0.1, out, end=END)
    assert other.read_text() == "mine"


def test_a_big_hour_has_exactly_its_fetches(tmp_path: Path) -> None:
    summary = simulate_hour(40, 5_000, tmp_path / "hour.jsonl", seed=1, end=END)
    again = simulate_hour(40, 5_000, tmp_path / "again.jsonl.gz", seed=1, end=END)
    assert summary.rows == again.rows == 5_000
    plain = (tmp_path / "hour.jsonl").read_bytes()
    assert gzip.decompress((tmp_path / "again.jsonl.gz").read_bytes()) == plain
    rows = [json.loads(line) for line in plain.splitlines()]
    assert len(rows) == 5_000
    validator = jsonschema.Draft202012Validator(NATIVE)
    for row in rows[::50]:
        validator.validate(row)
    times = [row["ts"] for row in rows]
    assert times == sorted(times)
    assert times[0] >= "2026-03-05T13:00"
    assert times[-1] < "2026-03-05T14:00"
    hosts = Counter(row["url"].split("/")[2] for row in rows)
    assert len(hosts) == 40
    assert max(hosts.values()) > 20 * min(hosts.values())
