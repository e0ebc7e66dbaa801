"""A real Scrapy crawl obeys the control file, and loses no request over it."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.crawlers.crawls import Crawl, control, deferred_urls, rows_of, until, write_control
from tests.crawlers.local_site import Answer, LocalSite, page

pytest.importorskip("scrapy")

PAGES = 12


class Site:
    """A list and its products; while ``hold`` is set, lists take their time."""

    def __call__(self, path: str) -> Answer:
        if path == "/":
            return page("all", [f"/p/{number}" for number in range(PAGES)])
        return page(path)


ALL = {"/", *(f"/p/{number}" for number in range(PAGES))}


def test_of_ten_sites_a_paused_one_is_asked_nothing_and_loses_nothing(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with ExitStack() as stack:
        sites = [stack.enter_context(LocalSite(Site(), number)) for number in range(1, 11)]
        paused, paused_later = sites[3], sites[7]
        urls = [f"{site.url}/" for site in sites]
        # Twice, and from another page: a request that is kept is kept once.
        urls += [f"{paused.url}/p/1", f"{paused.url}/p/1"]
        control(home, **{paused.host: "paused"})
        # Each site's next requests wait in the downloader, where the pause finds them.
        slow = {"DOWNLOAD_DELAY": 0.1, "DOWNLOAD_DELAY_JITTER": 0}
        crawl = Crawl(tmp_path, "Shop", home, slow, urls=urls)
        until(lambda: len(paused_later.requests) > 3, "the later one to be asked")
        control(home, **{paused.host: "paused", paused_later.host: "stopped"})
        until(lambda: f"{paused_later.host} is stopped" in crawl.log, "the control to be read")
        at_pause = len(paused_later.requests)
        stats = crawl.wait()

        assert paused.requests == []
        # One was already under way.
        assert len(paused_later.requests) <= at_pause + 1
        for site in sites:
            if site not in (paused, paused_later):
                assert sorted(site.paths) == sorted(ALL)
        left = ALL - set(paused_later.paths)
        assert deferred_urls(home) == sorted(
            [f"{paused.url}/", f"{paused.url}/p/1"] + [f"{paused_later.url}{path}" for path in left]
        )
        assert stats["finish_reason"] == "finished"
        assert stats["target_health/sites/halted"] == 2
        assert stats["target_health/deferred/waiting"] == 2 + len(left)
        assert "errback" not in crawl.log

        # A later run asks for nothing new; the sites are active again.
        control(home)
        stats = Crawl(tmp_path, "Shop", home, {}, urls=[]).wait()
        assert sorted(paused.paths) == sorted(ALL)
        assert sorted(paused_later.paths) == sorted(ALL)
        assert stats["target_health/deferred/sent"] == 2 + len(left)
        assert stats["target_health/deferred/waiting"] == 0
        assert not list((home / "crawlers/shop/deferred").iterdir())
    rows = rows_of(home)
    assert len(rows) == 10 * len(ALL)
    # Given back with its callback, as what it was: one product was asked for as a list.
    assert sum("item" in row for row in rows if row["url"].startswith(paused.url)) == PAGES - 1


@pytest.mark.slow
def test_a_running_spider_follows_its_site_down_and_back(tmp_path: Path) -> None:
    home = tmp_path / "home"
    ended: list[bool] = []
    with LocalSite(lambda path: page("last" if ended else path), delay_s=0.05) as site:
        settings = {"CONCURRENT_REQUESTS_PER_DOMAIN": 8, "AUTOTHROTTLE_ENABLED": False}
        control(home)
        crawl = Crawl(tmp_path, "Chain", home, settings, urls=[f"{site.url}/p"])

        def at_once_after(requests: int) -> int:
            site.most_at_once = 0
            begin = len(site.requests)
            until(lambda: len(site.requests) > begin + requests, "requests")
            return site.most_at_once

        def when(state: str, count: int) -> None:
            until(lambda: crawl.log.count(state) >= count, f"{state} in the spider's log")

        until(lambda: site.most_at_once > 4, "the spider's own pace")
        control(home, **{site.host: 1})
        when("is slowed", 1)
        at_once_after(16)
        assert at_once_after(40) <= 4
        control(home, **{site.host: 3})
        when("is slowed", 2)
        at_once_after(16)
        assert at_once_after(20) == 1
        # No control file, then a broken one: the last good copy stays in force.
        (home / "control/crawl_control.json").unlink()
        until(lambda: "No such file" in crawl.log, "a warning")
        write_control(home, '{"version": 1, "sites": {"x": ')
        until(lambda: "is no JSON" in crawl.log, "another warning")
        assert at_once_after(10) == 1
        assert crawl.log.count("its last good copy stays in force") == 2
        control(home, **{site.host: "paused"})
        # With nothing else to do the spider ends; what it would have asked for is kept.
        stats = crawl.wait()
        asked = len(site.requests)
        assert stats["target_health/deferred/kept"] == 8
        # A broken file at the next start: the copy of the earlier run is obeyed.
        write_control(home, "{}")
        crawl = Crawl(tmp_path, "Chain", home, settings, urls=[f"{site.url}/p"])
        stats = crawl.wait()
        assert "the last good copy of an earlier run stays in force" in crawl.log
        assert len(site.requests) == asked
        assert stats["target_health/deferred/waiting"] == 16
        control(home)
        crawl = Crawl(tmp_path, "Chain", home, settings, urls=[])
        site.most_at_once = 0
        until(lambda: site.most_at_once > 4, "the spider's own pace again")
        ended.append(True)
        crawl.wait()
    # Each chain without a gap: no request was lost on the way.
    numbers = {int(path.rpartition("/")[2]) for path in site.paths}
    for start in range(8):
        chain = sorted(number for number in numbers if number % 8 == start)
        assert chain == list(range(start, chain[-1] + 1, 8))


def test_hosts_of_one_site_are_paused_together_and_whoever_waits_is_told(tmp_path: Path) -> None:
    home, configuration = tmp_path / "home", tmp_path / "config"
    configuration.mkdir()
    (configuration / "sites.yaml").write_text("sites: {shop: {hosts: ['127.0.0.*']}}")
    control(home, shop="paused")
    with LocalSite(Site(), 2) as site:
        settings = {"TARGET_HEALTH_CONFIG": str(configuration), "ROBOTSTXT_OBEY": True}
        crawl = Crawl(tmp_path, "Direct", home, settings, url=f"{site.url}/")
        stats = crawl.wait()
        assert site.requests == []
        assert deferred_urls(home) == [f"{site.url}/"]
    assert "told: shop is paused" in crawl.log
    assert stats["target_health/refused"] == 1
    assert stats["target_health/deferred/kept"] == 1
