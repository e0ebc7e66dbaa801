"""A site that lies: found through real fetches, told from honest changes, forgotten when over."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from target_health.canaries import people
from target_health.canaries.storage import load_verdicts
from target_health.errors import UsageError
from target_health.warehouse.published import open_published
from tests.canaries.conftest import SITE, Canaries
from tests.canaries.servers import Headers, LocalProxy, LocalSite, Reply
from tests.modelling.warehouses import put_fetches

WORDS = "<p>" + "A good kettle boils water for tea, and then it whistles. " * 12 + "</p>"


def shop(price: str = "49.90", items: tuple[str, ...] = ("Kettle", "Pot", "Cup", "Spoon")) -> str:
    rows = "".join(f'<li class="item"><b>{name}</b></li>' for name in items)
    return (
        f"<html><head><title>Kettle - Shop</title></head><body><h1>Blue kettle</h1>{WORDS}"
        f'<span class="price">{price} €</span><ul>{rows}</ul></body></html>'
    )


PRICE = {"css": ".price::text", "number": 49.9, "tolerance": 0.5}
COUNT = {"css": "li.item", "count": [4, 6]}
ORDER = {"css": "li.item b::text", "equals": ["Kettle", "Pot", "Cup", "Spoon"]}


def lies_to_the_proxy(lie: str) -> object:
    def answer(headers: Headers) -> Reply:
        page = lie if headers.get("x-via") == "proxy" else shop()
        return Reply(page, headers={"Content-Type": "text/html; charset=utf-8"})

    return answer


@pytest.fixture
def proxied(canaries: Canaries, proxy: LocalProxy, monkeypatch: pytest.MonkeyPatch) -> Canaries:
    monkeypatch.setenv("TEST_PROXY_USER", "proxy-user")
    monkeypatch.setenv("TEST_PROXY_PASSWORD", "hunter2-s3cret")
    canaries.routes = {
        "routes": {
            "crawl": {
                "gateway": "dc-1",
                "proxy": f"http://${{TEST_PROXY_USER}}:${{TEST_PROXY_PASSWORD}}@{proxy.netloc}",
            }
        },
        "default": "crawl",
    }
    canaries.site = {"routes": ["crawl", "direct"]}
    return canaries


@pytest.mark.parametrize(
    ("lie", "check"),
    [
        (shop(price="59.90"), "css .price::text"),
        (shop(items=("Kettle", "Pot")), "css li.item count"),
        (shop(items=("Kettle", "Cup", "Pot", "Spoon")), "css li.item b::text"),
    ],
    ids=["price", "shortened list", "swapped items"],
)
def test_a_lie_to_the_crawlers_route_alone(
    proxied: Canaries, site: LocalSite, lie: str, check: str
) -> None:
    url = site.page("/p", lies_to_the_proxy(shop()))
    proxied.page("kettle", url, PRICE, COUNT, ORDER)
    good = proxied.verdict()
    assert (good.verdict, good.deceived, good.good_pages) == ("good", False, 1)
    last_good = proxied.now

    site.page("/p", lies_to_the_proxy(lie))
    once = proxied.verdict()
    assert (once.verdict, once.deceived, once.wrong_pages) == ("note", False, ("kettle",))
    twice = proxied.verdict()
    assert (twice.verdict, twice.deceived) == ("deceived", True)
    assert twice.suspect_since == last_good
    assert twice.deceived_since == proxied.now
    assert any("right through direct, wrong through crawl" in note for note in twice.notes)
    [row] = proxied.rows(
        "SELECT check_name, route, expected, got FROM canary_results "
        f"WHERE outcome = 'wrong_value' AND check_name = '{check}' "
        f"AND observed_at = TIMESTAMP '{proxied.now}'"
    )
    assert row["route"] == "crawl"
    assert row["got"] != row["expected"]

    later = proxied.verdict()
    assert later.deceived_since == twice.deceived_since
    site.page("/p", lies_to_the_proxy(shop()))
    over = proxied.verdict()
    assert (over.verdict, over.deceived, over.suspect_since) == ("good", False, None)


def test_records_collected_since_the_last_good_canary_are_counted(
    canaries: Canaries, site: LocalSite
) -> None:
    canaries.page("kettle", site.page("/p", shop()), PRICE)
    canaries.run()
    good_at = canaries.now
    with_items = [
        {
            "ts": good_at + timedelta(minutes=minute),
            "site": SITE,
            "url": f"https://{SITE}/{minute}",
            "status": 200,
            "verdict": "ok",
            "item": item,
            "has_item_value": has_value,
        }
        for minute, item, has_value in [
            (-5, {"a": 1}, True),
            (1, {"a": 1}, True),
            (2, [{"a": 1}, {"a": 2}], True),
            (3, None, False),
        ]
    ]
    from target_health.warehouse import open_writer

    with open_writer(canaries.home) as connection:
        put_fetches(connection, canaries.home, with_items)
    site.page("/p", shop(price="1.00"))
    canaries.run()
    deceived = canaries.verdict(publish=True)
    assert deceived.suspect_since == good_at
    assert (deceived.records_since, deceived.fetches_since) == (3, 3)
    with open_published(canaries.home) as published:
        assert load_verdicts(published) == {SITE: deceived}


def test_most_canaries_wrong_at_once_need_no_second_look(
    canaries: Canaries, site: LocalSite
) -> None:
    for number in range(4):
        canaries.page(f"p{number}", site.page(f"/{number}", shop()), PRICE)
    assert canaries.verdict().verdict == "good"
    for number in range(2):
        site.page(f"/{number}", shop(price="77.00"))
    assert canaries.verdict().verdict == "note"
    site.page("/2", shop(price="77.00"))
    for number in range(2):
        site.page(f"/{number}", shop())
    assert canaries.verdict().verdict == "note"
    for number in range(3):
        site.page(f"/{number}", shop(price="77.00"))
    assert canaries.verdict().deceived


def test_no_answer_between_two_lies_is_no_truth(canaries: Canaries, site: LocalSite) -> None:
    canaries.page("kettle", site.page("/p", shop()), PRICE)
    canaries.run()
    for reply, word in [
        (shop(price="1.00"), "note"),
        (Reply(hang_up=True), "note"),
        (Reply("busy", 503), "note"),
        (shop(price="1.00"), "deceived"),
        (Reply("busy", 503), "deceived"),
        (shop(), "good"),
    ]:
        site.page("/p", reply)
        assert canaries.verdict().verdict == word


def test_an_honest_change_is_accepted(canaries: Canaries, site: LocalSite) -> None:
    canaries.page("kettle", site.page("/p", shop()), PRICE, COUNT)
    canaries.run()
    site.page("/p", shop(price="52.00"))
    canaries.run()
    assert canaries.verdict().deceived
    with pytest.raises(UsageError, match="who accepts and why"):
        people.accept(
            canaries.home, canaries.configuration(), SITE, "kettle", by=" ", why="x",
            now=canaries.now,
        )  # fmt: skip
    made = people.accept(
        canaries.home, canaries.configuration(), SITE, "kettle",
        by="Ada", why="they raised it", now=canaries.now + timedelta(minutes=1),
    )  # fmt: skip
    assert [(one.check, one.old, json.loads(one.new)) for one in made] == [
        ("css .price::text", "49.9 ± 0.5", 52.0)
    ]
    with open_published(canaries.home) as published:
        [verdict] = load_verdicts(published).values()
    assert (verdict.verdict, verdict.deceived) == ("good", False)
    [row] = canaries.rows("SELECT * FROM canary_acceptances")
    assert (row["accepted_by"], row["why"], row["accepted_at"]) == (
        "Ada", "they raised it", canaries.now + timedelta(minutes=1),
    )  # fmt: skip
    assert canaries.verdict().verdict == "good"
    site.page("/p", shop(price="49.90"))
    assert canaries.verdict().verdict == "note"
    with pytest.raises(UsageError, match="no canary 'pan'; it has kettle"):
        people.accept(
            canaries.home, canaries.configuration(), SITE, "pan", by="A", why="x", now=canaries.now
        )


def test_a_check_accepted_alone_leaves_the_others_wrong(
    canaries: Canaries, site: LocalSite
) -> None:
    canaries.page("kettle", site.page("/p", shop()), PRICE, COUNT)
    canaries.run()
    site.page("/p", shop(price="52.00", items=("Kettle", "Pot")))
    canaries.run()
    assert canaries.verdict().deceived

    def accept(check: str) -> str:
        people.accept(
            canaries.home, canaries.configuration(), SITE, "kettle",
            by="Ada", why="it changed", now=canaries.now + timedelta(minutes=1), check=check,
        )  # fmt: skip
        with open_published(canaries.home) as published:
            return load_verdicts(published)[SITE].verdict

    assert accept("css .price::text") == "deceived"
    assert accept("css li.item count") == "good"


def test_nothing_wrong_is_nothing_to_accept(canaries: Canaries, site: LocalSite) -> None:
    canaries.page("kettle", site.page("/p", shop()), PRICE)
    canaries.run()
    with pytest.raises(UsageError, match="nothing to accept"):
        people.accept(
            canaries.home, canaries.configuration(), SITE, "kettle",
            by="Ada", why="x", now=canaries.now,
        )  # fmt: skip


def test_an_expectation_written_anew_voids_what_was_accepted(
    canaries: Canaries, site: LocalSite
) -> None:
    canaries.page("kettle", site.page("/p", shop(price="52.00")), PRICE)
    canaries.run()
    people.accept(
        canaries.home, canaries.configuration(), SITE, "kettle",
        by="Ada", why="x", now=canaries.now,
    )  # fmt: skip
    assert canaries.verdict().verdict == "good"
    canaries.pages[0]["checks"] = [{**PRICE, "number": 60}]
    assert canaries.verdict().verdict == "note"


def test_a_page_or_route_that_is_watched_no_more_counts_no_more(
    canaries: Canaries, site: LocalSite
) -> None:
    canaries.routes = {"routes": {"old": {}}}
    canaries.page("kettle", site.page("/p", shop(price="1.00")), PRICE, routes=["old"])
    canaries.page("pot", site.page("/q", shop()), PRICE)
    canaries.run()
    assert canaries.verdict().deceived
    canaries.pages[0]["routes"] = ["direct"]
    assert canaries.verdict().verdict == "note"
    del canaries.pages[0]
    assert canaries.verdict().verdict == "good"


def test_a_round_recorded_twice_is_recorded_once(canaries: Canaries, site: LocalSite) -> None:
    from target_health.canaries import runs

    canaries.page("kettle", site.page("/p", shop(price="1.00")), PRICE)
    observations = canaries.look()
    for _ in range(2):
        report = runs.record(
            canaries.home, canaries.configuration(), observations, "again", now=canaries.now
        )
        assert [one.verdict for one in report.verdicts] == ["note"]
    assert canaries.rows("SELECT count(*) AS n FROM canary_results") == [{"n": 1}]
