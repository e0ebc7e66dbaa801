"""The fleet's table tells the worst first, and says plainly what is not known."""

from __future__ import annotations

from typing import Any

from target_health.fleet_table import as_plain_text, fleet_table, trend_text


def row(site: str, **values: Any) -> dict[str, Any]:
    return {
        "site": site,
        "band": "healthy",
        "score": 98.0,
        "smoothed_score": 97.4,
        "smoothed_score_day_change": 0.5,
        "reasons": [],
        "unscored_reason": None,
        "state": "active",
        "step": 0,
        **values,
    }


def lines(*rows: dict[str, Any]) -> list[str]:
    return as_plain_text(fleet_table(rows)).splitlines()


def test_worst_sites_come_first() -> None:
    text = lines(
        row("fine.example"),
        row(
            "new.example",
            band="unscored",
            score=None,
            smoothed_score=None,
            smoothed_score_day_change=None,
            unscored_reason="no baseline yet",
        ),
        row("worse.example", band="degraded", smoothed_score=61.0),
        row("worst.example", band="resisting", smoothed_score=75.0),
        row("bad.example", band="degraded", smoothed_score=71.0),
    )
    assert [line.split()[0] for line in text[2:]] == [
        "worst.example",
        "worse.example",
        "bad.example",
        "fine.example",
        "new.example",
    ]


def test_row_shows_numbers_reasons_and_state() -> None:
    shown = lines(
        row(
            "shop.example",
            band="degraded",
            score=55.0,
            smoothed_score=61.6,
            smoothed_score_day_change=-30.2,
            reasons=["hard_block", "latency"],
            state="slowed",
            step=2,
        )
    )[-1]
    assert shown.split() == [
        "shop.example",
        "degraded",
        "55",
        "62",
        "↓",
        "30",
        "hard_block,",
        "latency",
        "slowed,",
        "step",
        "2",
    ]


def test_unscored_row_says_why() -> None:
    shown = lines(
        row(
            "new.example",
            band="unscored",
            score=None,
            smoothed_score=None,
            smoothed_score_day_change=None,
            unscored_reason="not enough requests",
        )
    )[-1]
    assert "(not enough requests)" in shown
    assert shown.split()[2:5] == ["–", "–", "–"]


def test_small_changes_are_no_trend() -> None:
    assert trend_text(-2.9) == "→"
    assert trend_text(3.0) == "↑ 3"
    assert trend_text(None) == "–"


def test_log_text_has_no_colours() -> None:
    assert "\x1b" not in "\n".join(lines(row("a.example", band="resisting")))
