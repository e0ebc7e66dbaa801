"""States and verdicts alone: whatever is observed, no answer is never a wrong one."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_health.canaries.records import CheckResult, Observation, Outcome
from target_health.canaries.states import PageState, accepted, advance
from target_health.canaries.verdicts import SiteVerdict, Standing, site_verdict
from target_health.config.canaries import load_canaries
from target_health.paths import SHIPPED_CONFIG

START = datetime(2026, 3, 1, 12)
SITE = "shop.example"
RULES = load_canaries(SHIPPED_CONFIG).rules
OUTCOMES: tuple[Outcome, ...] = (
    "pass", "wrong_value", "missing", "blocked", "challenged", "unknown",
)  # fmt: skip
Step = tuple[str, str, Outcome]


def seen(number: int, page: str, route: str, outcome: Outcome) -> Observation:
    return Observation(
        site=SITE,
        page=page,
        url=f"https://{SITE}/{page}",
        observed_at=START + number * timedelta(minutes=15),
        route=route,
        via="fetch",
        outcome=outcome,
        checks=(CheckResult("price", outcome, "1", "2"),),
        verdict="ok",
    )


def states_of(steps: list[Step]) -> list[PageState]:
    production = {(SITE, page): "crawl" for page, _, _ in steps}
    return list(
        advance({}, [seen(at, *step) for at, step in enumerate(steps)], production).values()
    )


def verdict(
    steps: list[Step], standing: Standing = Standing(), previous: SiteVerdict | None = None
) -> SiteVerdict:
    found = site_verdict(SITE, states_of(steps), RULES, standing=standing, previous=previous)
    assert found is not None
    return found


def one_page(*outcomes: Outcome) -> list[Step]:
    return [("p", "crawl", outcome) for outcome in outcomes]


steps = st.lists(
    st.tuples(
        st.sampled_from(["p", "q", "r"]),
        st.sampled_from(["crawl", "other"]),
        st.sampled_from(OUTCOMES),
    ),
    min_size=1,
    max_size=12,
)


@given(steps)
def test_no_answer_changes_no_verdict_on_values(given_steps: list[Step]) -> None:
    """Taking out what told nothing of values leaves deceit as it was."""
    telling = [step for step in given_steps if step[2] in ("pass", "wrong_value", "missing")]
    if telling:
        with_all = site_verdict(SITE, states_of(given_steps), RULES)
        assert with_all is not None
        if with_all.deceived and not any(route == "crawl" for _, route, _ in telling):
            assert not any(route == "crawl" for _, route, _ in given_steps)
        pages = {page for page, route, _ in given_steps if route == "crawl"}
        if pages == {page for page, route, _ in telling if route == "crawl"} and pages:
            without = site_verdict(SITE, states_of(telling), RULES)
            assert without is not None
            assert with_all.deceived == without.deceived
            assert with_all.wrong_pages == without.wrong_pages


@given(steps)
def test_unknown_alone_never_deceives(given_steps: list[Step]) -> None:
    unknown: list[Step] = [(page, route, "unknown") for page, route, _ in given_steps]
    found = verdict(unknown)
    assert (found.verdict, found.deceived, found.wrong_pages) == ("unknown", False, ())


@given(steps)
def test_recording_again_and_out_of_order_changes_nothing(given_steps: list[Step]) -> None:
    observations = [seen(at, *step) for at, step in enumerate(given_steps)]
    production = {(SITE, page): "crawl" for page, _, _ in given_steps}
    once = advance({}, observations, production)
    assert advance(once, observations, production) == {}
    assert advance({}, observations[::-1], production) == once


@given(steps)
def test_what_a_person_accepts_is_wrong_no_more(given_steps: list[Step]) -> None:
    at = START + timedelta(days=1)
    states = [accepted(state, at) for state in states_of(given_steps)]
    found = site_verdict(SITE, states, RULES)
    assert found is not None
    assert (found.verdict, found.deceived) == ("good", False)


@pytest.mark.parametrize(
    ("outcomes", "word"),
    [
        (("wrong_value",), "note"),
        (("wrong_value", "wrong_value"), "deceived"),
        (("wrong_value", "pass", "wrong_value"), "note"),
        (("wrong_value", "unknown", "challenged", "wrong_value"), "deceived"),
        (("wrong_value", "missing", "wrong_value"), "note"),
        (("wrong_value", "wrong_value", "pass"), "good"),
        (("wrong_value", "wrong_value", "blocked"), "deceived"),
        (("pass", "missing"), "note"),
        (("pass", "blocked"), "refused"),
        (("pass", "challenged"), "refused"),
        (("pass", "unknown"), "unknown"),
        (("pass",), "good"),
    ],
)
def test_one_page(outcomes: tuple[Outcome, ...], word: str) -> None:
    assert verdict(one_page(*outcomes)).verdict == word


def test_data_is_suspect_since_the_page_that_went_wrong_first() -> None:
    found = verdict(
        [
            ("p", "crawl", "pass"), ("q", "crawl", "pass"), ("p", "crawl", "wrong_value"),
            ("q", "crawl", "pass"), ("q", "crawl", "wrong_value"), ("p", "crawl", "wrong_value"),
        ]
    )  # fmt: skip
    assert found.suspect_since == START
    never = verdict([("p", "crawl", "wrong_value"), ("p", "crawl", "wrong_value")])
    assert (never.deceived, never.suspect_since) == (True, None)


def test_a_deceit_keeps_its_beginning_until_it_ends() -> None:
    first = verdict(one_page("pass", "wrong_value", "wrong_value"))
    later = verdict(one_page("pass", "wrong_value", "wrong_value", "wrong_value"), previous=first)
    assert later.deceived_since == first.deceived_since == START + timedelta(minutes=30)
    over = verdict(one_page("wrong_value", "wrong_value", "pass"), previous=later)
    assert over.deceived_since is None


BAD, FINE = Standing("resisting"), Standing("healthy")


@pytest.mark.parametrize(
    ("steps", "standing", "says"),
    [
        (one_page("challenged"), FINE, "score fine, canaries challenged (1 of 1 pages)"),
        (one_page("blocked"), FINE, "score fine, canaries blocked (1 of 1 pages)"),
        (one_page("pass"), FINE, None),
        (one_page("blocked"), BAD, None),
        (one_page("pass"), BAD, "score bad, canaries fine (1 of 1 pages)"),
        (one_page("pass"), replace(BAD, state="paused"), "paused, canaries fine (1 of 1 pages)"),
        (
            [("p", "crawl", "blocked"), ("p", "office", "pass")],
            BAD,
            "score bad, canaries fine on another route (office)",
        ),
        (one_page("unknown"), FINE, None),
        (one_page("pass"), Standing(None), None),
    ],
)
def test_where_canaries_and_score_disagree(
    steps: list[Step], standing: Standing, says: str | None
) -> None:
    assert verdict(steps, standing).disagreement == says


def test_a_page_that_must_not_exist_has_no_values() -> None:
    states = states_of([("nowhere", "crawl", "wrong_value"), ("nowhere", "crawl", "wrong_value")])
    found = site_verdict(SITE, states, RULES, missing_pages=frozenset({"nowhere"}))
    assert found is not None
    assert not found.deceived
