"""In observe mode everything is recorded as it would have been, once."""

from __future__ import annotations

import pytest

from target_health.decisions import Course, SiteState
from tests.decisions.evidence import SHOP, hour, hourly, one_run, policy, saw, sites

WATCH = policy(mode="observe")
HEALTHY, DEGRADED, RESISTING = saw("healthy"), saw("degraded"), saw("resisting")


@pytest.mark.parametrize(
    ("seen", "recorded", "shadow"),
    [
        ([RESISTING] * 3, ["pause", "-", "-"], ("paused", 0)),
        ([DEGRADED] * 4, ["slow_down"] * 3 + ["-"], ("slowed", 3)),
        ([DEGRADED, HEALTHY, HEALTHY, HEALTHY], ["slow_down", "-", "restore", "-"], ("active", 0)),
        ([RESISTING, HEALTHY, HEALTHY], ["pause", "-", "-"], ("paused", 0)),
    ],
)
def test_would_be_actions_are_recorded_once_and_change_nothing(seen, recorded, shadow):
    kinds, states = hourly(seen, WATCH)
    assert kinds == recorded
    state = states[SHOP]
    assert (state.real.state, state.real.step, state.real.evidence_from) == ("active", 0, None)
    assert state.shadow is not None
    assert (state.shadow.state, state.shadow.step) == shadow


def test_actions_of_observe_mode_are_not_applied():
    (action,) = one_run({}, hour(0), [RESISTING], WATCH)[0].actions
    assert (action.applied, action.mode, action.to_state) == (False, "observe", "paused")


def test_the_mode_of_a_site_goes_before_that_of_the_fleet():
    watched, acted = saw("resisting", site="a.example"), saw("resisting", site="b.example")
    decisions, _ = one_run({}, hour(0), [watched, acted], configured=sites(a_example="observe"))
    assert {act.site: act.applied for act in decisions.actions} == {
        "a.example": False,
        "b.example": True,
    }
    decisions, _ = one_run({}, hour(0), [watched, acted], WATCH, sites(b_example="act"))
    assert {act.site: act.applied for act in decisions.actions} == {
        "a.example": False,
        "b.example": True,
    }


def test_a_site_slowed_before_it_is_only_observed_stays_as_slow():
    _, states = hourly([DEGRADED, DEGRADED])
    kinds, states = hourly([HEALTHY] * 4, WATCH, states=states, first=2)
    assert kinds == ["-", "restore", "restore", "-"]
    assert (states[SHOP].real.state, states[SHOP].real.step) == ("slowed", 2)


def test_back_in_act_mode_the_shadow_is_forgotten():
    _, states = hourly([DEGRADED, RESISTING], WATCH)
    kinds, states = hourly([DEGRADED], states=states, first=2)
    assert kinds == ["slow_down"]
    assert states[SHOP].shadow is None
    assert states[SHOP].real.step == 1
    # Observed again, the shadow begins from how the site really stands.
    _, states = hourly([HEALTHY], WATCH, states=states, first=3)
    shadow = states[SHOP].shadow
    assert shadow is not None
    assert (shadow.state, shadow.step) == ("slowed", 1)


def test_a_change_of_mode_between_two_goes_at_a_run_still_acts_once():
    _, states = one_run({}, hour(0), [RESISTING], WATCH)
    decisions, states = one_run(states, hour(0), [RESISTING])
    assert [(act.kind, act.applied) for act in decisions.actions] == [("pause", True)]
    assert one_run(states, hour(0), [RESISTING], WATCH)[0].actions == ()


def test_healthy_runs_that_were_observed_count_for_restoring():
    slowed = SiteState(SHOP, Course("slowed", 1, since=hour(0), evidence_from=hour(0)))
    _, states = hourly([HEALTHY, HEALTHY], WATCH, states={SHOP: slowed}, first=1)
    assert hourly([HEALTHY], states=states, first=3)[0] == ["restore"]
