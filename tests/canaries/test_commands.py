"""``target-health canary`` and ``status`` from outside."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from target_health.cli import exit_status
from tests.canaries.conftest import SITE, Canaries
from tests.canaries.servers import LocalSite, Reply
from tests.canaries.test_deceit import PRICE, shop

PRODUCT = shop().replace(
    "</head>",
    '<meta property="product:price:amount" content="49.90"></head>',
)


@pytest.fixture
def here(canaries: Canaries, monkeypatch: pytest.MonkeyPatch) -> Canaries:
    monkeypatch.setenv("TARGET_HEALTH_HOME", str(canaries.home.root))
    monkeypatch.setenv("TARGET_HEALTH_CONFIG", str(canaries.directory))
    canaries.configuration()
    return canaries


def said(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> str:
    assert exit_status(list(arguments)) == status
    output = capsys.readouterr()
    return output.out if status == 0 else output.err


def test_a_proposed_canary_holds_as_it_stands(
    here: Canaries, site: LocalSite, capsys: pytest.CaptureFixture[str]
) -> None:
    url = site.page("/p/blue-kettle.html", PRODUCT)
    proposed = yaml.safe_load(said(capsys, "canary", "add", url))
    [(name, entry)] = proposed["sites"].items()
    [page] = entry["pages"]
    assert (name, page["id"]) == ("127.0.0.1", "blue-kettle")
    given = {key for check in page["checks"] for key in check}
    assert given >= {"status", "title", "equals", "number", "count", "size", "structure"}

    (here.directory / "canaries.yaml").write_text(
        yaml.safe_dump({"fetching": here.fetching, **proposed})
    )
    assert "kept" in said(capsys, "canary", "record", name, "--by", "Ada")
    report = json.loads(said(capsys, "canary", "run", "--json"))
    assert report["outcomes"] == {"pass": 1}
    listed = json.loads(said(capsys, "canary", "list", "--json"))
    assert [(row["page"], row["outcome"]) for row in listed] == [("blue-kettle", "pass")]


def test_data_and_missing_pages_are_proposed_too(
    here: Canaries, site: LocalSite, capsys: pytest.CaptureFixture[str]
) -> None:
    body = json.dumps({"id": 7, "name": "Kettle", "price": 49.9, "items": [1, 2, 3]})
    url = site.page("/api", Reply(body, headers={"Content-Type": "application/json"}))
    page = json.loads(said(capsys, "canary", "add", url, "--json"))["page"]
    assert {"jsonpath": "$.price", "number": 49.9} in page["checks"]
    assert {"jsonpath": "$.items[*]", "count": [1, 6]} in page["checks"]
    shown = said(capsys, "canary", "add", f"{site.url}/no", "--missing", "--json")
    page = json.loads(shown)["page"]
    assert page == {"id": "no", "url": f"{site.url}/no", "missing": True}
    assert "did not come" in said(capsys, "canary", "add", f"{site.url}/no", status=1)


def test_accepting_and_status(
    here: Canaries, site: LocalSite, capsys: pytest.CaptureFixture[str]
) -> None:
    here.page("kettle", site.page("/p", shop()), PRICE)
    here.configuration()
    said(capsys, "canary", "run")
    site.page("/p", shop(price="55"))
    said(capsys, "canary", "run")
    shown = said(capsys, "canary", "run")
    assert "deceived" in shown
    assert "Canaries: deceived" in said(capsys, "status", SITE)
    with_published(here)
    told = said(capsys, "status", SITE)
    assert SITE in told.partition("Canaries: deceived")[0]
    assert "expected 49.9 ± 0.5, got 55" in told
    accepted = said(capsys, "canary", "accept", SITE, "kettle", "--by", "Ada", "--why", "raised")
    assert "49.9 ± 0.5 → 55" in accepted
    assert "Canaries: good" in said(capsys, "status", SITE)


def with_published(here: Canaries) -> None:
    """A site is in ``status`` once a fetch of it has landed."""
    from target_health import job
    from target_health.times import utc_now
    from target_health.warehouse import open_writer

    with open_writer(here.home) as connection:
        connection.execute("INSERT INTO known_sites VALUES (?, NULL)", [SITE])
        job.publish(connection, here.home, here.configuration(), now=utc_now(), control=False)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["add", "shop.example"], "is no URL"),
        (["run", "nowhere.example"], "nowhere.example: has no canaries"),
        (["accept", SITE, "pan", "--by", "A", "--why", "x"], "has no canary 'pan'; it has kettle"),
        (["record", SITE, "--page", "pan"], "has no canary 'pan'"),
        (["list", "nowhere.example"], "has no canaries"),
    ],
)
def test_wrong_arguments_are_one_line(
    here: Canaries, arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    here.page("kettle", "http://127.0.0.1:9/", PRICE)
    here.configuration()
    error = said(capsys, "canary", *arguments, status=2)
    assert says in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("check", "says"),
    [
        ({"css": "a["}, "checks.0: a check of css says exactly one of"),
        ({"css": "a[", "equals": 1}, "'a[' is no CSS selector"),
        ({"xpath": "//a[", "equals": 1}, "'//a[' is no XPath"),
        ({"jsonpath": "$.a[", "equals": 1}, "'$.a[' is no JSONPath"),
        ({"regex": "(", "equals": 1}, "'(' is no regular expression"),
        ({"header": "a b", "equals": 1}, "'a b' is no header's name"),
        ({"css": "a", "equals": 1, "number": 2}, "says exactly one of"),
        ({"css": "a", "xpath": "b", "equals": 1}, "names exactly one of"),
        ({"title": "a", "equals": 1}, "title takes no equals"),
        ({"css": "a", "range": [3, 1]}, "range: the least 3 is above the most 1"),
        ({"css": "a", "number": "4"}, "checks.0.number: must be a number (got '4')"),
        ({"css": "a", "number": 4, "tolerance": "x"}, "tolerance: a number, or a share"),
        ({"css": "a", "count": 4, "tolerance": 1}, "tolerance goes with number"),
        ({"absent": " "}, "absent: must not be empty"),
        ({"cs": "a"}, "checks.0.cs: unknown key; allowed: absent"),
    ],
)
def test_a_wrong_check_is_told_in_one_line(
    here: Canaries, check: dict[str, Any], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    here.page("kettle", "http://127.0.0.1:9/", check)
    here.configuration()
    error = said(capsys, "canary", "list", status=2)
    assert says in error
    assert "canaries.yaml" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("sites: [1]", "sites: must be a mapping"),
        ("sites: {A.example: , a.example: }", "stands twice"),
        ("rules: {wrong_runs: 0}", "rules.wrong_runs: must be greater than 0"),
        ("sites: {a.example: {pages: [{id: x, url: a.example}]}}", "must be a whole URL"),
        ("sites: {a.example: {pages: [{id: x, url: 'http://a'}]}}", "needs checks, or missing"),
        ("fetching: {timeout: 3}", "fetching.timeout: unknown key; allowed: concurrency"),
    ],
)
def test_a_wrong_file_is_told_in_one_line(
    here: Canaries, text: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (here.directory / "canaries.yaml").write_text(text)
    assert says in said(capsys, "canary", "list", status=2)


def test_the_shipped_example_is_right(
    here: Canaries, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from target_health.paths import SHIPPED_CONFIG

    for name, first, last in (
        ("canaries.yaml", "# sites:", "sites: {}"),
        ("routes.yaml", "# routes:", "routes:"),
    ):
        lines = (SHIPPED_CONFIG / name).read_text().splitlines()
        example = lines[lines.index(first) : lines.index(last)]
        (here.directory / name).write_text("\n".join(line[2:] for line in example))
    listed = json.loads(said(capsys, "canary", "list", "--json"))
    assert {(row["page"], row["route"]) for row in listed} == {
        ("kettle", "dc-de"), ("kettle", "office"), ("api", "dc-de"), ("api", "office"),
        ("nowhere", "dc-de"), ("nowhere", "office"), ("app", "crawler"),
    }  # fmt: skip
