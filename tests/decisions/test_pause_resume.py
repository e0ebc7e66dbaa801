"""What a human says goes, is recorded, and is never said for them."""

from __future__ import annotations

import pytest

from target_health.decisions import (
    apply_planned,
    decide,
    load_states,
    pause_sites,
    record_plan,
    resume_sites,
)
from target_health.errors import UsageError
from tests.decisions.evidence import hour, saw

BY = {"by": "ann", "why": "their sale starts"}
KINDS = {"restore", "slow_down", "fuse", "pause"}


@pytest.fixture
def fleet(con, configured):
    """Four sites: one well, one slowed two steps, two paused by the system an hour apart."""
    configuration = configured()
    run(con, configuration, 0, well="healthy", slow="degraded", early="resisting", late="healthy")
    run(con, configuration, 1, well="healthy", slow="degraded", early="resisting", late="resisting")
    return configuration


def run(con, configuration, count, **bands):
    evidence = [saw(band, site=f"{name}.example") for name, band in bands.items()]
    decisions = decide(
        evidence, load_states(con), configuration.policy, configuration.sites, hour(count)
    )
    record_plan(con, decisions)
    return [(act.kind, act.site) for act in apply_planned(con, hour(count), KINDS)]


def stands(con, site):
    course = load_states(con)[site].real
    return course.state, course.step


def everything(con):
    return [con.execute(f"SELECT * FROM {name}").fetchall() for name in ("site_state", "actions")]


def test_a_pause_holds_whatever_the_bands_say(con, fleet):
    (action,) = pause_sites(con, fleet, ["well.example"], **BY, now=hour(1.5)).actions
    assert (action.kind, action.decided_by, action.why) == ("human_pause", *BY.values())
    assert (action.decided_at, action.applied, action.concurrency_factor) == (hour(1.5), True, 0)
    for count, band in enumerate(["healthy", "degraded", "resisting", "healthy", "healthy"]):
        assert run(con, fleet, 2 + count, well=band) == []
    assert stands(con, "well.example") == ("paused", 0)


def test_a_site_paused_by_a_human_goes_back_to_the_step_it_had(con, fleet):
    pause_sites(con, fleet, ["slow.example", "well.example"], **BY, now=hour(1.5))
    resume_sites(con, fleet, ["slow.example", "well.example"], **BY, now=hour(1.6))
    assert stands(con, "slow.example") == ("slowed", 2)
    assert stands(con, "well.example") == ("active", 0)


def test_a_site_paused_by_the_system_comes_back_slowest_and_is_restored_step_by_step(con, fleet):
    (action,) = resume_sites(con, fleet, ["late.example"], **BY, now=hour(1.2)).actions
    assert (action.kind, action.from_state, action.to_state) == ("human_resume", "paused", "slowed")
    assert (action.from_step, action.to_step, action.concurrency_factor) == (0, 3, 0.125)
    done = [run(con, fleet, count, late="healthy") for count in range(2, 7)]
    restored = [("restore", "late.example")]
    assert done == [[], restored, restored, restored, []]
    assert stands(con, "late.example") == ("active", 0)


def test_a_resumed_site_is_paused_again_only_for_what_came_after(con, fleet):
    resume_sites(con, fleet, ["late.example"], **BY, now=hour(2.5))
    assert load_states(con)["late.example"].real.evidence_from == hour(2.5)
    known = [saw("resisting", fresh=None, site="late.example")]
    decisions = decide(known, load_states(con), fleet.policy, fleet.sites, hour(3))
    assert decisions.actions == ()
    assert run(con, fleet, 4, late="resisting") == [("pause", "late.example")]


@pytest.mark.parametrize(
    ("step", "stood"), [(0, ("active", 0)), (1, ("slowed", 1)), (3, ("slowed", 3))]
)
def test_a_human_may_choose_the_step(con, fleet, step, stood):
    resume_sites(con, fleet, ["late.example"], **BY, now=hour(2), step=step)
    assert stands(con, "late.example") == stood


@pytest.mark.parametrize("step", [-1, 4])
def test_there_is_no_step_above_the_normal_nor_below_the_slowest(con, fleet, step):
    with pytest.raises(UsageError, match=r"must be 0 \(normal\) to 3 \(slowest\)"):
        resume_sites(con, fleet, ["late.example"], **BY, now=hour(2), step=step)


def test_the_slowest_step_is_that_of_the_policy(con, configured):
    configuration = configured(policy="max_steps: 2")
    run(con, configuration, 0, late="resisting")
    resume_sites(con, configuration, ["late.example"], **BY, now=hour(1))
    assert stands(con, "late.example") == ("slowed", 2)


def test_all_and_since_choose_the_sites(con, fleet):
    decision = resume_sites(con, fleet, None, **BY, now=hour(2), since=hour(1))
    assert [action.site for action in decision.actions] == ["late.example"]
    assert decision.unchanged == ()
    decision = resume_sites(con, fleet, ["early.example"], **BY, now=hour(2), since=hour(1))
    assert decision.unchanged == (
        ("early.example", "has been paused for longer, since 2026-01-31T08:00:00Z"),
    )
    assert stands(con, "early.example") == ("paused", 0)
    decision = resume_sites(con, fleet, None, **BY, now=hour(2))
    assert [action.site for action in decision.actions] == ["early.example"]
    decision = pause_sites(con, fleet, None, **BY, now=hour(3))
    assert len(decision.actions) == 4
    assert decision.unchanged == ()


