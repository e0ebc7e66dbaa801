"""What a crawler reads of the control file, and the requests that it keeps."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_health.config.sites import load_sites, normal_host
from target_health.control.document import validate
from target_health.crawl_control import (
    ControlFollower,
    DeferredRequests,
    Order,
    SiteRule,
    parse_orders,
)
from target_health.landing.hosts import SiteFinder, site_key_sql
from tests.crawlers.crawls import control, until, write_control
from tests.crawlers.local_site import LocalSite


def test_orders_are_read_from_what_the_system_writes(tmp_path: Path) -> None:
    control(tmp_path, a_example=2, b_example="paused", c_example="stopped", d_example="active")
    text = (tmp_path / "control/crawl_control.json").read_bytes()
    validate(json.loads(text))
    orders = parse_orders(text)
    assert orders["a.example"] == Order("slowed", 0.25, 4)
    assert [site for site, order in orders.items() if order.halted] == ["b.example", "c.example"]
    assert orders["b.example"].allows(canary=True)
    assert not orders["b.example"].allows(canary=False)
    assert not orders["c.example"].allows(canary=True)
    assert orders["d.example"] == Order()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"version": 2, "sites": {}}',
        '{"version": 1}',
        '{"version": 1, "sites": {"a": {}}}',
        '{"version": 1, "sites": {"a": {"state": "asleep"}}}',
        '{"version": 1, "sites": {"a": {"state": "slowed", "concurrency_factor": "half"}}}',
        '{"version": 1, "sites": {"a": {"state": "slowed", "concurrency": -1}}}',
    ],
)
def test_a_broken_control_file_is_told(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no JSON|holds no sites|version|gives a"):
        parse_orders(text)


def test_nothing_in_a_control_file_makes_a_crawl_faster() -> None:
    text = json.dumps(
        {
            "version": 1,
            "sites": {"a": {"state": "active", "concurrency_factor": 4, "revisit_factor": 0.1}},
        }
    )
    assert parse_orders(text)["a"] == Order()


def test_a_url_is_polled_and_an_outage_leaves_the_last_good_copy(tmp_path: Path) -> None:
    control(tmp_path, a_example="paused")
    answer: list[Any] = [
        200,
        {"ETag": '"1"'},
        (tmp_path / "control/crawl_control.json").read_bytes(),
    ]
    warnings: list[str] = []
    with LocalSite(lambda path: tuple(answer)) as api:
        follower = ControlFollower(f"{api.url}/control", poll_s=0.02, warn=warnings.append)
        assert follower.wait_first()
        assert follower.order("a.example").halted
        answer[0] = 500
        until(lambda: warnings, "a warning")
        assert follower.order("a.example").halted
        control(tmp_path)
        answer[:] = [200, {}, (tmp_path / "control/crawl_control.json").read_bytes()]
        until(lambda: not follower.order("a.example").halted, "the new control")
        follower.close()
    assert len(warnings) == 1
    assert follower.version == 2


def test_the_last_good_copy_of_an_earlier_run_is_obeyed(tmp_path: Path) -> None:
    control(tmp_path, a_example="paused")
    path, copy = tmp_path / "control/crawl_control.json", tmp_path / "state/last.json"
    first = ControlFollower(path, poll_s=60, copy=copy)
    assert first.wait_first()
    first.close()
    path.unlink()
    warnings: list[str] = []
    second = ControlFollower(path, poll_s=60, copy=copy, warn=warnings.append)
    assert second.wait_first()
    second.close()
    assert second.order("a.example").halted
    assert "earlier run" in warnings[0]


@pytest.mark.parametrize(
    "url",
    [
        "https://www.Shop.example:8443/p",
        "http://shop.example./",
        "http://www.de/",
        "http://user:pw@www.shop.example/",
        "http://müller.example/x",
        "http://[2001:DB8:0::1]:80/",
        "http://192.0.2.7/",
        "http://cdn-3.mapped.example/a",
        "http://localhost/",
    ],
)
def test_the_site_of_a_url_is_the_one_that_landing_gives_it(url: str, tmp_path: Path) -> None:
    import duckdb

    (tmp_path / "sites.yaml").write_text('sites: {mapped: {hosts: ["*.mapped.example"]}}')
    key = duckdb.sql(f"SELECT {site_key_sql('url')} FROM (SELECT $u AS url)", params={"u": url})
    landed = SiteFinder(normal_host, load_sites(tmp_path, {}).site_of)
    rule = SiteRule(tmp_path)
    assert rule.of_url(url) == landed.find(key.fetchall()[0][0])


OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.sampled_from("ab"), st.integers(0, 5)),
        st.tuples(st.just("due"), st.sampled_from("ab"), st.integers(1, 3)),
        st.tuples(st.just("done"), st.sampled_from("ab"), st.integers(0, 5)),
        st.tuples(st.just("again"), st.sampled_from("ab"), st.integers(0, 5)),
        st.tuples(st.just("restart"), st.booleans(), st.just(0)),
    ),
    max_size=40,
)


@given(operations=OPERATIONS)
def test_no_request_is_lost_or_given_twice_whatever_happens(
    operations: list[tuple[str, Any, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    directory = tmp_path_factory.mktemp("deferred")
    kept = DeferredRequests(directory)
    model: dict[str, dict[str, bool]] = {"a": {}, "b": {}}  # key: still to be given out
    for name, site, number in operations:
        key = str(number)
        if name == "add":
            assert kept.add(site, key, {"url": key}) is (key not in model[site])
            model[site].setdefault(key, True)
        elif name == "due":
            for given_key, request in kept.due(site, number):
                assert request == {"url": given_key}
                assert model[site][given_key]
                model[site][given_key] = False
        elif name == "done":
            assert kept.done(site, key) is (model[site].pop(key, None) is not None)
        elif name == "again":
            assert kept.again(site, key) is (key in model[site])
            model[site].update({key: True} if key in model[site] else {})
        elif name == "restart":
            killed = site
            if killed:
                # The system closes a killed process's files, and lets its locks go.
                if kept._claim is not None:
                    kept._claim.lock.release()
                for file in kept._sites.values():
                    file.close()
            else:
                kept.close()
            kept = DeferredRequests(directory)
            kept.recover()
            model = {site: dict.fromkeys(keys, True) for site, keys in model.items()}
        assert kept.count() == sum(map(len, model.values()))
        assert set(kept.sites()) == {site for site, keys in model.items() if any(keys.values())}
    for site, keys in model.items():
        waiting = {key for key, is_waiting in keys.items() if is_waiting}
        assert {key for key, _ in kept.due(site, 100)} == waiting
    kept.close()


def test_a_full_disk_keeps_requests_in_memory_until_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warnings: list[str] = []
    kept = DeferredRequests(tmp_path / "file", warn=warnings.append)
    (tmp_path / "file").write_text("no directory")
    for number in range(3):
        kept.add("a", str(number), {"n": number})
    assert len(warnings) == 1
    assert [key for key, _ in kept.due("a", 2)] == ["0", "1"]
    (tmp_path / "file").unlink()
    kept.flush()
    kept.done("a", "0")
    kept.close()
    later = DeferredRequests(tmp_path / "file")
    later.recover()
    assert [key for key, _ in later.due("a", 9)] == ["1", "2"]
    [directory] = [path for path in (tmp_path / "file").iterdir() if path.is_dir()]
    [file] = directory.iterdir()
    assert os.stat(file).st_mode & 0o077 == 0


def test_two_running_crawlers_share_a_place_without_taking_each_others(tmp_path: Path) -> None:
    one, other = DeferredRequests(tmp_path), DeferredRequests(tmp_path)
    one.add("a", "1", {})
    other.recover()
    assert other.count() == 0
    write_control(tmp_path, "{}")
    one.close()
    other.recover()
    assert other.count() == 1
    other.close()
