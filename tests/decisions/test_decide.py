"""What each band makes of a site, run after run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from target_health.decisions import Course, SiteState, decide, states_after
from tests.decisions.evidence import SHOP, hour, hourly, one_run, policy, saw, sites

HEALTHY = saw("healthy")
DEGRADED = saw("degraded", reasons=("challenge",))
RESISTING = saw("resisting", reasons=("refusal", "hard_block"), smoothed_score=41.6)
UNSCORED = saw("unscored", scored_lately=False)
OLD_FALL = saw("degraded", fresh=None)
UNDELIVERED = saw("healthy", delivery_low=True)
DOWN, UP, PAUSE, NOTHING = "slow_down", "restore", "pause", "-"


@pytest.mark.parametrize(
    ("seen", "done", "state", "step"),
    [
        ([HEALTHY] * 4, [NOTHING] * 4, "active", 0),
        ([UNSCORED] * 3, [NOTHING] * 3, "active", 0),
        ([DEGRADED], [DOWN], "slowed", 1),
        ([DEGRADED] * 5, [DOWN, DOWN, DOWN, NOTHING, NOTHING], "slowed", 3),
        ([DEGRADED, OLD_FALL, OLD_FALL, DEGRADED], [DOWN, NOTHING, NOTHING, DOWN], "slowed", 2),
        ([DEGRADED, saw("degraded", "healthy")], [DOWN, NOTHING], "slowed", 1),
        ([DEGRADED, saw("degraded", "unscored")], [DOWN, NOTHING], "slowed", 1),
        ([DEGRADED, saw("degraded", "resisting")], [DOWN, DOWN], "slowed", 2),
        ([RESISTING], [PAUSE], "paused", 0),
        ([DEGRADED, RESISTING], [DOWN, PAUSE], "paused", 1),
        ([DEGRADED, saw("resisting", "degraded")], [DOWN, DOWN], "slowed", 2),
        ([DEGRADED, saw("resisting", None)], [DOWN, NOTHING], "slowed", 1),
        ([DEGRADED, saw("resisting", "healthy")], [DOWN, NOTHING], "slowed", 1),
        ([RESISTING, HEALTHY, HEALTHY, HEALTHY], [PAUSE] + [NOTHING] * 3, "paused", 0),
        ([RESISTING, RESISTING, DEGRADED], [PAUSE, NOTHING, NOTHING], "paused", 0),
        ([UNDELIVERED] * 4, [DOWN, DOWN, DOWN, NOTHING], "slowed", 3),
        (
            [UNDELIVERED, saw("healthy", delivery_low=True, fresh_delivery_low=False)],
            [DOWN, NOTHING],
            "slowed",
            1,
        ),
        ([saw("unscored", delivery_low=True)], [NOTHING], "active", 0),
        # Restoring: from the second healthy run in a row on, a step a run.
        ([DEGRADED, HEALTHY, HEALTHY], [DOWN, NOTHING, UP], "active", 0),
        (
            [DEGRADED] * 3 + [HEALTHY] * 5,
            [DOWN] * 3 + [NOTHING, UP, UP, UP, NOTHING],
            "active",
            0,
        ),
        (
            [DEGRADED, DEGRADED, HEALTHY, UNSCORED, HEALTHY, HEALTHY],
            [DOWN, DOWN, NOTHING, NOTHING, NOTHING, UP],
            "slowed",
            1,
        ),
        (
            [DEGRADED, HEALTHY, OLD_FALL, HEALTHY, HEALTHY],
            [DOWN, NOTHING, NOTHING, NOTHING, UP],
            "active",
            0,
        ),
        (
            [
                DEGRADED,
                HEALTHY,
                saw("healthy", delivery_low=True, fresh_delivery_low=False),
                HEALTHY,
                HEALTHY,
            ],
            [DOWN, NOTHING, NOTHING, NOTHING, UP],
            "active",
            0,
        ),
        (
            [DEGRADED, DEGRADED, HEALTHY, HEALTHY, DEGRADED],
            [DOWN, DOWN, NOTHING, UP, DOWN],
            "slowed",
            2,
        ),
    ],
)
def test_bands_run_after_run(seen, done, state, step):
    kinds, states = hourly(seen)
    assert kinds == done
    assert (states[SHOP].real.state, states[SHOP].real.step) == (state, step)


def test_a_site_that_vanishes_from_the_evidence_breaks_its_healthy_row_and_keeps_its_step():
    _, states = hourly([DEGRADED, HEALTHY])
    decisions, states = one_run(states, hour(2), [])
    assert decisions.actions == ()
    kinds, states = hourly([HEALTHY, HEALTHY], states=states, first=3)
    assert kinds == [NOTHING, UP]


@pytest.mark.parametrize("runs", [1, 2, 3, 5])
def test_restoring_waits_for_the_configured_number_of_healthy_runs(runs):
    kinds, _ = hourly([DEGRADED] + [HEALTHY] * 6, policy(restore_after_healthy_runs=runs))
    assert kinds[1:] == [NOTHING] * (runs - 1) + [UP] + [NOTHING] * (6 - runs)


def test_runs_within_the_hour_neither_complete_a_healthy_row_nor_hasten_it():
    _, states = hourly([DEGRADED, DEGRADED])
    done = []
    for quarter in range(9):
        decisions, states = one_run(states, hour(2 + quarter / 4), [HEALTHY])
        done.append([action.kind for action in decisions.actions])
    assert done == [[]] * 4 + [["restore"]] + [[]] * 3 + [["restore"]]


@pytest.mark.parametrize("most", [1, 2, 3])
def test_no_more_steps_than_the_policy_allows(most):
    kinds, states = hourly([DEGRADED] * 4, policy(max_steps=most))
    assert kinds == [DOWN] * most + [NOTHING] * (4 - most)
    assert states[SHOP].real.step == most


@pytest.mark.parametrize("seen", [DEGRADED, RESISTING, HEALTHY])
def test_the_same_run_decided_again_before_anything_is_carried_out_decides_the_same(seen):
    _, states = hourly([DEGRADED, HEALTHY])
    first = decide([seen], states, policy(), sites(), hour(2))
    known = {state.site: state for state in first.states}
    assert decide([seen], known, policy(), sites(), hour(2)) == first
    assert first.actions


@pytest.mark.parametrize("seen", [DEGRADED, RESISTING, HEALTHY])
@pytest.mark.parametrize("again", [DEGRADED, RESISTING, HEALTHY])
def test_the_same_run_never_acts_twice_on_a_site(seen, again):
    _, states = hourly([DEGRADED, DEGRADED, HEALTHY])
    decisions, states = one_run(states, hour(3), [seen])
    assert len(decisions.actions) == 1
    assert one_run(states, hour(3), [again])[0].actions == ()


def test_a_run_before_the_last_one_neither_acts_nor_teaches():
    _, states = hourly([DEGRADED, HEALTHY, HEALTHY])
    decisions, after = one_run(states, hour(1), [RESISTING])
    assert decisions.actions == ()
    assert after == states


def test_evidence_up_to_a_human_decision_never_moves_a_site_down():
    decided = Course(state="slowed", step=1, since=hour(2), evidence_from=hour(2.4))
    states = {SHOP: SiteState(SHOP, decided)}
    assert one_run(states, hour(2), [RESISTING])[0].actions == ()
    assert [act.kind for act in one_run(states, hour(3), [RESISTING])[0].actions] == [PAUSE]


def test_an_action_says_what_it_does_and_why():
    _, states = hourly([DEGRADED])
    (action,) = one_run(states, hour(1), [RESISTING])[0].actions
    assert action.site == SHOP
    assert action.decided_at == action.run_end == hour(1)
    assert (action.from_state, action.to_state) == ("slowed", "paused")
    assert (action.from_step, action.to_step) == (1, 1)
    assert (action.concurrency_factor, action.revisit_factor) == (0, 2)
    assert action.reasons == ("refusal", "hard_block")
    assert action.decided_by == "target-health"
    assert action.why == "resisting, smoothed score 42"
    assert action.applied
    assert action.mode == "act"


def test_a_fall_of_delivery_is_named_among_the_reasons():
    (action,) = one_run({}, hour(0), [UNDELIVERED])[0].actions
    assert action.reasons == ("delivery",)


def test_the_state_remembers_when_it_began_and_from_when_evidence_is_fresh():
    _, states = hourly([HEALTHY, DEGRADED, DEGRADED, HEALTHY, HEALTHY])
    course = states[SHOP].real
    assert (course.state, course.step, course.since) == ("slowed", 1, hour(1))
    assert (course.evidence_from, course.healthy_since) == (hour(4), hour(3))
    assert course.reasons == ("challenge",)
    _, states = hourly([HEALTHY], states=states, first=5)
    assert states[SHOP].real == replace(
        course,
        state="active",
        step=0,
        since=hour(5),
        reasons=(),
        evidence_from=hour(5),
        acted_run_end=hour(5),
    )


def test_decisions_leave_the_states_given_to_them_alone():
    states = {SHOP: SiteState(SHOP, Course(since=hour(0)))}
    before = dict(states)
    states_after(decide([RESISTING], states, policy(), sites(), hour(1)))
    assert states == before
