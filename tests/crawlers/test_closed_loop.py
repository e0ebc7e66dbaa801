"""The closed loop: a site turns hostile under a running Scrapy spider, and recovers.

The crawl is real and takes seconds; its rows are laid into simulated hours, behind two weeks of
history, and the hourly job runs at the end of each. The spider reads what the job writes.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from target_health import job
from target_health.config import Configuration
from target_health.decisions.commands import resume_sites
from target_health.paths import Home
from target_health.warehouse.connection import open_writer
from tests.crawlers.crawls import Crawl, iter_rows, until
from tests.crawlers.local_site import BLOCKED, CHALLENGE, Answer, LocalSite, page
from tests.job.logs import steady, write_log
from tests.modelling.warehouses import configuration_with

pytest.importorskip("scrapy")

BEGIN = datetime(2026, 3, 1)
HOUR = timedelta(hours=1)
#: Above ``min_requests``, so that each hour has a score.
FETCHES = 60


class Moods:
    """A site whose share of challenges, block pages and refusals is set from outside."""

    def __init__(self) -> None:
        self.challenges = self.blocks = self.refusals = 0.0
        self.ends = False
        self.count = 0

    def __call__(self, path: str) -> Answer:
        self.count += 1
        turn = self.count * 7 % 20 / 20  # each share is met exactly within 20 requests
        if turn < self.refusals:
            return 403, {"Content-Type": "text/html"}, b"<html><body>no</body></html>"
        if turn < self.refusals + self.challenges:
            return 403, {"Content-Type": "text/html"}, CHALLENGE
        if turn < self.refusals + self.challenges + self.blocks:
            return 200, {"Content-Type": "text/html"}, BLOCKED
        return page("last" if self.ends else path)


class Loop:
    """A home with history, and its hours one after the other."""

    def __init__(self, tmp_path: Path, site: LocalSite, moods: Moods) -> None:
        self.home = Home(tmp_path / "home")
        self.staging = tmp_path / "staging"
        self.configuration: Configuration = configuration_with(
            tmp_path / "config", {"window_minutes": 60}
        )
        self.site, self.moods = site, moods
        self.end = BEGIN + timedelta(days=14, hours=8)
        # A slow history: what the machine of the test does to latency says nothing.
        history = (
            {**fetch, "latency_ms": 60_000, "page_type": "page"}
            for fetch in steady(site.host, BEGIN, self.end, timedelta(seconds=60))
        )
        write_log(self.home.inbox / "history" / "log.jsonl", history)
        job.run(self.home, self.configuration, self.end - HOUR, self.end, now=self.end, act=True)
        self.settings = {
            "TARGET_HEALTH_INBOX": str(self.staging),
            "TARGET_HEALTH_CONTROL": str(self.home.control),
            "TARGET_HEALTH_STATE": str(tmp_path / "state"),
            "TARGET_HEALTH_ROTATE_S": 0.2,
            "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
        }

    def hour(self, **mood: float) -> dict[str, Any]:
        """Crawl one hour's worth of a mood, run the job; the site's order and newest score."""
        for name in ("challenges", "blocks", "refusals"):
            setattr(self.moods, name, mood.get(name, 0.0))
        until(lambda: self.site.at_once <= 8, "calm")
        begin = len(self.site.requests) + 16  # what is under way belongs to the mood before
        until(lambda: len(self.site.requests) > begin, "requests of this mood")
        since = self.site.requests[begin][0]
        self.site.most_at_once = 0

        def rows() -> list[dict[str, Any]]:
            return [row for row in iter_rows(self.staging) if moment_of(row) > since]

        until(lambda: len(rows()) >= FETCHES, "an hour's rows")
        start, self.end = self.end, self.end + HOUR
        fetches = rows()[:FETCHES]
        for number, row in enumerate(fetches):
            row["ts"] = (start + HOUR * number / FETCHES).isoformat() + "Z"
        write_log(self.home.inbox / "chain" / f"{start:%d%H}.jsonl", fetches)
        self.most_at_once = self.site.most_at_once
        return self.run()

    def run(self) -> dict[str, Any]:
        job.run(self.home, self.configuration, self.end - HOUR, self.end, now=self.end, act=True)
        order = json.loads(self.home.control.read_text())["sites"][self.site.host]
        with duckdb.connect(str(self.home.published), read_only=True) as connection:
            [(band, score, reasons)] = connection.sql(
                "SELECT band, score, reasons FROM site_health"
            ).fetchall()
        return {**order, "band": band, "score": score, "why": reasons}


def moment_of(row: dict[str, Any]) -> float:
    return datetime.fromisoformat(row["ts"]).timestamp()


def test_log_scores_control_file_and_the_spiders_pace_follow_a_site_down_and_back(
    tmp_path: Path,
) -> None:
    moods = Moods()
    with LocalSite(moods, delay_s=0.02) as site:
        loop = Loop(tmp_path, site, moods)
        crawl = Crawl(tmp_path, "Chain", loop.home.root, loop.settings, urls=[f"{site.url}/p"])

        normal = loop.hour()
        assert (normal["band"], normal["state"], normal["score"]) == ("healthy", "active", 100)
        until(lambda: site.most_at_once > 4, "the spider's own pace")

        rising = loop.hour(challenges=0.15)
        assert (rising["band"], rising["state"], rising["score"]) == ("healthy", "active", 81)
        assert rising["why"] == ["challenge"]

        worse = loop.hour(challenges=0.25, blocks=0.35)
        assert (worse["band"], worse["state"], worse["step"]) == ("degraded", "slowed", 1)
        assert set(worse["why"][:2]) == {"challenge", "soft_block"}
        until(lambda: "is slowed to 0.5" in crawl.log, "the spider to slow down")

        refused = loop.hour(refusals=1.0)
        assert loop.most_at_once <= 4
        assert (refused["band"], refused["state"]) == ("resisting", "paused")
        assert refused["why"][:2] == ["refusal", "hard_block"]
        stats = crawl.wait()
        asked = len(site.requests)
        assert stats["target_health/deferred/kept"] == 8
        assert stats["target_health/deferred/waiting"] == 8

        # Started again while the site is paused, the spider asks for nothing.
        moods.refusals = 0.0
        crawl = Crawl(tmp_path, "Chain", loop.home.root, loop.settings, urls=[])
        crawl.wait()
        assert len(site.requests) == asked

        with open_writer(loop.home) as connection:
            resume_sites(
                connection,
                loop.configuration,
                [site.host],
                by="ann",
                why="they fixed it",
                now=loop.end + HOUR / 60,
            )
            job.publish(
                connection, loop.home, loop.configuration, now=loop.end + HOUR / 60, control=True
            )
        loop.end += HOUR
        crawl = Crawl(tmp_path, "Chain", loop.home.root, loop.settings, urls=[])
        steps = []
        for _ in range(4):
            steps.append(loop.hour()["step"])
            if steps[-1] == 2:
                break
            assert loop.most_at_once == 1
        assert steps[-1] == 2, "a recovered site is restored step by step"
        until(lambda: "is slowed to 0.25" in crawl.log, "the spider to go on faster")
        moods.ends = True
        crawl.wait()
        numbers = {int(path.rpartition("/")[2]) for path in site.paths}
    for start in range(8):
        chain = sorted(number for number in numbers if number % 8 == start)
        assert chain == list(range(start, chain[-1] + 1, 8)), "a request was lost"
