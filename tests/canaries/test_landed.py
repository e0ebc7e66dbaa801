"""Canaries that crawlers fetch themselves, and answers learned from pages that must not exist:
through whole landings.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

import pytest

from target_health import job
from target_health.canaries.recording import record_landed
from target_health.landing import crawl_log_view_sql
from target_health.warehouse import open_writer
from target_health.warehouse.rows import rows_of
from tests.canaries.conftest import SITE, Canaries
from tests.canaries.servers import LocalSite, Reply

NOW = datetime(2026, 3, 1, 12, 5)
WORDS = "Some words to read about kettles and pots. " * 9
RIGHT = f"<html><title>Kettle</title><body><h1>Kettle</h1><p>{WORDS}</p><b>49.90</b></body></html>"
WRONG = RIGHT.replace("49.90", "12.00")
GONE = (
    "<html><title>Oops</title><body><h1>Our best of spring</h1><p>Look what we have for you"
    " today instead, all of it fresh from the shop.</p></body></html>"
)
PRICE = {"css": "b", "number": 49.9}


def line(minute: int, **fields: Any) -> str:
    ts = datetime(2026, 3, 1, 11) + timedelta(minutes=minute)
    url = f"https://{SITE}/p/{minute}"
    return json.dumps({"ts": ts.isoformat() + "Z", "url": url, "status": 200, **fields}) + "\n"


def land(canaries: Canaries, name: str, *lines: str) -> job.LandingReport:
    path = canaries.home.inbox / "crawler" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(lines))
    return job.land_step(canaries.home, canaries.configuration(), now=NOW)


def landed(canaries: Canaries, columns: str) -> list[dict[str, Any]]:
    with open_writer(canaries.home) as connection:
        view = crawl_log_view_sql(connection, canaries.home)
        return rows_of(connection, f"SELECT {columns} FROM ({view}) ORDER BY ts")


@pytest.fixture
def app(canaries: Canaries) -> Canaries:
    canaries.page("app", f"https://{SITE}/app", PRICE, fetched_by="crawler")
    return canaries


def test_checks_run_on_the_row_while_its_body_is_there(app: Canaries) -> None:
    report = land(
        app,
        "a.jsonl",
        line(1, canary="app", body=RIGHT, event_id="e-1", latency_ms=120),
        line(2, canary=f"{SITE}/app", body=WRONG),
        line(3, canary="app", status=403, body="<h1>No</h1>"),
        line(4, canary="app", status=None, error="timeout"),
        line(5, canary="app"),
        line(6, canary="other", body=RIGHT),
        line(7, body=WRONG),
    )
    assert report.rows == 7
    assert app.rows(
        "SELECT outcome, got, via, route, detail FROM canary_results ORDER BY observed_at"
    ) == [
        {"outcome": "pass", "got": "49.90", "via": "crawl_log", "route": "crawler", "detail": ""},
        {
            "outcome": "wrong_value",
            "got": "12.00",
            "via": "crawl_log",
            "route": "crawler",
            "detail": "",
        },
        {
            "outcome": "blocked",
            "got": None,
            "via": "crawl_log",
            "route": "crawler",
            "detail": "hard block, 403",
        },
        {
            "outcome": "unknown",
            "got": None,
            "via": "crawl_log",
            "route": "crawler",
            "detail": "unknown, timeout",
        },
        {
            "outcome": "unknown",
            "got": None,
            "via": "crawl_log",
            "route": "crawler",
            "detail": "the log has no body to check",
        },
    ]
    [first, *_] = app.rows("SELECT run_id, latency_ms FROM canary_results ORDER BY observed_at")
    assert first == {"run_id": "e-1", "latency_ms": 120.0}
    [source] = report.sources.values()
    assert "1 × canary not in canaries.yaml" in source.all_notes


def test_landing_and_recording_again_change_nothing_and_late_lies_are_found(app: Canaries) -> None:
    land(app, "a.jsonl", line(1, canary="app", body=RIGHT), line(2, canary="app", body=WRONG))
    before = app.rows("SELECT * FROM canary_results ORDER BY ALL")
    land(app, "renamed.jsonl", line(1, canary="app", body=RIGHT), line(2, canary="app", body=WRONG))
    record_landed(app.home, app.configuration(), now=NOW)
    assert app.rows("SELECT * FROM canary_results ORDER BY ALL") == before
    [verdict] = app.rows("SELECT verdict, deceived FROM canary_verdicts")
    assert verdict == {"verdict": "note", "deceived": False}
    land(app, "b.jsonl", line(9, canary="app", body=WRONG))
    [verdict] = app.rows("SELECT deceived, suspect_since FROM canary_verdicts")
    assert verdict == {"deceived": True, "suspect_since": datetime(2026, 3, 1, 11, 1)}


def test_bodies_in_files_and_in_csv_are_checked_too(app: Canaries) -> None:
    folder = app.home.inbox / "crawler"
    (folder / "pages").mkdir(parents=True)
    (folder / "pages" / "1.html").write_text(WRONG)
    land(app, "a.jsonl", line(1, canary="app", body_path="pages/1.html"))
    quoted = RIGHT.replace('"', '""')
    land(
        app,
        "b.csv",
        "ts,url,status,canary,body\n",
        f'2026-03-01T11:05:00Z,https://{SITE}/x,200,app,"{quoted}"\n',
    )
    found = app.rows("SELECT outcome FROM canary_results ORDER BY observed_at")
    assert [row["outcome"] for row in found] == ["wrong_value", "pass"]


# Learned answers


@pytest.fixture
def taught(canaries: Canaries, site: LocalSite) -> Canaries:
    """A site that answers 200 and one page wherever nothing is."""
    site.missing = Reply(GONE, headers={"Content-Type": "text/html"})
    canaries.page("kettle", site.page("/p", RIGHT), PRICE)
    canaries.page("nowhere", site.url + "/no-such-page-4711", missing=True)
    assert canaries.verdict().verdict == "good"
    return canaries


def test_the_learned_answer_is_marked_elsewhere(taught: Canaries) -> None:
    digits = GONE.replace("Oops", "Oops 77").replace("today", "today4")
    land(
        taught,
        "a.jsonl",
        line(1, body=GONE),
        line(2, body=digits),
        line(3, body=GONE, item={"name": "a thing"}),
        line(4, body=RIGHT),
        line(5, title="Oops", bytes=len(GONE) + 9),
        line(6, title="Oops", bytes=3 * len(GONE)),
        line(7, body=GONE, status=404),
        line(8, body=GONE, url="https://other.example/p"),
        line(9, body=GONE, canary="unknown"),
    )
    found = landed(taught, "verdict, evidence")
    assert [row["verdict"] for row in found] == [
        "soft_404", "soft_404", "ok", "ok", "soft_404", "ok", "not_found", "ok", "ok",
    ]  # fmt: skip
    assert found[0]["evidence"] == ["soft_404:probe"]
    assert found[2]["evidence"] == []


def test_what_another_route_is_shown_teaches_nothing(taught: Canaries, site: LocalSite) -> None:
    before = taught.rows("SELECT content_hash FROM canary_missing_answers")

    def answer(headers: dict[str, str]) -> Reply:
        other = headers.get("user-agent") == "office"
        return Reply("<title>Elsewhere</title><p>Quite another text here.</p>" if other else GONE)

    site.missing = answer
    taught.routes = {"routes": {"office": {"headers": {"User-Agent": "office"}}}}
    taught.pages[1]["routes"] = ["direct", "office"]
    taught.run()
    assert taught.rows("SELECT content_hash FROM canary_missing_answers") == before


def test_large_logs_are_marked_on_their_straight_way_too(taught: Canaries) -> None:
    import hashlib

    answer = hashlib.sha256(GONE.encode()).hexdigest()
    lines = [
        line(number % 50, url=f"https://{SITE}/{number}", content_hash=answer if odd else "x" * 64)
        for number in range(6000)
        for odd in [number % 2]
    ]
    land(taught, "long.jsonl", *lines)
    found = landed(taught, "verdict, count(*) OVER (PARTITION BY verdict) AS n")
    assert {(row["verdict"], row["n"]) for row in found} == {("soft_404", 3000), ("ok", 3000)}


def test_an_answer_that_real_pages_give_marks_nothing(canaries: Canaries, site: LocalSite) -> None:
    shell = "<html><title>App</title><body><p>This application needs a script.</p></body></html>"
    site.missing = Reply(shell, headers={"Content-Type": "text/html"})
    canaries.page("kettle", site.page("/p", shell), {"title": "App"})
    canaries.page("nowhere", site.url + "/no-such-page-4711", missing=True)
    canaries.run()
    canaries.run()
    [answer] = canaries.rows("SELECT * FROM canary_missing_answers")
    assert (answer["by_hash"], answer["by_title"]) == (False, False)
    assert answer["why_not"] == "a page that exists gives the same answer"
    land(canaries, "a.jsonl", line(1, body=shell))
    assert [row["verdict"] for row in landed(canaries, "verdict")] == ["ok"]


def test_an_answer_that_most_of_the_crawl_is_given_marks_nothing(
    canaries: Canaries, site: LocalSite
) -> None:
    lines = [line(number, body=GONE) for number in range(25)]
    land(canaries, "a.jsonl", *lines)
    site.missing = Reply(GONE, headers={"Content-Type": "text/html"})
    canaries.page("nowhere", site.url + "/no-such-page-4711", missing=True)
    canaries.run()
    canaries.run()
    [answer] = canaries.rows("SELECT by_hash, why_not FROM canary_missing_answers")
    assert answer == {"by_hash": False, "why_not": "most of the crawl is given the same answer"}


@pytest.mark.parametrize("reply", [Reply("not here", 404), Reply(GONE, 403), Reply(b"", 200)])
def test_what_says_it_itself_or_refuses_teaches_nothing(
    canaries: Canaries, site: LocalSite, reply: Reply
) -> None:
    site.missing = reply
    canaries.page("nowhere", site.url + "/no-such-page-4711", missing=True)
    canaries.run()
    assert not any(row["by_hash"] for row in canaries.rows("FROM canary_missing_answers"))
