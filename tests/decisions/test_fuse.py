"""When too many sites would pause at once, the trouble is probably ours."""

from __future__ import annotations

import pytest

from target_health.decisions import Course, SiteState
from tests.decisions.evidence import hour, one_run, policy, saw, sites


def fleet(refusing: int, well: int, *, lately: bool = True) -> list:
    return [
        saw("resisting", site=f"r{number}.example", reasons=("hard_block",))
        for number in range(refusing)
    ] + [saw("healthy", site=f"h{number}.example", scored_lately=lately) for number in range(well)]


def kinds(decisions) -> list[str]:
    return sorted(action.kind for action in decisions.actions)


@pytest.mark.parametrize(
    ("refusing", "well", "blown"),
    [
        (4, 0, False),
        (5, 0, True),
        (6, 4, True),
        (5, 14, True),
        (5, 15, False),
        (10, 30, False),
        (11, 30, True),
    ],
)
def test_at_least_five_sites_and_more_than_a_quarter_of_the_fleet(refusing, well, blown):
    decisions, states = one_run({}, hour(0), fleet(refusing, well))
    expected = ["fuse"] + ["slow_down"] * refusing if blown else ["pause"] * refusing
    assert kinds(decisions) == expected
    assert (decisions.fuse is not None) == blown
    assert sum(state.real.state == "paused" for state in states.values()) == (
        0 if blown else refusing
    )


def test_the_fleet_is_the_sites_with_a_scored_window_in_the_last_day():
    assert one_run({}, hour(0), fleet(5, 50))[0].fuse is None
    fuse = one_run({}, hour(0), fleet(5, 50, lately=False))[0].fuse
    assert fuse is not None
    assert fuse.fleet == 5


def test_the_fuse_names_its_sites_once():
    decisions, _ = one_run({}, hour(0), fleet(6, 4))
    assert decisions.fuse is not None
    assert decisions.fuse.sites == tuple(f"r{number}.example" for number in range(6))
    (record,) = [action for action in decisions.actions if action.kind == "fuse"]
    assert record.site is None
    assert record.why.startswith("6 of 10 sites would have paused")
    slowed = [action for action in decisions.actions if action.kind == "slow_down"]
    assert {action.reasons for action in slowed} == {("fuse", "hard_block")}
    assert {action.to_step for action in slowed} == {1}


def test_sites_at_the_last_step_stay_there_and_still_count():
    states = {
        f"r{number}.example": SiteState(
            f"r{number}.example", Course("slowed", 3, since=hour(0), evidence_from=hour(0))
        )
        for number in range(3)
    }
    decisions, after = one_run(states, hour(1), fleet(5, 0))
    assert kinds(decisions) == ["fuse", "slow_down", "slow_down"]
    assert sorted(state.real.step for state in after.values()) == [1, 1, 3, 3, 3]
    # The same run again: the two that were slowed still count, so the three are not paused.
    again, after = one_run(after, hour(1), fleet(5, 0))
    assert "pause" not in kinds(again)
    assert all(state.real.state == "slowed" for state in after.values())


def test_a_run_again_with_more_sites_refusing_counts_those_it_has_paused():
    _, states = one_run({}, hour(0), fleet(4, 3))
    decisions, after = one_run(states, hour(0), fleet(7, 0))
    assert kinds(decisions) == ["fuse", "slow_down", "slow_down", "slow_down"]
    assert sum(state.real.state == "paused" for state in after.values()) == 4


def test_paused_sites_do_not_count_for_a_later_run():
    _, states = one_run({}, hour(0), fleet(4, 0))
    decisions, _ = one_run(states, hour(1), fleet(6, 0))
    assert kinds(decisions) == ["pause", "pause"]


def test_other_sites_are_slowed_and_restored_as_ever_while_the_fuse_blows():
    states = {"up.example": SiteState("up.example", Course("slowed", 2, healthy_since=hour(0)))}
    others = [saw("degraded", site="down.example"), saw("healthy", site="up.example")]
    decisions, after = one_run(states, hour(1), fleet(6, 0) + others)
    assert kinds(decisions).count("slow_down") == 7
    assert after["up.example"].real.step == 1
    (down,) = [action for action in decisions.actions if action.site == "down.example"]
    assert "fuse" not in down.reasons


def test_in_observe_mode_the_fuse_is_recorded_and_nothing_is_applied():
    decisions, states = one_run({}, hour(0), fleet(6, 0), policy(mode="observe"))
    assert kinds(decisions) == ["fuse"] + ["slow_down"] * 6
    assert not any(action.applied for action in decisions.actions)
    assert all(state.real.state == "active" for state in states.values())


def test_observed_sites_count_for_the_fuse_of_the_others():
    decisions, _ = one_run(
        {}, hour(0), fleet(5, 0), configured=sites(r0_example="observe", r1_example="observe")
    )
    assert kinds(decisions) == ["fuse"] + ["slow_down"] * 5
    assert sum(action.applied for action in decisions.actions) == 4  # three sites and the fuse
