"""Who is paged when, and what becomes of pages that do not arrive."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from target_health.decisions import pause_sites
from target_health.errors import UsageError
from target_health.incidents import close_incident
from target_health.paging import Target, targets_in
from target_health.paging.digests import daily_digest, weekly_digest
from target_health.paging.records import Situation
from target_health.paging.rules import cause_to_page
from target_health.paging.sending import send, shown_address
from target_health.paging.targets import for_owner
from target_health.warehouse import open_writer
from tests.decisions.evidence import SHOP, hour, policy
from tests.paging.conftest import Desk, incident

RULES = policy().paging


@pytest.fixture
def paused(desk: Desk) -> Desk:
    desk.put(incident())
    desk.state("paused", hour(1))
    return desk


def test_a_resisting_site_pages_once(paused: Desk) -> None:
    assert paused.page(hour(1)).delivered == 1
    for count in (1, 2, 3, 24):
        assert paused.page(hour(count)).queued == 0
    ((_, title, body),) = paused.pager.got
    assert title == "shop.example refuses our crawl: paused"
    for says in ("resisting", "Since: ", "refusal", "Done: ", "resume slower", "incidents show"):
        assert says in body


def test_a_digest_leaves_the_page_to_the_run_that_acted(paused: Desk) -> None:
    assert paused.page(hour(1), due=False).queued == 0
    assert paused.page(hour(1)).queued == 1


def test_the_page_links_to_the_question(paused: Desk) -> None:
    paused.page(hour(1), base_url="http://airflow.example:8080/")
    name = incident().incident_id
    link = f"http://airflow.example:8080/dags/site_review/runs/{name}/tasks/decide/required_actions"
    assert f"Answer: {link}" in paused.pager.got[0][2]


def test_nobody_answering_for_a_day_pages_again_and_an_answer_does_not(paused: Desk) -> None:
    paused.page(hour(1))
    paused.page(hour(25))
    paused.page(hour(26))
    assert [title.split("(")[-1] for _, title, _ in paused.pager.got[1:]] == ["unanswered)"]
    with open_writer(paused.home) as con:
        con.execute(
            "INSERT INTO human_decisions VALUES ('d1', ?, NULL, NULL, 'keep paused', 'Kim', 'x', "
            "?, ?, true, 'kept')",
            [SHOP, hour(30), hour(200)],
        )
    assert paused.page(hour(150)).queued == 0
    paused.page(hour(201))
    assert paused.pager.got[-1][1].endswith("(asked again)")


def test_it_pages_again_when_paused_anew_or_far_worse(paused: Desk) -> None:
    paused.page(hour(1))
    paused.put(incident(worst_score=25.0))
    assert paused.page(hour(2)).queued == 0
    paused.put(incident(worst_score=20.0))
    paused.page(hour(3))
    paused.state("slowed", hour(4))
    assert paused.page(hour(4)).queued == 0
    paused.state("paused", hour(5))
    paused.page(hour(5))
    assert [title.split("(")[-1] for _, title, _ in paused.pager.got[1:]] == [
        "worse)",
        "paused again)",
    ]


def test_a_date_silences_the_pause_that_it_was_said_of_and_no_later_one(paused: Desk) -> None:
    paused.page(hour(1))
    with open_writer(paused.home) as con:
        con.execute(
            "INSERT INTO human_decisions VALUES ('d1', ?, NULL, NULL, 'keep', 'Kim', 'x', ?, ?, "
            "true, 'kept')",
            [SHOP, hour(2), hour(200)],
        )
    paused.state("paused", hour(5))
    for count in (5, 20, 29):
        paused.page(hour(count))
    assert [title.split("(")[-1] for _, title, _ in paused.pager.got[1:]] == [
        "paused again)",
        "unanswered)",
    ]


@pytest.mark.parametrize("kind", ["delivery", "parser", "cost", "route"])
def test_the_rest_goes_into_the_digest(desk: Desk, kind: str) -> None:
    desk.put(incident(kind, diagnosis="route:pool=b"))
    assert desk.page(hour(1)).queued == 0
    with open_writer(desk.home) as con:
        digest = daily_digest(con, desk.configuration, hour(2))
    assert f"{SHOP}: {kind} since" in digest.body


@pytest.mark.parametrize("kind", ["deception", "fuse"])
def test_deception_and_the_fuse_page(desk: Desk, kind: str) -> None:
    desk.put(incident(kind, site=None if kind == "fuse" else SHOP))
    assert desk.page(hour(1)).queued == 1


def test_a_route_that_is_down_pages_its_owner_once_whatever_sites_it_fails(desk: Desk) -> None:
    sites = ("a.example", "b.example", "c.example")
    desk.put(*(incident("route", site, diagnosis="route:gateway=dc-1") for site in sites))
    desk.targets = (Target("json://crawl.example/", "crawl"), Target("json://px.example/", "proxy"))
    with open_writer(desk.home) as con:
        con.execute("CREATE TABLE route_health (dimension VARCHAR, value VARCHAR, down BOOLEAN)")
        con.execute("INSERT INTO route_health VALUES ('gateway', 'dc-1', false)")
    assert desk.page(hour(1)).queued == 0
    with open_writer(desk.home) as con:
        con.execute("UPDATE route_health SET down = true")
    for count in (2, 3):
        desk.page(hour(count))
    assert [(url, title) for url, title, _ in desk.pager.got] == [
        ("json://px.example/", "Route gateway=dc-1 is down")
    ]


def test_a_site_that_a_human_paused_pages_nobody(desk: Desk) -> None:
    desk.put(incident())
    desk.state("paused", hour(1), paused_by_human=True)
    assert desk.page(hour(1)).queued == 0


def test_in_observe_mode_the_page_is_kept_and_nobody_called(desk: Desk) -> None:
    desk.put(incident(mode="observe"))
    with open_writer(desk.home) as con:
        from target_health.decisions.records import Course, SiteState
        from target_health.decisions.storage import save_states

        shadow = Course("paused", 0, hour(1))
        save_states(con, [SiteState(SHOP, Course("active", 0, hour(0)), shadow, revision=1)])
    report = desk.page(hour(1))
    assert (report.queued, desk.pager.tries) == (1, 0)
    assert [row["state"] for row in desk.rows("SELECT state FROM pages")] == ["observed"]


def test_a_pager_that_is_down_loses_nothing(paused: Desk) -> None:
    paused.pager.down = True
    report = paused.page(hour(1))
    assert (report.delivered, report.failed, report.waiting) == (0, 1, 1)
    assert paused.pager.tries == RULES.attempts_a_run
    assert "connection refused" in report.errors[0]
    paused.pager.down = False
    assert paused.page(hour(2)).delivered == 1
    assert paused.page(hour(3)).delivered == 0
    ((_, _, body),) = paused.pager.got
    assert body.startswith("Late: this page is from 2026-01-31 09:00 UTC.")
    (row,) = paused.rows("SELECT attempts, error, delivered_at FROM page_deliveries")
    assert (row["attempts"], row["error"], row["delivered_at"]) == (3, None, hour(2))


def test_one_dead_address_neither_holds_up_the_others_nor_doubles_their_pages(
    paused: Desk,
) -> None:
    dead, well = Target("json://dead.example/"), Target("json://well.example/")
    paused.targets = (dead, well)
    got: list[str] = []

    def sender(target: Target, title: str, body: str) -> str | None:
        got.append(target.url)
        return "dead" if target is dead else None

    paused.pager.send = sender  # type: ignore[method-assign]
    for count in (1, 2):
        paused.page(hour(count))
    assert got.count(well.url) == 1
    assert [row["state"] for row in paused.rows("SELECT state FROM pages")] == ["waiting"]


def test_without_an_address_it_is_said_once_and_the_page_kept(paused: Desk) -> None:
    target, paused.targets = paused.targets, ()
    first = paused.page(hour(1))
    assert first.notice is not None
    assert first.notice.startswith("NOBODY IS PAGED: 1 page waiting")
    assert paused.page(hour(2)).notice is None
    paused.targets = target
    assert paused.page(hour(3)).delivered == 1


def test_a_late_page_says_that_its_incident_is_closed(paused: Desk) -> None:
    paused.pager.down = True
    paused.page(hour(1))
    with open_writer(paused.home) as con:
        close_incident(con, incident().incident_id, by="Kim", why="known", at=hour(1.5))
    paused.pager.down = False
    paused.page(hour(2))
    assert "Its incident was closed" in paused.pager.got[0][2]


def test_a_page_reaches_a_listener_through_apprise(paused: Desk, listener: Any) -> None:
    address, got = listener
    paused.targets = targets_in(f"json://{address}/")
    paused.pager.send = send  # type: ignore[method-assign]
    assert paused.page(hour(1)).delivered == 1
    (sent,) = got
    assert sent["title"] == "shop.example refuses our crawl: paused"
    assert "Decide: resume slower" in sent["message"]


def test_addresses_are_read_and_routed_by_owner() -> None:
    text = "json://all.example crawl=json://c.example/x\n parser=mailto://u:pw@mail.example"
    targets = targets_in(text)
    assert [one.owner for one in targets] == [None, "crawl", "parser"]
    assert [one.url for one in for_owner(targets, "proxy")] == ["json://all.example"]
    assert len(for_owner(targets, "crawl")) == 2
    only_crawl = targets_in("crawl=json://c.example")
    assert for_owner(only_crawl, "parser") == list(only_crawl)
    with pytest.raises(UsageError, match="entry 2 is no Apprise URL") as refusal:
        targets_in("json://a.example hunter2")
    assert "hunter2" not in str(refusal.value)


@pytest.mark.parametrize(
    "url", ["json://user:hunter2@h.example/hunter2?key=hunter2", "x://hunter2"]
)
def test_shown_addresses_keep_secrets(url: str) -> None:
    assert "hunter2" not in shown_address(Target(url))
    assert send(Target("nonsense://hunter2"), "t", "b") is not None


def test_digests_tell_the_day_and_the_week(desk: Desk) -> None:
    desk.put(incident(), incident("parser", "news.example", band="healthy", score=None))
    desk.state("paused", hour(1))
    with open_writer(desk.home) as con:
        pause_sites(
            con, desk.configuration, [SHOP], by="Kim", why="sale", now=hour(2)
        )  # paused already: changes nothing
        con.execute(
            "INSERT INTO actions BY NAME SELECT 'a' AS action_id, 1 AS sequence, 'w.example' AS "
            "site, ? AS decided_at, 'pause' AS kind, [] AS reasons, 'target-health' AS decided_by, "
            "'resisting' AS why, false AS applied, 'observe' AS mode",
            [hour(1)],
        )
        for ago, score in ((0.0, 40.0), (8 * 24, 95.0)):
            con.execute(
                "INSERT INTO site_scores BY NAME SELECT 'shop.example' AS site, ? AS window_start, "
                "? AS window_end, 60 AS window_minutes, ? AS config_version, 'healthy' AS band, "
                "[] AS reasons, ? AS smoothed_score",
                [hour(-ago), hour(1 - ago), desk.configuration.version, score],
            )
        daily = daily_digest(con, desk.configuration, hour(5))
        weekly = weekly_digest(con, desk.configuration, hour(5))
    assert "shop.example: paused since" in daily.body
    assert "news.example: parser since" in daily.body
    assert "shop.example: 95 → 40" in weekly.body
    assert "w.example: 1 times" in weekly.body
    assert "weights hard_block 35" in weekly.body
    sent = [desk.page(hour(5 + n), more=lambda con: [daily]).delivered for n in (0, 1)]
    assert sent[0] >= 1
    assert sent[1] == 0


times = st.one_of(st.none(), st.integers(0, 100).map(hour))


@given(
    st.sampled_from(["hostility", "deception", "fuse", "route", "parser", "cost", "delivery"]),
    times,
    times,
    times,
    st.booleans(),
    st.lists(st.tuples(st.integers(0, 100).map(hour), st.floats(0, 100)), max_size=3),
    st.integers(0, 100).map(hour),
)
@settings(deadline=None)
def test_a_page_just_sent_is_never_due_again(
    kind: Any, paused_at: Any, answered: Any, keep: Any, down: bool, pages: Any, now: Any
) -> None:
    own = incident(kind, worst_score=10.0)
    situation = Situation(paused_at, answered, keep, down, tuple(sorted(pages)))
    cause = cause_to_page(own, situation, RULES, now)
    if cause is not None:
        assert kind in ("hostility", "deception", "fuse", "route")
        later = max([now, *(at for at, _ in pages), *([paused_at] if paused_at else [])])
        sent = replace(situation, pages=(*situation.pages, (later, own.worst_score)))
        assert cause_to_page(own, sent, RULES, later) is None
    assert cause_to_page(replace(own, closed_at=now), situation, RULES, now) is None
