"""A real Scrapy crawl: which rows the log has, and what they say."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.crawlers.crawls import Crawl, iter_rows, rows_of, until, write_control
from tests.crawlers.local_site import CHALLENGE, Answer, LocalSite, page

pytest.importorskip("scrapy")

SCHEMA = Path(__file__).parents[2] / "include/target_health/crawl_log/crawl_log.schema.json"


class Shop:
    """A list and products: one moved, one busy at first, one behind a challenge, …"""

    def __init__(self) -> None:
        self.asked: dict[str, int] = {}

    def __call__(self, path: str) -> Answer:
        self.asked[path] = self.asked.get(path, 0) + 1
        if path == "/":
            names = ("plain", "two", "empty", "broken", "moved", "busy", "challenge", "gone")
            return page("all", [f"/p/{name}" for name in names])
        if path == "/p/moved":
            return 302, {"Location": "/p/target"}, b""
        if path == "/p/busy" and self.asked[path] == 1:
            return 503, {}, b"busy"
        if path == "/p/challenge":
            headers = {"Content-Encoding": "gzip", "Content-Type": "text/html"}
            return 403, headers, gzip.compress(CHALLENGE)
        if path == "/p/gone":
            return 404, {}, b""
        return page(path)


def test_every_attempt_is_a_row_that_says_what_came_of_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with LocalSite(Shop()) as site:
        refused = "http://127.0.0.1:1/refused"
        crawl = Crawl(tmp_path, "Shop", home, {}, urls=[f"{site.url}/", refused])
        stats = crawl.wait()
        served = len(site.requests)
    rows = rows_of(home)
    by_path: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_path.setdefault(row["url"].rpartition("/")[2], []).append(row)

    # Every request that was sent, no more; retries, redirects and failures among them.
    assert len(rows) == served + len(by_path["refused"])
    assert len(by_path["refused"]) == 2
    assert {row["error"] for row in by_path["refused"]} == {"other"}
    assert [row["status"] for row in by_path["busy"]] == [503, 200]
    assert [row["status"] for row in by_path["moved"]] == [302]
    assert [row["status"] for row in by_path["target"]] == [200]
    assert len({row["event_id"] for row in rows}) == len(rows)

    # What extraction brought: as it was yielded, null without result, absent where none was tried.
    assert by_path["plain"][0]["item"] == {"name": "/p/plain", "price": 9.5}
    assert by_path["two"][0]["item"] == [
        {"name": "/p/two", "price": 9.5},
        {"name": "second", "price": None},
    ]
    assert by_path["busy"][1]["item"]["name"] == "/p/busy"
    assert by_path["empty"][0]["item"] is None
    assert by_path["broken"][0]["item"] is None
    for name in ("", "moved", "challenge", "gone"):
        assert "item" not in by_path[name][0], name
    assert "item" not in by_path["busy"][0]

    # What the classifier sees, in what was really sent.
    challenge = by_path["challenge"][0]
    assert challenge["evidence"] == ["challenge:cloudflare"]
    assert challenge["title"] == "Just a moment..."
    assert challenge["bytes"] == len(CHALLENGE)
    plain = by_path["plain"][0]
    assert plain["title"] == "/p/plain"
    assert plain["evidence"] == []
    assert plain["text_length"] > 1000
    assert len(plain["content_hash"]) == 64
    assert plain["latency_ms"] > 0
    assert {row.get("page_type") for row in rows} == {"list", "product"}

    assert stats["target_health/log/rows"] == stats["target_health/log/taken"] == len(rows)
    assert stats["target_health/log/lost"] == 0
    assert "target_health/errors" not in stats
    assert not list((home / "inbox/shop/.writing").iterdir())

    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text()))
    for row in rows:
        validator.validate(row)


def test_meta_tells_canaries_and_page_types_and_a_proxy_is_a_route_without_its_password(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    with LocalSite(page) as site:
        proxy = site.url.replace("http://", "http://customer-7:s3cret@")
        Crawl(tmp_path, "Marked", home, {}, url=site.url, proxy=proxy).wait()
        gateway = site.url.removeprefix("http://")
    text = "".join(path.read_text() for path in (home / "inbox").rglob("*.jsonl"))
    rows = {json.loads(line)["url"]: json.loads(line) for line in text.splitlines()}
    canary = rows[f"{site.url}/canary"]
    assert (canary["canary"], canary["page_type"]) == ("known-page", "probe")
    assert rows["http://shop.example/p/1"]["route"] == {"gateway": gateway}
    assert "canary" not in rows[f"{site.url}/normal"]
    assert "page_type" not in rows[f"{site.url}/normal"]
    assert "s3cret" not in text
    assert "customer-7" not in text


def test_a_killed_spider_leaves_its_rows_in_a_complete_file(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with LocalSite(page, delay_s=0.005) as site:
        crawl = Crawl(tmp_path, "Chain", home, {}, urls=[f"{site.url}/p"])
        until(lambda: len(site.requests) > 60, "sixty requests")
        crawl.kill()
        sent = len(site.requests)
        # The process that writes sees the end of its input, and completes the file.
        until(lambda: any(iter_rows(home / "inbox")), "a complete file")
    # Lost are those under way, and those of the last moments.
    assert sent - 40 <= len(rows_of(home)) <= sent


def test_neither_an_unwritable_log_nor_a_broken_control_stops_a_crawl(tmp_path: Path) -> None:
    home = tmp_path / "home"
    write_control(home, "[]")
    (home / "inbox").write_text("a file where the directory should be")
    with LocalSite(Shop()) as site:
        crawl = Crawl(tmp_path, "Shop", home, {}, urls=[f"{site.url}/"])
        stats = crawl.wait()
        assert len(site.requests) == 11
    assert stats["finish_reason"] == "finished"
    assert stats["target_health/log/lost"] == stats["target_health/log/taken"] == 11
    assert crawl.log.count("the crawl log cannot be written") == 1
    assert crawl.log.count("the crawl goes at its own pace") == 1
