"""The same for plain ``requests``: rows, turns, and requests that are kept."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
import requests

from target_health.errors import UsageError
from target_health.requests import SiteHalted, watch
from tests.crawlers.crawls import control, rows_of, until, write_control
from tests.crawlers.local_site import CHALLENGE, Answer, LocalSite, page


def answer(path: str) -> Answer:
    if path == "/moved":
        return 302, {"Location": "/target"}, b""
    if path == "/challenge":
        return 403, {"Content-Type": "text/html"}, CHALLENGE
    return page(path)


def test_each_hop_is_a_row_with_its_item_and_evidence(tmp_path: Path) -> None:
    with LocalSite(answer) as site:
        session = requests.Session()
        own = session.get_adapter(site.url)
        with watch(session, source="plain", home=tmp_path) as watched:
            product = session.get(f"{site.url}/p")
            watched.item(product, {"name": "p"}, page_type="product")
            empty = session.get(f"{site.url}/empty")
            watched.item(empty, None)
            session.get(f"{site.url}/moved")
            session.get(f"{site.url}/challenge")
            streamed = session.get(f"{site.url}/streamed", stream=True)
            assert len(streamed.content) > 1000
            with pytest.raises(requests.ConnectionError):
                session.get("http://127.0.0.1:1/refused", timeout=5)
        assert session.get_adapter(site.url) is own
        session.get(f"{site.url}/after")
    rows = {row["url"].rpartition("/")[2]: row for row in rows_of(tmp_path)}
    assert set(rows) == {"p", "empty", "moved", "target", "challenge", "streamed", "refused"}
    assert rows["p"]["item"] == {"name": "p"}
    assert rows["p"]["page_type"] == "product"
    assert rows["empty"]["item"] is None
    assert "item" not in rows["target"]
    assert rows["moved"]["status"] == 302
    assert rows["challenge"]["evidence"] == ["challenge:cloudflare"]
    assert rows["refused"]["status"] is None
    assert rows["refused"]["error"] == "other"
    assert all(row["latency_ms"] > 0 for row in rows.values())


def test_a_failure_is_told_by_what_was_raised_not_by_its_url(tmp_path: Path) -> None:
    session = requests.Session()
    with LocalSite(answer, delay_s=2) as slow, watch(session, source="plain", home=tmp_path):
        try:
            raise requests.exceptions.ProxyError("of a fetch before")
        except requests.RequestException:
            for url in (slow.url, "http://127.0.0.1:1"):
                with pytest.raises(requests.RequestException):
                    session.get(f"{url}/ssl/reset?proxy=aborted", timeout=0.3)
    assert [row["error"] for row in rows_of(tmp_path)] == ["timeout", "other"]


def test_a_paused_site_is_asked_nothing_and_its_requests_come_back(tmp_path: Path) -> None:
    with LocalSite(answer, 1) as site, LocalSite(answer, 2) as other:
        control(tmp_path, **{site.host: "paused"})
        session = requests.Session()
        with watch(session, source="plain", home=tmp_path) as watched:
            for _ in range(2):  # kept once
                with pytest.raises(SiteHalted, match="is paused"):
                    session.post(f"{site.url}/form", data={"q": "7"}, headers={"X-Own": "1"})
            session.get(f"{other.url}/p")
            assert watched.counts()["deferred"] == 1
            assert list(watched.due()) == []
        assert site.requests == []
        control(tmp_path, **{site.host: 3})
        later = requests.Session()
        with watch(later, source="plain", home=tmp_path) as watched:
            [request] = watched.due()
            assert (request.method, request.body) == ("POST", "q=7")
            assert request.headers["X-Own"] == "1"
            later.send(request)
            assert watched.counts()["deferred"] == 0
        with watch(requests.Session(), source="plain", home=tmp_path) as watched:
            assert list(watched.due()) == []
    assert len(other.requests) == 1


def test_a_slowed_site_gets_a_share_of_the_threads_and_a_restored_one_all(tmp_path: Path) -> None:
    control(tmp_path, **{"127.0.0.1": 2})
    with LocalSite(answer, delay_s=0.02) as site:
        session = requests.Session()
        with watch(session, source="plain", home=tmp_path, concurrency=8, poll_s=0.05) as watched:

            def fetch_all() -> int:
                site.most_at_once = 0
                threads = [
                    threading.Thread(target=session.get, args=(f"{site.url}/{number}",))
                    for number in range(16)
                ]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                return site.most_at_once

            assert fetch_all() <= 2
            control(tmp_path)
            until(lambda: watched.order(site.host).state == "active", "the new control")
            assert fetch_all() > 2
            write_control(tmp_path, "broken")
            session.get(f"{site.url}/still")
    assert len(site.requests) == 33


def test_a_log_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "inbox").write_text("a file where the directory should be")
    with LocalSite(answer) as site:
        session = requests.Session()
        with watch(session, source="plain", home=tmp_path) as watched:
            assert session.get(f"{site.url}/p").status_code == 200
        assert watched.counts()["lost"] == 1


def test_something_must_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TARGET_HEALTH_HOME", "TARGET_HEALTH_INBOX", "TARGET_HEALTH_CONTROL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UsageError, match="set TARGET_HEALTH_HOME"):
        watch(requests.Session(), source="plain")
