"""A deceit is an incident with a page that says since when data is suspect."""

from __future__ import annotations

from datetime import timedelta

from target_health import job
from target_health.canaries import people
from target_health.paging import Target
from tests.canaries.conftest import SITE, Canaries
from tests.canaries.servers import LocalSite, Reply
from tests.canaries.test_deceit import PRICE, shop

INCIDENTS = "SELECT kind, site, closed_at, first_movement_at FROM incidents ORDER BY opened_at"


def test_a_deceit_opens_one_incident_that_is_paged_once(
    canaries: Canaries, site: LocalSite
) -> None:
    canaries.page("kettle", site.page("/p", shop()), PRICE)
    canaries.run()
    good_at = canaries.now
    assert canaries.rows(INCIDENTS) == []
    site.page("/p", shop(price="9.00"))
    canaries.run()
    assert canaries.rows(INCIDENTS) == []
    canaries.run()
    opened = {"kind": "deception", "site": SITE, "closed_at": None, "first_movement_at": good_at}
    assert canaries.rows(INCIDENTS) == [opened]
    nobody: list[Target] = []
    for _ in range(2):
        job.page_step(canaries.home, canaries.configuration(), nobody, now=canaries.now)
        canaries.run()
    [page] = canaries.rows("SELECT * FROM pages")
    assert "shows us values that no visitor sees" in page["title"]
    assert f"Suspect: what was collected since {good_at.isoformat()}" in page["body"]
    assert "expected 49.9 ± 0.5, got 9.00 €" in page["body"]

    site.page("/p", Reply("no", 403))
    for _ in range(9):
        canaries.run()
    assert [row["closed_at"] for row in canaries.rows(INCIDENTS)] == [None]
    site.page("/p", shop())
    for _ in range(9):
        canaries.run()
    [closed] = canaries.rows(INCIDENTS)
    assert closed["closed_at"] is not None


def test_an_accepted_change_is_no_deceit_any_more(canaries: Canaries, site: LocalSite) -> None:
    canaries.page("kettle", site.page("/p", shop(price="9.00")), PRICE)
    for _ in range(2):
        canaries.run()
    people.accept(
        canaries.home, canaries.configuration(), SITE, "kettle",
        by="Ada", why="a sale", now=canaries.now + timedelta(minutes=1),
    )  # fmt: skip
    [incident] = canaries.rows("SELECT quiet_since FROM incidents")
    assert incident["quiet_since"] == canaries.now + timedelta(minutes=1)
