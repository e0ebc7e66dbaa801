"""A run's plan is stored whole, and each of its actions is carried out once."""

from __future__ import annotations

import pytest

from target_health.decisions import (
    apply_planned,
    decide,
    evidence_starts,
    last_acted,
    load_states,
    pause_sites,
    planned_branches,
    planned_kinds,
    record_plan,
    refuse_if_later,
    resume_sites,
)
from target_health.errors import UsageError
from tests.decisions.evidence import hour, policy, saw, sites

DOWN = saw("degraded", site="down.example", reasons=("challenge",))
STOP = saw("resisting", site="stop.example", reasons=("refusal",))
WELL = saw("healthy", site="well.example")


def plan(con, run_end, evidence, **more):
    decisions = decide(
        evidence,
        load_states(con),
        more.get("policy", policy()),
        more.get("sites", sites()),
        run_end,
    )
    record_plan(con, decisions)
    return decisions


def act(con, run_end, evidence, **more):
    plan(con, run_end, evidence, **more)
    return apply_planned(con, run_end, {"restore", "slow_down", "fuse", "pause"})


def table(con, name):
    return con.execute(f"SELECT * FROM {name} ORDER BY ALL").fetchall()


def stands(con, site):
    query = "SELECT state, step, concurrency_factor FROM site_state WHERE site = ?"
    return next(iter(con.execute(query, [site]).fetchall()), None)


def test_nothing_changes_until_the_plan_is_carried_out_kind_by_kind(con):
    plan(con, hour(0), [DOWN, STOP, WELL])
    assert planned_kinds(con, hour(0)) == {"slow_down", "pause"}
    assert planned_branches(con, hour(0)) == ["slow_down", "pause_sites"]
    assert {stands(con, row.site) for row in (DOWN, STOP, WELL)} == {("active", 0, 1)}
    (slowed,) = apply_planned(con, hour(0), {"slow_down"})
    assert slowed.site == "down.example"
    assert stands(con, "down.example") == ("slowed", 1, 0.5)
    assert stands(con, "stop.example") == ("active", 0, 1)
    (paused,) = apply_planned(con, hour(0), {"pause"})
    assert paused.reasons == ("refusal",)
    assert stands(con, "stop.example") == ("paused", 0, 0)


def test_a_run_without_need_holds_steady(con):
    plan(con, hour(0), [WELL])
    assert planned_kinds(con, hour(0)) == set()
    assert planned_branches(con, hour(0)) == ["hold_steady"]
    assert last_acted(con) == hour(0)


def test_a_fuse_alone_is_carried_out_with_the_slow_downs(con):
    refusing = [saw("resisting", site=f"r{number}.example") for number in range(5)]
    for count in range(4):
        actions = act(con, hour(count), refusing)
    assert [action.kind for action in actions] == ["fuse"]
    assert planned_branches(con, hour(3)) == ["slow_down"]
    assert (
        con.execute("SELECT len(fuse_sites), fleet FROM acting_runs ORDER BY run_end").fetchall()
        == [(5, 5)] * 4
    )


def test_carrying_out_twice_and_deciding_again_change_nothing(con):
    first = act(con, hour(0), [DOWN, STOP, WELL])
    before = {name: table(con, name) for name in ("site_state", "actions", "acting_runs")}
    assert apply_planned(con, hour(0), {"slow_down", "pause"}) == first
    assert act(con, hour(0), [DOWN, STOP, WELL]) == first
    assert {name: table(con, name) for name in before} == before


def test_a_plan_left_by_a_crash_is_made_anew(con):
    plan(con, hour(0), [DOWN, STOP])
    apply_planned(con, hour(0), {"slow_down"})
    # The run starts again, and by now its rows say something else of the site not acted on.
    plan(con, hour(0), [DOWN, saw("degraded", site="stop.example")])
    assert planned_kinds(con, hour(0)) == {"slow_down"}
    done = apply_planned(con, hour(0), {"slow_down", "pause"})
    assert [(action.site, action.to_step) for action in done] == [
        ("down.example", 1),
        ("stop.example", 1),
    ]


def test_a_plan_never_carried_out_is_dropped_by_the_next_run(con):
    plan(con, hour(0), [STOP])
    plan(con, hour(1), [saw("healthy", site="stop.example")])
    assert planned_kinds(con, hour(0)) == set()
    with pytest.raises(UsageError, match="has acted already"):
        apply_planned(con, hour(0), {"pause"})
    assert stands(con, "stop.example") == ("active", 0, 1)