def test_a_stopped_site_is_resumed_only_by_its_name(con, fleet):
    con.execute("UPDATE site_state SET state = 'stopped' WHERE site = 'late.example'")
    decision = resume_sites(con, fleet, None, **BY, now=hour(2))
    assert [action.site for action in decision.actions] == ["early.example"]
    assert decision.unchanged == (("late.example", "is stopped: resume it by its name"),)
    assert pause_sites(con, fleet, ["late.example"], **BY, now=hour(2)).actions == ()
    resume_sites(con, fleet, ["late.example"], **BY, now=hour(2))
    assert stands(con, "late.example") == ("slowed", 3)


def test_what_is_so_already_is_said_and_changes_nothing(con, fleet):
    before = everything(con)
    decision = resume_sites(con, fleet, ["slow.example", "well.example"], **BY, now=hour(2))
    assert decision.actions == ()
    assert decision.unchanged == (
        ("slow.example", "is not paused but slowed"),
        ("well.example", "is not paused but active"),
    )
    decision = pause_sites(con, fleet, ["late.example"], **BY, now=hour(2))
    assert decision.unchanged == (
        ("late.example", "is paused already, since 2026-01-31T09:00:00Z"),
    )
    assert everything(con) == before


def test_an_unknown_site_changes_nothing_and_close_names_are_offered(con, fleet):
    before = everything(con)
    with pytest.raises(UsageError) as refusal:
        pause_sites(con, fleet, ["well.example", "laet.example", "zzz"], **BY, now=hour(2))
    assert str(refusal.value).startswith("unknown sites 'laet.example' (close: late.example")
    assert str(refusal.value).endswith("'zzz'; nothing was changed")
    assert everything(con) == before


def test_a_site_is_found_by_its_host_and_known_by_its_windows_or_by_sites_yaml(con, configured):
    configuration = configured(sites="sites: {shop.example: {hosts: ['*.shop.example']}}")
    con.execute(
        "INSERT INTO site_windows BY NAME SELECT site, TIMESTAMP '2026-01-31' AS window_start, "
        "TIMESTAMP '2026-01-31 01:00' AS window_end, * EXCLUDE (site) FROM "
        "(VALUES ('news.example', 60, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)) AS given("
        "site, window_minutes, requests, judged, ok, hard_blocks, challenges, soft_blocks, "
        "soft_404s, paywalled, unknown, server_errors, client_errors, not_found, redirects, "
        "attempts, bytes, items)"
    )
    names = ["WWW.News.example", "m.shop.example", "shop.example"]
    decision = pause_sites(con, configuration, names, **BY, now=hour(0))
    assert [action.site for action in decision.actions] == ["news.example", "shop.example"]


@pytest.mark.parametrize("given", [{"by": " "}, {"why": ""}, {"by": "target-health"}])
def test_who_and_why_must_be_said_and_the_system_is_nobody(con, fleet, given):
    before = everything(con)
    with pytest.raises(UsageError, match="--by"):
        resume_sites(con, fleet, None, **{**BY, **given}, now=hour(2))
    assert everything(con) == before


def test_decisions_at_the_same_moment_are_all_recorded(con, fleet):
    for _ in range(2):
        pause_sites(con, fleet, ["well.example"], **BY, now=hour(2))
        resume_sites(con, fleet, ["well.example"], **BY, now=hour(2))
    query = "SELECT kind FROM actions WHERE site = 'well.example' ORDER BY sequence"
    assert [kind for (kind,) in con.execute(query).fetchall()] == [
        "human_pause",
        "human_resume",
    ] * 2


def test_a_clock_that_jumps_back_makes_no_old_evidence_fresh(con, fleet):
    resume_sites(con, fleet, ["late.example"], **BY, now=hour(-9))
    assert load_states(con)["late.example"].real.evidence_from == hour(1)


def test_a_human_pauses_and_resumes_an_observed_site_for_real(con, configured):
    configuration = configured(policy="mode: observe")
    run(con, configuration, 0, shop="degraded")
    pause_sites(con, configuration, ["shop.example"], **BY, now=hour(0.5))
    state = load_states(con)["shop.example"]
    assert (state.real.state, state.shadow.state) == ("paused", "paused")
    resume_sites(con, configuration, ["shop.example"], **BY, now=hour(0.6))
    state = load_states(con)["shop.example"]
    assert (state.real.state, state.real.step) == ("active", 0)
    assert (state.shadow.state, state.shadow.step) == ("slowed", 1)


def test_resuming_what_would_only_have_been_paused_is_recorded_as_not_applied(con, configured):
    configuration = configured(policy="mode: observe")
    run(con, configuration, 0, shop="resisting")
    (action,) = resume_sites(con, configuration, ["shop.example"], **BY, now=hour(0.5)).actions
    assert (action.applied, action.from_state, action.to_step) == (False, "paused", 3)
    state = load_states(con)["shop.example"]
    assert (state.real.state, state.shadow.state, state.shadow.step) == ("active", "slowed", 3)
    # In act mode there is no shadow to resume.
    run(con, configuration, 1, shop="resisting")
    assert resume_sites(con, configured(), ["shop.example"], **BY, now=hour(2)).actions == ()
