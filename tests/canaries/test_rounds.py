"""A round of fetches: what hangs costs itself; hosts, rules and routes are respected."""

from __future__ import annotations

import threading
import time
from datetime import timedelta
from typing import Any

import pytest

from target_health import job
from target_health.canaries.schedule import Call, Done, run_calls
from target_health.canaries.storage import stopped_sites
from target_health.errors import ConfigurationError
from target_health.warehouse import open_writer
from tests.canaries.conftest import SITE, START, Canaries
from tests.canaries.servers import Headers, LocalSite, Reply, local_site

OK = {"contains": "fine"}
FINE = "<html><title>t</title><body><p>All is fine here, and quite long enough.</p></body></html>"


# The schedule alone


def ended(calls: list[Call[Any]], **more: Any) -> dict[object, Done[Any]]:
    options = {"concurrency": 4, "host_delay_s": 0.0, "deadline_s": 20.0, **more}
    done = list(run_calls(calls, **options))
    assert len({one.key for one in done}) == len(done)
    return {one.key: one for one in done}


def test_every_call_ends_once_and_a_hanging_one_costs_itself() -> None:
    gate = threading.Event()
    calls = [
        Call(number, f"host-{number % 5}", gate.wait if number == 3 else str, 0.3)
        for number in range(20)
    ]
    done = ended(calls, concurrency=2)
    gate.set()
    assert set(done) == set(range(20))
    assert {key for key, one in done.items() if one.why_not} == {3}
    assert done[3].why_not == "timeout"


def test_what_is_not_done_by_the_deadline_is_told_so() -> None:
    gate = threading.Event()
    calls = [Call(number, f"host-{number}", gate.wait, 60.0) for number in range(6)]
    done = ended(calls, concurrency=2, deadline_s=0.2)
    gate.set()
    assert [one.why_not for one in done.values()] == ["deadline"] * 6


def test_a_call_that_fails_tells_its_kind_and_not_its_text() -> None:
    def fail() -> None:
        raise RuntimeError("http://user:hunter2@proxy")

    assert ended([Call("x", "host", fail, 5.0)])["x"].why_not == "failed: RuntimeError"


def test_a_host_has_one_call_at_a_time_in_order() -> None:
    running: list[int] = []
    order: list[int] = []
    most: list[int] = []

    def work(number: int) -> None:
        running.append(number)
        order.append(number)
        most.append(len(running))
        time.sleep(0.005)
        running.remove(number)

    calls = [Call(number, "host", lambda number=number: work(number), 9.0) for number in range(9)]
    ended(calls, concurrency=8)
    assert order == list(range(9))
    assert max(most) == 1


# Real fetches


@pytest.mark.parametrize(
    ("reply", "outcome", "error"),
    [
        (Reply(FINE, wait_s=9), "unknown", "timeout"),
        (Reply(FINE, drip_s=0.1), "unknown", "timeout"),
        (Reply(drip_headers=True), "unknown", "timeout"),
        (Reply(hang_up=True), "blocked", "connection_reset"),
        (Reply(status=302, headers={"Location": "/p"}), "unknown", "other"),
    ],
    ids=["slow", "dripping body", "dripping headers", "hangs up", "redirect loop"],
)
def test_a_bad_answer_is_told_and_delays_no_other(
    canaries: Canaries, site: LocalSite, reply: Reply, outcome: str, error: str
) -> None:
    canaries.fetching |= {"timeout_s": 0.4}
    canaries.page("bad", site.page("/p", reply), OK)
    with local_site() as other:
        for number in range(3):
            canaries.page(f"good-{number}", other.page(f"/{number}", FINE), OK)
        seen = {one.page: one for one in canaries.look()}
    assert (seen["bad"].outcome, seen["bad"].error) == (outcome, error)
    assert [seen[f"good-{number}"].outcome for number in range(3)] == ["pass"] * 3


def test_a_run_ends_at_its_deadline_with_the_rest_unknown(
    canaries: Canaries, site: LocalSite
) -> None:
    canaries.fetching |= {"timeout_s": 30, "deadline_s": 0.8}
    with local_site() as other:
        canaries.page("good", other.page("/", FINE), OK)
        canaries.page("hangs", site.page("/p", Reply(FINE, wait_s=30)), OK)
        canaries.page("behind-it", site.page("/q", FINE), OK)
        seen = {one.page: one for one in canaries.look()}
    assert {page: one.outcome for page, one in seen.items()} == {
        "good": "pass",
        "hangs": "unknown",
        "behind-it": "unknown",
    }
    assert seen["behind-it"].checks[0].detail == "unknown, aborted, the run's time was over"


def test_an_answer_is_cut_at_its_limit(canaries: Canaries, site: LocalSite) -> None:
    canaries.fetching |= {"max_bytes": 300}
    canaries.page("p", site.page("/p", FINE + "x" * 100_000), {"size": [300, 300]}, OK)
    assert canaries.outcomes() == {"p size": "pass", "p contains fine": "pass"}


