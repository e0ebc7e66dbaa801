"""The oracle against numbers worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any

import pytest

from . import (
    SCORE_COLUMNS,
    WINDOW_COLUMNS,
    History,
    Numbers,
    baselines,
    final_verdict,
    has_value,
    landing_verdict,
    site_scores,
    site_windows,
    window_minutes,
)
from .cases import CASES, DAY, HOUR, MINUTE, START, Case, fetch, window
from .route_cases import routes_at_the_bounds

SITE = "a.example"
LATE = START + 4 * DAY


def normal(site: str = SITE, **counts: Any) -> list[dict[str, Any]]:
    """600 judged fetches in six windows on three days: a baseline from day four on."""
    return [
        window(site, START + day * DAY + hour * HOUR, 60, 100, **counts)
        for day in range(3)
        for hour in (0, 12)
    ]


def scored(rows: list[dict[str, Any]], numbers: Numbers | None = None) -> list[dict[str, Any]]:
    """Scores from the first late window on."""
    return [row for row in site_scores(rows, numbers or Numbers()) if row["window_start"] >= LATE]


def one(now: dict[str, Any], base: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    return scored([*(base or normal()), now])[0]


# ---- verdicts --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "verdict"),
    [
        ({"status": 200}, "ok"),
        ({"status": 204}, "ok"),
        ({"status": 304}, "ok"),
        ({"status": 304, "evidence": ["soft_block:block_page"]}, "ok"),
        ({"status": 200, "error": "timeout"}, "ok"),
        ({"status": 200, "error": "connection_reset"}, "ok"),
        ({"status": 200, "error": "proxy"}, "unknown"),
        ({"status": 407}, "unknown"),
        ({"status": 407, "evidence": ["challenge:x"]}, "unknown"),
        ({"status": None}, "unknown"),
        ({"status": None, "error": "timeout", "evidence": ["challenge:x"]}, "unknown"),
        ({"status": None, "error": "aborted"}, "unknown"),
        ({"status": None, "error": "connection_reset"}, "hard_block"),
        ({"status": None, "error": "connection_reset", "evidence": ["challenge:x"]}, "challenge"),
        ({"status": 403}, "hard_block"),
        ({"status": 403, "evidence": ["challenge:cloudflare"]}, "challenge"),
        ({"status": 403, "evidence": ["challenge:x"], "item": {"a": 1}}, "hard_block"),
        ({"status": 429}, "hard_block"),
        ({"status": 451}, "hard_block"),
        ({"status": 999}, "hard_block"),
        ({"status": 998}, "client_error"),
        ({"status": 100}, "client_error"),
        ({"status": 401}, "client_error"),
        ({"status": 404}, "not_found"),
        ({"status": 410}, "not_found"),
        ({"status": 500}, "server_error"),
        ({"status": 599}, "server_error"),
        ({"status": 600}, "client_error"),
        ({"status": 302}, "redirect"),
        ({"status": 302, "evidence": ["challenge:x"]}, "challenge"),
        ({"status": 200, "evidence": ["challenge:x"], "item": None}, "challenge"),
        ({"status": 200, "evidence": ["challenge:x"], "item": {"a": "b"}}, "ok"),
        ({"status": 200, "evidence": ["soft_block:block_page"], "item": {"a": "b"}}, "soft_block"),
        ({"status": 200, "evidence": ["soft_404:title", "soft_block:x"]}, "soft_block"),
        ({"status": 200, "evidence": ["paywalled:schema_org", "soft_404:title"]}, "soft_404"),
        ({"status": 200, "evidence": ["paywalled:schema_org"]}, "paywalled"),
        ({"status": 404, "evidence": ["soft_block:x"]}, "not_found"),
    ],
)
def test_landing_verdict_is_the_first_of_the_table(columns: dict[str, Any], verdict: str) -> None:
    assert landing_verdict(columns) == verdict


@pytest.mark.parametrize("item", [None, {}, [], {"a": None}, {"a": "", "b": []}, [{"a": " "}], ""])
def test_items_without_a_value(item: Any) -> None:
    assert not has_value(item)


@pytest.mark.parametrize("item", [{"a": 0}, {"a": False}, [None, {"a": "b"}], {"a": {"b": [1]}}])
def test_items_with_a_value(item: Any) -> None:
    assert has_value(item)


def test_soft_block_by_size_is_strictly_below_30_percent_and_asks_for_a_failed_item() -> None:
    history = History(usual_bytes=20_000, low_bytes=19_000, ok_fetches=10, with_item_value=0)
    small = {"status": 200, "bytes": 5_999, "item": None}
    assert final_verdict(small, history) == "soft_block"
    assert final_verdict({**small, "bytes": 6_000}, history) == "ok"
    assert final_verdict({**small, "item": {"a": ""}}, history) == "soft_block"
    assert final_verdict({**small, "item": {"a": "b"}}, history) == "ok"
    assert final_verdict({**small, "bytes": None}, history) == "ok"
    absent = {"status": 200, "bytes": 10}  # not attempted: counts where small pages are rare
    assert final_verdict(absent, history) == "soft_block"
    assert final_verdict(absent, replace(history, low_bytes=5_999)) == "ok"
    marked = {**small, "evidence": ["soft_404:title"]}
    assert final_verdict(marked, history) == "soft_404"
    assert final_verdict({**small, "status": 304}, history) == "ok"
    assert final_verdict(small, History()) == "ok"


def test_soft_block_by_same_answer_asks_for_95_percent_and_three_urls() -> None:
    shell = {"status": 200, "item": None}
    assert final_verdict(shell, History(None, None, 100, 95), 3) == "soft_block"
    assert final_verdict(shell, History(None, None, 100, 94), 3) == "ok"
    assert final_verdict(shell, History(None, None, 100, 95), 2) == "ok"
    assert final_verdict({"status": 200, "item": {"a": 1}}, History(None, None, 100, 95), 3) == "ok"
    assert final_verdict({"status": 200}, History(None, None, 100, 95), 3) == "soft_block"


# ---- windows ---------------------------------------------------------------------------------


def many(at: datetime, count: int, **columns: Any) -> list[dict[str, Any]]:
    """Fetches a second apart."""
    return [fetch(SITE, at + timedelta(seconds=n), n, **columns) for n in range(count)]


def test_auto_length_by_mean_of_non_empty_hours_and_stretches() -> None:
    # Two hours a day, 06 and 07, with 100 judged fetches each; 2 × 50 are wanted.
    log = [
        row
        for day in range(10)
        for hour in (6, 7)
        for row in many(START + day * DAY + hour * HOUR, 100)
    ]
    day = date(2025, 3, 4)  # day 12: sees days 0 to 10
    # 15 min: 25, 30 min: 50, 60 min: 100.
    assert window_minutes(log, SITE, day, Numbers()) == 60
    assert window_minutes(log, SITE, day, Numbers(min_requests=12)) == 15  # 25 >= 24
    assert window_minutes(log, SITE, day, Numbers(min_requests=13)) == 30  # 25 < 26 <= 50
    # Half of it: 60 min 50; 120 min (06-08 is one stretch) 200 / 2 = 100.
    assert window_minutes(log, SITE, day, Numbers(), {(SITE, day): 0.5}) == 120
    # A quarter: never more than 200 / 4 = 50 a stretch.
    assert window_minutes(log, SITE, day, Numbers(), {(SITE, day): 0.25}) == 1440
    assert window_minutes(log, SITE, day, Numbers(window_minutes=20)) == 20
    own = Numbers(sites={SITE: {"min_requests": 12}})
    assert window_minutes(log, SITE, day, own) == 15


def test_auto_length_stretches_are_aligned_to_midnight() -> None:
    # 50 at 05:00 and 50 at 07:00: 04-06 and 06-08 hold 50 each, 04-08 holds 100.
    log = many(START + 5 * HOUR, 50) + many(START + 7 * HOUR, 50)
    assert window_minutes(log, SITE, date(2025, 2, 22), Numbers()) == 240


def test_auto_length_looks_from_14_days_back_to_one_day_back() -> None:
    log = many(START + 12 * HOUR, 5)
    assert window_minutes(log, SITE, date(2025, 2, 20), Numbers()) == 15  # the same day
    assert window_minutes(log, SITE, date(2025, 2, 21), Numbers()) == 15  # the day before
    assert window_minutes(log, SITE, date(2025, 2, 22), Numbers()) == 1440  # 5 a day: none
    assert window_minutes(log, SITE, date(2025, 3, 6), Numbers()) == 1440  # 14 days back
    assert window_minutes(log, SITE, date(2025, 3, 7), Numbers()) == 15


def test_auto_length_counts_judged_fetches_only() -> None:
    log = many(START, 100, status=301) + many(START + HOUR, 100, status=None, error="dns")
    log += many(START + 2 * HOUR, 100, canary="front")
    assert window_minutes(log, SITE, date(2025, 2, 22), Numbers()) == 15  # there is no such hour
    log += many(START + 3 * HOUR, 100, status=403)
    assert window_minutes(log, SITE, date(2025, 2, 22), Numbers()) == 60


def test_window_counts() -> None:
    at = START + 10 * MINUTE
    log = [
        fetch(SITE, at, 0, latency_ms=100.0, item={"a": 1}, attempts=3, credits=0.5, bytes=10),
        fetch(SITE, at, 1, latency_ms=200.0, item=[{"a": 1}, {"a": None}, {"a": 2}], bytes=20),
        fetch(SITE, at, 2, status=304, latency_ms=None, bytes=None),
        fetch(SITE, at, 3, status=403, latency_ms=9000.0, bytes=None),
        fetch(SITE, at, 4, status=302, bytes=None),
        fetch(SITE, at, 5, status=None, error="timeout", bytes=None, attempts=None),
        fetch(SITE, at, 6, status=404, bytes=None),
        fetch(SITE, at, 7, status=503, bytes=None),
        fetch(SITE, at, 8, status=401, bytes=None),
        fetch(SITE, at, 9, evidence=["paywalled:schema_org"], bytes=5),
        fetch(SITE, at, 10, evidence=["soft_404:title"], bytes=None),
        fetch(SITE, at, 11, evidence=["soft_block:block_page"], bytes=None),
        fetch(SITE, at, 12, evidence=["challenge:datadome"], bytes=None),
        fetch(SITE, at, 13, canary="front"),
        fetch(SITE, START + 15 * MINUTE, 14),
    ]
    rows = site_windows(log, Numbers(), START + 15 * MINUTE)
    assert len(rows) == 1  # the second window has not ended
    assert tuple(rows[0]) == WINDOW_COLUMNS
    assert rows[0] == {
        "site": SITE,
        "window_start": START,
        "window_end": START + 15 * MINUTE,
        "window_minutes": 15,
        "requests": 13,
        "judged": 11,
        "ok": 3,
        "hard_blocks": 1,
        "challenges": 1,
        "soft_blocks": 1,
        "soft_404s": 1,
        "paywalled": 1,
        "unknown": 1,
        "server_errors": 1,
        "client_errors": 1,
        "not_found": 1,
        "redirects": 1,
        "p95_latency_ms": pytest.approx(195.0),  # 100 + 0.95 × 100
        "attempts": 15,
        "bytes": 35,
        "credits": 0.5,
        "items": 3,
    }
    assert len(site_windows(log, Numbers(), START + 30 * MINUTE)) == 2


def test_history_turns_verdicts_at_window_time() -> None:
    # Three days of one good page an hour, so the period of day 4 holds days 0 to 2.
    log = [
        fetch(SITE, START + hour * HOUR, hour, item={"a": hour}, bytes=1000 + hour)
        for hour in range(72)
    ]
    # A 304 says nothing about size or extraction.
    log += [
        fetch(SITE, START + hour * HOUR + MINUTE, hour, status=304, bytes=1) for hour in range(72)
    ]
    # The ok sizes are 1000 … 1071, one a window; the usual one is 1035, 30 % of it 310.5.
    log += [
        fetch(SITE, LATE, 100, item=None, bytes=310),
        fetch(SITE, LATE, 101, item=None, bytes=311),
        fetch(SITE, LATE, 102, item={"a": 1}, bytes=310),
        fetch(SITE, LATE, 103, bytes=310),  # not attempted, but so small a page is rare here
        fetch(SITE, LATE, 104, item=None, bytes=310, page_type="other"),
        fetch(SITE, LATE + HOUR, 110, item=None, content_hash="x"),
        fetch(SITE, LATE + HOUR, 111, item=None, content_hash="x"),
        fetch(SITE, LATE + HOUR, 111, item=None, content_hash="x"),  # the same URL again
        fetch(SITE, LATE + 2 * HOUR, 120, item=None, final_url="https://a.example/login"),
        fetch(SITE, LATE + 2 * HOUR, 121, item={}, final_url="https://a.example/login"),
        fetch(SITE, LATE + 2 * HOUR, 122, item=None, final_url="https://a.example/login"),
        fetch(SITE, LATE + 2 * HOUR, 123, item=None, final_url="https://a.example/page/123"),
    ]
    rows = site_windows(log, Numbers(window_minutes=60), LATE + 3 * HOUR)[-3:]
    assert [(row["soft_blocks"], row["ok"]) for row in rows] == [(2, 3), (0, 3), (3, 1)]


# ---- flags and baselines ---------------------------------------------------------------------


def flags_from(rows: list[dict[str, Any]], numbers: Numbers | None = None) -> list[bool]:
    found = baselines(rows, numbers or Numbers())
    return [flag for row, flag, _ in found if row["window_start"] >= LATE]


def test_flag_is_more_than_20_points_above_the_median() -> None:
    base = normal(hard=10)
    late = [
        window(SITE, LATE, 60, 100, hard=30),
        window(SITE, LATE + HOUR, 60, 100, hard=11, challenge=10, soft=10),
        window(SITE, LATE + 2 * HOUR, 60, 49, hard=49),  # too small
        window(SITE, LATE + 3 * HOUR, 60, 100, server=80),  # not denied
        window(SITE, LATE + 4 * HOUR, 60, 50, hard=16),  # just large enough
    ]
    assert flags_from(base + late) == [False, True, False, False, True]


def test_flag_depends_on_windows_at_least_a_day_older() -> None:
    rows = normal() + [window(SITE, LATE + n * HOUR, 60, 100, hard=50) for n in range(30)]
    assert flags_from(rows) == [True] * 30


def test_period_of_flagged_windows_only_flags_whatever_the_share() -> None:
    numbers = Numbers(baseline_days=3, baseline_max_days=3)
    # Day 0 normal, days 1 to 5 all denied, day 6 good again: day d sees days d - 3 and d - 2.
    rows = [window(SITE, START, 60, 100)]
    rows += [window(SITE, START + day * DAY, 60, 100, hard=100) for day in range(1, 6)]
    rows += [window(SITE, START + 6 * DAY, 60, 100)]
    rows += [window(SITE, START + 30 * DAY, 60, 100, hard=100)]
    # Day 1 sees nothing: not flagged. Day 2 sees day 0: 1.0 against 0.0. Day 3 sees days 0 and 1:
    # against their median 0.5. Day 4 sees day 1 (1.0) and the flagged day 2: 1.0 is its normal.
    # Day 5 sees days 2 and 3, both flagged. Day 6 sees day 3 and day 4 (1.0). Day 30: nothing.
    assert [flag for _, flag, _ in baselines(rows, numbers)] == [
        False, False, True, True, False, True, False, False,
    ]  # fmt: skip
    # Without day 1 there is no such way back: day 6, all good, is flagged too.
    del rows[1]
    # Days 2 and 3 see day 0; days 4, 5 and 6 see flagged ones only.
    assert [flag for _, flag, _ in baselines(rows, numbers)] == [
        False, True, True, True, True, True, False,
    ]  # fmt: skip


def test_baseline_pools_counts_and_takes_the_median_p95() -> None:
    base = [
        window(SITE, START, 60, 400, hard=4, challenge=8, soft=12, p95=100.0),
        window(SITE, START + DAY, 60, 100, hard=6, p95=300.0),
        window(SITE, START + 2 * DAY, 60, 100, unknown=150, redirects=10, p95=900.0),
        window(SITE, START + 2 * DAY + HOUR, 60, 19, p95=5000.0),  # 19 ok: not in the median
        window(SITE, START + 2 * DAY + 2 * HOUR, 60, 100, hard=60, p95=7.0),  # flagged
    ]
    row = scored([*base, window(SITE, LATE, 60, 100)])[0]
    # The last: shares of its own period [.., day 1 02:00) are 24/400 and 6/100, both 0.06.
    assert row["baseline_requests"] == 619
    assert row["baseline_days"] == 3
    assert row["base_hard_block_rate"] == 10 / 619
    assert row["base_challenge_rate"] == 8 / 619
    assert row["base_soft_block_rate"] == 12 / 619
    assert row["base_p95_latency_ms"] == 300.0
    # ok: 376 + 94 + 100 + 19; requests less redirects: 400 + 100 + 250 + 19
    assert row["base_delivery_share"] == 589 / 769


def test_p95_base_takes_all_windows_where_none_has_20_ok() -> None:
    base = [
        window(SITE, START + day * DAY + n * HOUR, 60, 19, p95=100.0 * (day + 1))
        for day in range(3)
        for n in range(10)
    ]
    assert scored([*base, window(SITE, LATE, 60, 100)])[0]["base_p95_latency_ms"] == 200.0


def test_baseline_ends_a_day_before_and_begins_14_days_before() -> None:
    base = normal()
    numbers = Numbers(baseline_max_days=14)

    def held(at: datetime) -> int:
        rows = site_scores([*base, window(SITE, at, 60, 100)], numbers)
        return rows[-1]["baseline_requests"]

    assert held(START + 3 * DAY + 12 * HOUR) == 500  # the last window ends after t - 1 day
    assert held(START + 3 * DAY + 13 * HOUR) == 600
    assert held(START + 14 * DAY) == 600
    assert held(START + 14 * DAY + HOUR) == 500  # the first window began before t - 14 days


def test_baseline_is_stretched_to_60_days_where_it_holds_too_little() -> None:
    rows = [*normal(), window(SITE, START + 60 * DAY, 60, 100)]
    row = scored(rows)[0]
    assert (row["baseline_requests"], row["score"]) == (600, 100)
    rows[-1] = window(SITE, START + 60 * DAY + HOUR, 60, 100)
    assert (scored(rows)[0]["baseline_requests"], scored(rows)[0]["score"]) == (500, 100)
    rows[-1] = window(SITE, START + 61 * DAY, 60, 100)
    row = scored(rows)[0]
    assert (row["baseline_requests"], row["baseline_days"]) == (400, 2)
    assert (row["score"], row["unscored_reason"]) == (None, "no baseline yet")


def test_baseline_from_bounds_the_period_of_later_windows() -> None:
    rows = [*normal(), window(SITE, LATE, 60, 100), window(SITE, LATE + HOUR)]
    numbers = Numbers(sites={SITE: {"baseline_from": LATE + HOUR}})
    before, after = scored(rows, numbers)
    assert (before["score"], before["baseline_requests"]) == (100, 600)
    assert (after["unscored_reason"], after["baseline_requests"]) == ("no baseline yet", 0)


def test_least_baseline() -> None:
    def reason(judged: list[int], days: list[int]) -> str | None:
        rows = [window(SITE, START + day * DAY, 60, n) for n, day in zip(judged, days, strict=True)]
        return scored([*rows, window(SITE, LATE, 60, 100)])[0]["unscored_reason"]

    assert reason([200, 200, 100], [0, 1, 2]) is None
    assert reason([200, 200, 99], [0, 1, 2]) == "no baseline yet"
    assert reason([300, 300], [0, 1]) == "no baseline yet"
    rows = [window(SITE, START, 60, 300), window(SITE, START + DAY, 60, 300)]
    rows += [window(SITE, START + 2 * DAY, 60, 0, unknown=9), window(SITE, LATE, 60, 100)]
    assert scored(rows)[0]["baseline_days"] == 2  # a day without judged fetches is none


# ---- scores ----------------------------------------------------------------------------------


def test_a_normal_window_scores_100_with_every_column() -> None:
    row = one(window(SITE, LATE, 60, 100))
    assert tuple(row) == SCORE_COLUMNS
    assert (row["score"], row["served_share"], row["band"]) == (100, 1, "healthy")
    assert (row["smoothed_score"], row["smoothed_served_share"]) == (100, 1)
    assert row["reasons"] == []


@pytest.mark.parametrize(
    ("counts", "score", "reasons"),
    [
        # 10 of 100 hard: 35 × 0.5 = 17.5; 82.5 goes to 82 (half to even)
        ({"hard": 10}, 82, ["hard_block"]),
        # 2 of 100 challenges: 25 × 0.1 = 2.5; 97.5 goes to 98
        ({"challenge": 2}, 98, ["challenge"]),
        # p95 from 400 to 800 ms: 15 × (2 - 1) / 2 = 7.5; 92.5 goes to 92
        ({"p95": 800.0}, 92, ["latency"]),
        ({"p95": 399.0}, 100, []),
        ({"p95": 9999.0}, 85, ["latency"]),
        ({"hard": 100}, 65, ["hard_block", "delivery"]),
        # 35 × 0.05 = 1.75, 25 × 0.05 = 1.25 twice, 15 × 0.075 = 1.125: 5.375
        (
            {"hard": 1, "challenge": 1, "soft": 1, "p95": 460.0},
            95,
            ["hard_block", "challenge", "soft_block", "latency"],
        ),
        # 25 × 0.5 and 25 × 1.0 and 15 × 0.5
        (
            {"challenge": 10, "soft": 20, "p95": 800.0},
            55,
            ["soft_block", "challenge", "latency", "delivery"],
        ),
        ({"not_found": 19}, 100, []),
        ({"not_found": 20}, 100, ["delivery"]),
    ],
)
def test_score_and_reasons(counts: dict[str, Any], score: int, reasons: list[str]) -> None:
    row = one(window(SITE, LATE, 60, 100, **counts))
    assert row["score"] == score
    assert [reason for reason in row["reasons"] if reason != "refusal"] == reasons
    points = sum(row[f"{s}_penalty"] for s in ("hard_block", "challenge", "soft_block", "latency"))
    assert abs(100 - points - score) <= 0.5 + 1e-9


def test_rates_are_measured_against_the_own_normal() -> None:
    row = one(window(SITE, LATE, 60, 100, hard=40), normal(hard=30))
    # 0.40 against 0.30: half of the way to 20 points
    assert row["hard_block_penalty"] == pytest.approx(17.5)
    assert row["served_share"] == pytest.approx(60 / 70)


def test_latency_base_is_at_least_one_ms_and_null_costs_nothing() -> None:
    row = one(window(SITE, LATE, 60, 100, p95=2.0), normal(p95=0.2))
    assert row["latency_penalty"] == 7.5  # 2 / max(0.2, 1)
    assert one(window(SITE, LATE, 60, 100, p95=2.0), normal(p95=None))["latency_penalty"] == 0
    assert one(window(SITE, LATE, 60, 100, p95=None))["latency_penalty"] == 0


def test_served_share_is_null_where_the_base_is_denied_more_than_80_percent() -> None:
    assert one(window(SITE, LATE, 60, 100), normal(hard=81))["served_share"] is None
    assert one(window(SITE, LATE, 60, 100), normal(hard=80))["served_share"] == 1
    row = one(window(SITE, LATE, 60, 100, hard=90), normal(hard=80))
    assert row["served_share"] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("judged", "unknown", "base_unknown", "reason"),
    [
        (50, 50, 0, None),  # exactly one half
        (50, 51, 0, "mostly unknown"),
        (80, 120, 150, None),  # 60 % now, 150 / 250 = 60 % before
        (40, 160, 150, "not enough requests"),  # 80 % is exactly 20 points above
        (60, 241, 150, "mostly unknown"),  # 80.07 %, though 60 are judged
        (0, 49, 0, "not enough requests"),  # fewer than 50 requests
        (0, 50, 0, "mostly unknown"),
        (49, 0, 0, "not enough requests"),
        (50, 0, 0, None),
    ],
)
def test_mostly_unknown_and_not_enough(
    judged: int, unknown: int, base_unknown: int, reason: str | None
) -> None:
    row = one(window(SITE, LATE, 60, judged, unknown=unknown), normal(unknown=base_unknown))
    assert row["unscored_reason"] == reason
    assert (row["score"] is None) == (reason is not None)


def test_mostly_unknown_without_a_baseline() -> None:
    row = scored([window(SITE, LATE, 60, 90, unknown=100)])[0]
    assert row["unscored_reason"] == "mostly unknown"
    assert scored([window(SITE, LATE, 60, 90)])[0]["unscored_reason"] == "no baseline yet"


def test_baseline_used_up_by_flagged_windows() -> None:
    numbers = Numbers(baseline_days=5, baseline_max_days=5)
    rows = normal() + [window(SITE, LATE + n * 6 * HOUR, 60, 100, hard=90) for n in range(4 * 5)]
    last = scored(rows, numbers)[-1]  # day 8 18:00: [day 3 18:00, day 7 18:00)
    assert last["baseline_requests"] == 0
    assert last["unscored_reason"] == "baseline used up"
    # Day 6 00:00 sees [day 1, day 5): 400 unflagged, and 400 flagged ones of day 4.
    row = next(r for r in scored(rows, numbers) if r["window_start"] == START + 6 * DAY)
    assert (row["baseline_requests"], row["unscored_reason"]) == (400, "baseline used up")


# ---- smoothing and bands ---------------------------------------------------------------------


def test_smoothing_has_a_half_life_of_50_minutes() -> None:
    rows = [
        *normal(),
        window(SITE, LATE, 10, 100),
        window(SITE, LATE + 50 * MINUTE, 10, 100, hard=100),
    ]
    row = scored(rows)[1]
    assert row["smoothed_score"] == pytest.approx((100 * 0.5 + 65) / 1.5)
    assert row["smoothed_served_share"] == pytest.approx(0.5 / 1.5)


def test_smoothing_ends_24_hours_back_and_passes_over_nulls() -> None:
    rows = [
        *normal(),
        window(SITE, LATE, 60, 100, hard=100),
        window(SITE, LATE + HOUR, 60, 10),
        window(SITE, LATE + 24 * HOUR, 60, 10),
        window(SITE, LATE + 25 * HOUR, 60, 100),
    ]
    first, small, day_later, last = scored(rows)
    assert first["smoothed_score"] == 65
    assert (small["score"], small["smoothed_score"]) == (None, 65)
    assert day_later["smoothed_score"] is None
    assert last["smoothed_score"] == 100


def quarter_hours(*hards: int) -> list[dict[str, Any]]:
    """Scores of a day of good quarter hours and those with the given hard blocks after it."""
    rows = normal() + [window(SITE, LATE + n * 15 * MINUTE, 15, 100) for n in range(96)]
    rows += [
        window(SITE, LATE + DAY + n * 15 * MINUTE, 15, 100, hard=hard)
        for n, hard in enumerate(hards)
    ]
    return scored(rows)[96:]


def test_one_terrible_window_changes_no_band_and_a_collapse_is_resisting_within_the_hour() -> None:
    assert {row["band"] for row in quarter_hours(100, 0, 0, 0)} == {"healthy"}
    rows = quarter_hours(100, 100, 100, 100)
    # A quarter of an hour keeps 2^-0.3 = 0.8123: after n bad ones 1 - 0.8123^n is bad.
    assert [round(row["smoothed_served_share"], 3) for row in rows] == [0.812, 0.66, 0.536, 0.435]
    assert [round(row["smoothed_score"], 1) for row in rows] == [93.4, 88.1, 83.8, 80.2]
    assert [row["band"] for row in rows] == ["healthy"] * 3 + ["resisting"]
    assert rows[3]["reasons"] == ["refusal", "hard_block", "delivery"]
    assert "refusal" not in rows[2]["reasons"]


def late_windows(minutes: int, *marks: str, gap: timedelta = timedelta(0)) -> list[str]:
    """Bands of late windows: `L` all 403, `.` good, `u` too small; gap between the starts."""
    rows = normal()
    for number, mark in enumerate(marks):
        at = LATE + number * (minutes * MINUTE + gap)
        judged = 20 if mark == "u" else 100
        rows.append(window(SITE, at, minutes, judged, hard=judged if mark == "L" else 0))
    return [row["band"] for row in scored(rows)]


def test_a_fall_must_have_lasted() -> None:
    # Without good windows before, the smoothed values are at their worst from the first one.
    assert late_windows(15, "L", "L", "L", "L") == [
        "healthy", "degraded", "resisting", "resisting",
    ]  # fmt: skip
    # (the third: only 45 minutes, but the last three scored windows were all low)
    assert late_windows(60, "L") == ["resisting"]
    assert late_windows(30, "L", "L") == ["degraded", "resisting"]
    assert late_windows(20, "L") == ["healthy"]
    # Bursts a day and more apart: three in a row, whatever small ones lie between.
    assert late_windows(15, "L", "L", "L", gap=2 * DAY) == ["healthy", "healthy", "resisting"]
    assert late_windows(15, "L", "u", "L", "u", "L", gap=5 * HOUR) == [
        "healthy", "healthy", "healthy", "healthy", "resisting",
    ]  # fmt: skip
    assert late_windows(15, "L", "L", ".", "L", "L", gap=2 * DAY)[-1] == "healthy"


def test_low_windows_count_while_they_ended_within_three_hours() -> None:
    # 30-minute windows 90 minutes apart: ends at 0:30, 2:00, 3:30. At 3:30 the first ended three
    # hours ago exactly and no longer counts; a good one between breaks the row of three.
    assert late_windows(30, "L", "L", gap=HOUR)[-1] == "resisting"
    rows = [
        *normal(),
        window(SITE, LATE, 30, 100, hard=100),
        window(SITE, LATE + 90 * MINUTE, 30, 60),
        window(SITE, LATE + 3 * HOUR, 30, 100, hard=100),
    ]
    # smoothed served: weights 2^-3.6, 2^-1.8, 1 for 0, 1, 0 → 0.2872 / 1.3697 = 0.21: refused,
    # but only 30 minutes are low.
    assert scored(rows)[-1]["band"] == "degraded"
    rows[-1] = window(SITE, LATE + 2 * HOUR, 60, 100, hard=100)
    assert scored(rows)[-1]["band"] == "resisting"


def test_low_by_served_share_alone() -> None:
    numbers = Numbers(weights={"hard_block": 10, "challenge": 0, "soft_block": 0, "latency": 0})
    rows = [*normal(), window(SITE, LATE, 60, 100, hard=51)]
    row = scored(rows, numbers)[0]
    assert (row["score"], row["band"], row["reasons"]) == (
        90, "resisting", ["refusal", "hard_block", "delivery"],
    )  # fmt: skip
    rows[-1] = window(SITE, LATE, 60, 100, hard=50)  # exactly one half is not below
    assert scored(rows, numbers)[0]["band"] == "healthy"
    # Nor is it low: of these 30 minutes only 15 are, though the smoothed share is below one half.
    rows[-1:] = [
        window(SITE, LATE, 15, 100, hard=50),
        window(SITE, LATE + 15 * MINUTE, 15, 100, hard=51),
    ]
    last = scored(rows, numbers)[-1]
    assert last["smoothed_served_share"] == pytest.approx((0.5 * 2**-0.3 + 0.49) / (2**-0.3 + 1))
    assert last["band"] == "healthy"
    rows[-2:] = [window(SITE, LATE, 60, 100, hard=100)]
    off = replace(numbers, pause_below_served_share=None)
    assert scored(rows, off)[0]["band"] == "healthy"


def test_bands_by_score_alone() -> None:
    numbers = Numbers(pause_below_served_share=None)
    # 35 + 25 × 0.8 = 55 points: 45. Served nothing, but that rule is off.
    rows = [*normal(), window(SITE, LATE, 60, 100, hard=84, challenge=16)]
    row = scored(rows, numbers)[0]
    assert (row["score"], row["band"]) == (45, "resisting")
    assert "refusal" not in row["reasons"]
    rows[-1] = window(SITE, LATE, 60, 100, hard=100)
    assert scored(rows, numbers)[0]["band"] == "degraded"  # 65


def test_band_stands_for_a_day_and_a_window_and_expires() -> None:
    rows = [*normal(), window(SITE, LATE, 60, 100, hard=100)]
    rows += [window(SITE, LATE + n * HOUR, 60, 10) for n in range(1, 28)]
    first, *rest = scored(rows)
    assert (first["band"], first["reasons"]) == ("resisting", ["refusal", "hard_block", "delivery"])
    # The last scored window ended at +1 h; the one that starts at +n h ends n hours after it.
    for hours, row in enumerate(rest, start=1):
        stands = hours <= 25
        assert row["band"] == ("resisting" if stands else "unscored"), hours
        assert row["reasons"] == (["refusal"] if stands else []), hours
        assert (row["smoothed_score"] is None) == (hours >= 24), hours


def test_never_scored_is_unscored() -> None:
    assert [row["band"] for row in site_scores(normal(), Numbers())] == ["unscored"] * 6


def test_sites_are_apart_and_may_set_any_number() -> None:
    other = "b.example"
    rows = normal() + normal(other, hard=30)
    rows += [window(SITE, LATE, 60, 100, hard=40), window(other, LATE, 60, 100, hard=40)]
    numbers = Numbers(sites={SITE: {"weights": {"hard_block": 50}, "full_rate": 0.8}})
    a, b = scored(rows, numbers)
    assert a["hard_block_penalty"] == pytest.approx(25)
    assert b["hard_block_penalty"] == pytest.approx(17.5)


# ---- routes, parsers and cost ----------------------------------------------------------------


def test_a_route_is_named_at_each_bound_and_not_just_beyond() -> None:
    case = routes_at_the_bounds()
    found = site_scores(case.windows, case.numbers, case.routes)
    named = [row["diagnosis"] for row in found if row["window_start"].hour == 12]
    route = "route:gateway=a"  # a pool that holds the same comes after it
    assert named == [
        route,  # 10 of 50, none of the other 50
        "site",  # nine; 8.75 x 1.8 and 7.5 points for latency make it degraded
        route,  # 10 of 200: five points
        None,  # 10 of 201
        route,  # 12 of 15: four fifths; 3 of 60: five points
        "site",  # 11 of 14
        "site",  # 49 others
        route,
        route,  # 3 of the other 60
        "site",  # 4 of the other 60
        route,  # redirects are no fetches here
        "site",
        route,
    ]


def test_a_route_that_most_fetches_take_is_not_named_for_what_struck_all() -> None:
    rows = [*normal(), window(SITE, LATE, 60, 400, hard=26)]

    def diagnosis(taken: int, hard: int) -> str | None:
        route = {**window(SITE, LATE, 60, taken, hard=hard), "dimension": "pool", "value": "p"}
        found = site_scores(rows, Numbers(), [{**route, "rest_p95_latency_ms": None}])
        return found[-1]["diagnosis"]

    assert diagnosis(340, 22) is None  # 22 of 340, and 4 of the other 60
    assert diagnosis(340, 26) is None  # none of the other 60: 2.2 standard errors
    assert diagnosis(200, 26) == "route:pool=p"


def test_parser_health_and_cost_by_hand() -> None:
    rows = [*normal(), window(SITE, LATE, 60, 100)]
    extractions = [
        {"site": SITE, "window_start": row["window_start"], "extractions": 50, "valid": 49}
        for row in rows[:-1]
    ]
    extractions.append({"site": SITE, "window_start": LATE, "extractions": 80, "valid": 64})
    row = site_scores(rows, Numbers(), extractions=extractions)[-1]
    assert row["parser_health"] == pytest.approx(10)  # 0.20 against 0.02
    assert row["cost_ratio"] == pytest.approx((100 / 64) / (100 / 49))
    assert (row["owner"], row["diagnosis"], row["reasons"]) == ("parser", None, [])


# ---- the cases -------------------------------------------------------------------------------


@pytest.mark.parametrize("make", CASES)
def test_cases_are_well_formed(make: Any) -> None:
    case: Case = make()
    assert bool(case.fetches) != bool(case.windows)
    assert len(case.fetches) < 60_000
    assert set(case.sites) == {row["site"] for row in case.fetches or case.windows}
    lengths: dict[tuple[str, date], int] = {}
    ends: dict[str, datetime] = {}
    for row in sorted(case.windows, key=lambda row: row["window_start"]):
        assert tuple(row) == WINDOW_COLUMNS
        start, minutes = row["window_start"], row["window_minutes"]
        assert minutes in (5, 10, 15, 20, 30, 60, 120, 240, 480, 1440)
        assert (start - datetime(start.year, start.month, start.day)) % (minutes * MINUTE) == (
            timedelta(0)
        )
        assert lengths.setdefault((row["site"], start.date()), minutes) == minutes
        assert ends.get(row["site"], start) <= start
        ends[row["site"]] = row["window_end"]
        assert row["requests"] == row["judged"] + row["unknown"] + row["redirects"] > 0
        assert row["window_end"] <= case.until


def test_case_names_are_unique_and_cases_repeat() -> None:
    names = [make().name for make in CASES]
    assert len(set(names)) == len(names)
    assert [make() for make in CASES[1:5]] == [make() for make in CASES[1:5]]