def test_a_failure_half_way_carries_out_nothing(con, monkeypatch):
    plan(con, hour(0), [DOWN, STOP])

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr("target_health.decisions.runs.add_actions", fail)
    with pytest.raises(OSError, match="disk full"):
        apply_planned(con, hour(0), {"slow_down", "pause"})
    monkeypatch.undo()
    assert stands(con, "stop.example") == ("active", 0, 1)
    assert len(apply_planned(con, hour(0), {"slow_down", "pause"})) == 2
    assert stands(con, "stop.example") == ("paused", 0, 0)


def test_a_human_decision_after_the_plan_stands(con, configured):
    act(con, hour(0), [DOWN])
    act(con, hour(1), [saw("healthy", site="down.example")])
    plan(con, hour(2), [saw("healthy", site="down.example")])
    assert planned_kinds(con, hour(2)) == {"restore"}
    word = {"by": "ann", "why": "relaunch", "now": hour(2.1)}
    pause_sites(con, configured(), ["down.example"], **word)
    assert apply_planned(con, hour(2), {"restore"}) == []
    assert stands(con, "down.example") == ("paused", 1, 0)
    # Nor does the plan count after a resume that leaves the site as it was.
    resume_sites(con, configured(), ["down.example"], **word)
    assert apply_planned(con, hour(2), {"restore"}) == []
    assert stands(con, "down.example") == ("slowed", 1, 0.5)


def test_a_human_decision_while_the_run_decides_stands(con, configured):
    act(con, hour(0), [WELL])
    decisions = decide(
        [saw("degraded", site="well.example")], load_states(con), policy(), sites(), hour(1)
    )
    pause_sites(con, configured(), ["well.example"], by="ann", why="sale", now=hour(1))
    record_plan(con, decisions)
    assert apply_planned(con, hour(1), {"slow_down"}) == []
    assert stands(con, "well.example") == ("paused", 0, 0)


def test_only_the_latest_run_acts(con):
    assert last_acted(con) is None
    refuse_if_later(con, hour(0))
    act(con, hour(1), [WELL])
    refuse_if_later(con, hour(1))
    with pytest.raises(UsageError) as refusal:
        refuse_if_later(con, hour(0))
    assert str(refusal.value) == (
        "a run up to 2026-01-31T09:00:00Z has acted already, so one up to 2026-01-31T08:00:00Z "
        "must not: run it with --no-act"
    )
    decisions = decide([STOP], load_states(con), policy(), sites(), hour(0))
    with pytest.raises(UsageError, match="has acted already"):
        record_plan(con, decisions)
    assert stands(con, "stop.example") is None


def test_states_come_back_from_the_warehouse_as_they_went_in(con):
    watched = sites(down_example="observe")
    for count in range(2):
        decisions = plan(con, hour(count), [DOWN, STOP, WELL], sites=watched)
        assert load_states(con) == {state.site: state for state in decisions.states}
        apply_planned(con, hour(count), {"slow_down", "pause"})
    states = load_states(con, ["down.example", "nobody.example"])
    assert list(states) == ["down.example"]
    assert states["down.example"].shadow.step == 2
    assert states["down.example"].shadow.reasons == ("challenge",)


def test_fresh_evidence_starts_at_the_last_action_of_the_mode_that_counts(con, configured):
    watched = configured(sites="sites: {down.example: {mode: observe}}")
    act(con, hour(0), [DOWN, STOP, WELL], sites=watched.sites)

    def starts(configuration):
        return {
            row["site"]: row["evidence_from"]
            for row in evidence_starts(con, configuration).to_pylist()
        }

    assert starts(watched) == {
        "down.example": hour(0),
        "stop.example": hour(0),
        "well.example": None,
    }
    assert starts(configured())["down.example"] is None


def test_the_factor_of_a_site_at_a_moment_can_be_read_from_the_history(con, configured):
    act(con, hour(0), [DOWN, STOP])
    act(con, hour(1), [DOWN])
    act(con, hour(2), [saw("degraded", site="seen.example")], sites=sites(seen_example="observe"))
    resume_sites(con, configured(), ["stop.example"], by="ann", why="agreed", now=hour(3))
    query = (
        "SELECT site, arg_max(concurrency_factor, (decided_at, sequence)) FROM actions "
        "WHERE applied AND site IS NOT NULL AND decided_at <= ? GROUP BY site"
    )
    assert dict(con.execute(query, [hour(0.5)]).fetchall()) == {
        "down.example": 0.5,
        "stop.example": 0,
    }
    assert dict(con.execute(query, [hour(3)]).fetchall()) == {
        "down.example": 0.25,
        "stop.example": 0.125,
    }