def test_headers_and_cookies_are_the_routes(canaries: Canaries, site: LocalSite) -> None:
    def answer(headers: Headers) -> Reply:
        return Reply(FINE, headers={"Set-Cookie": "seen=1; Path=/"})

    canaries.routes = {
        "routes": {
            "sticky": {"headers": {"User-Agent": "Bot/1", "Accept-Language": "de"}},
            "fresh": {"cookies": "none"},
        },
        "default": "sticky",
    }
    for number in range(2):
        canaries.page(f"p{number}", site.page(f"/{number}", answer), OK)
        canaries.page(f"q{number}", site.page(f"/q{number}", answer), OK, routes=["fresh"])
    canaries.look()
    by_path = dict(site.seen)
    assert by_path["/0"]["user-agent"] == "Bot/1"
    assert by_path["/0"]["accept-language"] == "de"
    assert "cookie" not in by_path["/0"]
    assert by_path["/1"]["cookie"] == "seen=1"
    assert "cookie" not in by_path["/q1"]


def test_the_environments_proxies_are_no_route(
    canaries: Canaries, site: LocalSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    canaries.page("p", site.page("/p", FINE), OK)
    assert canaries.outcomes() == {"p contains fine": "pass"}


def test_robots_are_obeyed_by_the_routes_name_and_remembered(
    canaries: Canaries, site: LocalSite
) -> None:
    canaries.fetching |= {"robots": "obey"}
    canaries.routes = {"routes": {"direct": {"headers": {"User-Agent": "Mozilla/5.0 (Bot/2.0)"}}}}
    site.page("/robots.txt", "User-agent: bot\nDisallow: /no*ever\n\nUser-agent: *\nDisallow: /\n")
    canaries.page("yes", site.page("/yes", FINE), OK)
    canaries.page("no", site.page("/now-and-ever", FINE), OK)
    seen = {one.page: one for one in canaries.look()}
    assert (seen["yes"].outcome, seen["no"].outcome) == ("pass", "unknown")
    assert seen["no"].checks[0].detail == "unknown, other, robots.txt forbids it"
    assert site.paths() == ["/robots.txt", "/yes"]
    canaries.look()
    assert site.paths() == ["/robots.txt", "/yes", "/yes"]
    canaries.now += timedelta(hours=25)
    canaries.look()
    assert site.paths().count("/robots.txt") == 2
    canaries.site = {"robots": "ignore"}
    assert {one.page: one.outcome for one in canaries.look()}["no"] == "pass"


@pytest.mark.parametrize(
    ("robots", "outcome"),
    [
        (Reply("gone", 404), "pass"),
        (Reply("no", 403), "pass"),
        (Reply("busy", 503), "unknown"),
        (Reply(hang_up=True), "unknown"),
        (Reply(b"\xff\xfe\x00 what is this", headers={"Content-Type": "image/png"}), "pass"),
    ],
)
def test_robots_that_tell_nothing(
    canaries: Canaries, site: LocalSite, robots: Reply, outcome: str
) -> None:
    canaries.fetching |= {"robots": "obey"}
    site.page("/robots.txt", robots)
    canaries.page("p", site.page("/p", FINE), OK)
    assert canaries.outcomes() == {"p contains fine": outcome}


def test_paused_sites_are_watched_and_stopped_ones_are_not(
    canaries: Canaries, site: LocalSite
) -> None:
    canaries.page("p", site.page("/p", FINE), OK)
    configuration = canaries.configuration()
    with open_writer(canaries.home) as connection:
        connection.execute(
            "INSERT INTO site_state BY NAME SELECT ? AS site, 'paused' AS state, 0 AS step,"
            " 0.0 AS concurrency_factor, 1.0 AS revisit_factor, ?::TIMESTAMP AS since,"
            " ['refusal'] AS reasons, false AS paused_by_human, 1 AS revision",
            [SITE, START],
        )
        job.publish(connection, canaries.home, configuration, now=START, control=False)
    verdict = canaries.verdict(publish=True)
    assert verdict.good_pages == 1
    assert verdict.disagreement == "paused, canaries fine (1 of 1 pages)"
    with open_writer(canaries.home) as connection:
        connection.execute("UPDATE site_state SET state = 'stopped'")
        assert stopped_sites(connection) == {SITE}
        job.publish(connection, canaries.home, configuration, now=START, control=False)
    assert canaries.look() == []


def test_a_route_that_is_not_there_is_told_before_anything_is_fetched(
    canaries: Canaries, site: LocalSite
) -> None:
    canaries.page("p", site.page("/p", FINE), OK, routes=["nowhere"])
    with pytest.raises(ConfigurationError, match="p: 'nowhere' is no route of"):
        canaries.look()
    assert site.seen == []
