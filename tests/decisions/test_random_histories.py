"""Whatever happens in whatever order, the system never escalates."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import duckdb
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from target_health.config import Configuration
from target_health.config.scoring import Scoring
from target_health.config.sites import SiteEntry, Sites
from target_health.control import build_control, validate
from target_health.decisions import (
    SiteEvidence,
    apply_planned,
    decide,
    load_states,
    pause_sites,
    record_plan,
    resume_sites,
    states_after,
)
from target_health.decisions.answers import (
    CHOICES,
    answer_question,
    decide_site,
)
from target_health.decisions.questions import (
    ask,
    questions_to_ask,
)
from target_health.errors import UsageError
from target_health.incidents import close_incident, follow_run, open_incidents
from target_health.paging.due import due_pages
from target_health.paging.outbox import queue_pages
from target_health.paths import SHIPPED_CONFIG, Home
from target_health.warehouse.migrations import migrate
from target_health.warehouse.rows import rows_of
from tests.decisions.evidence import START, hour, policy, sites

NO_LAKE = Home(Path("nowhere"))
NAMES = [f"s{number}.example" for number in range(7)]
NORMAL = {"concurrency": 5, "revisit_interval_s": 600.0}
AUTOMATIC = {"slow_down", "pause", "restore"}
bands = st.sampled_from(["healthy", "healthy", "degraded", "resisting", "unscored"])


@st.composite
def evidence(draw, site: str) -> SiteEvidence:
    return SiteEvidence(
        site,
        draw(bands),
        reasons=draw(st.sampled_from([(), ("challenge",), ("refusal", "hard_block")])),
        delivery_low=draw(st.integers(0, 5)) == 0,
        fresh_band=draw(st.one_of(st.none(), bands)),
        fresh_delivery_low=draw(st.booleans()),
        scored_lately=draw(st.booleans()),
    )


def a_run() -> st.SearchStrategy[tuple[SiteEvidence, ...]]:
    return st.tuples(*(evidence(name) for name in NAMES))


@given(
    history=st.lists(st.tuples(st.sampled_from([0, 0.5, 1, 1, 2, 26, -1]), a_run()), max_size=12),
    mode=st.sampled_from(["act", "observe"]),
    fuse_sites=st.integers(1, 6),
)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_runs_alone_never_resume_a_site_and_move_each_at_most_one_step_a_run(
    history, mode, fuse_sites
):
    states, now, acted = {}, 0.0, Counter()
    for ahead, seen in history:
        now += ahead
        rules = policy(mode=mode, fuse_sites=fuse_sites)
        decisions = decide(seen, states, rules, sites(), hour(now))
        after = states_after(decisions)
        fresh = {row.site: row for row in seen}
        for action in decisions.actions:
            if action.site is None:
                continue
            acted[action.site, hour(now)] += 1
            assert action.from_state not in ("paused", "stopped")
            assert abs(action.to_step - action.from_step) <= 1
            assert 0 <= action.to_step <= 3
            if action.kind != "restore":
                row = fresh[action.site]
                assert row.band != "unscored"
                assert row.fresh_band in ("degraded", "resisting") or row.fresh_delivery_low
            if decisions.fuse:
                assert action.kind != "pause"
        if mode == "observe":
            assert not any(action.applied for action in decisions.actions)
            assert {(state.real.state, state.real.step) for state in after.values()} == {
                ("active", 0)
            }
        for site, state in states.items():
            course = state.course(mode)
            if course.halted:
                # Nothing but its row of healthy runs, which a halted site has none of.
                assert after[site].course(mode) == replace(course, healthy_since=None)
        states = after
    assert set(acted.values()) <= {1}


class Fleet(RuleBasedStateMachine):
    """Runs, crashes between plan and action, humans, mode changes and clock jumps, in a warehouse.

    What each site may become is followed beside the warehouse, by the plain words of the design.
    """

    def __init__(self) -> None:
        super().__init__()
        self.con = duckdb.connect(config={"threads": 1})
        migrate(self.con)
        self.modes: dict[str, str] = {}
        self.fleet_mode = "act"
        self.run_end = START
        self.clock = START
        self.last_seen: tuple[SiteEvidence, ...] | None = None

    def teardown(self) -> None:
        self.con.close()

    @property
    def configuration(self) -> Configuration:
        entries = {
            name: SiteEntry.model_validate({**NORMAL, "mode": self.modes.get(name)})
            for name in NAMES
        }
        return Configuration(
            SHIPPED_CONFIG,
            Scoring.model_construct(),
            Sites(entries, {}),
            policy(mode=self.fleet_mode, fuse_sites=3),
            "test",
        )

    def mode(self, site: str) -> str:
        return self.modes.get(site) or self.fleet_mode

    def standing(self) -> dict[str, tuple[str, int]]:
        return {
            name: (state.real.state, state.real.step)
            for name, state in load_states(self.con).items()
        }

    def orders(self) -> dict[str, dict]:
        """What crawlers are told; an incident may open beside it without changing any of it."""
        sites = build_control(self.con, self.configuration, self.clock)["sites"]
        return {site: {**order, "incident_id": None} for site, order in sites.items()}

    def history(self) -> list[tuple]:
        return self.con.execute("SELECT * FROM actions ORDER BY sequence").fetchall()

    @initialize()
    def know_the_sites(self) -> None:
        seen = tuple(SiteEvidence(name, "healthy", fresh_band="healthy") for name in NAMES)
        self.run(seen, crash=None)

    @rule(
        ahead=st.sampled_from([1, 1, 1, 2, 30]),
        seen=a_run(),
        crash=st.sampled_from([None, None, "plan", "half"]),
    )
    def next_run(self, ahead, seen, crash) -> None:
        self.run_end += timedelta(hours=ahead)
        self.clock = self.run_end + timedelta(minutes=7)
        self.run(seen, crash)

    @rule(seen=a_run())
    def run_again_with_late_rows(self, seen) -> None:
        self.run(seen, crash=None)

    @precondition(lambda self: self.last_seen is not None)
    @rule()
    def run_again(self) -> None:
        assert self.last_seen is not None
        self.run(self.last_seen, crash=None)
        before = self.standing(), self.orders(), self.history()
        self.run(self.last_seen, crash=None)
        assert (self.standing(), self.orders(), self.history()) == before

    @rule(back=st.integers(1, 5), seen=a_run())
    def an_older_run_is_refused(self, back, seen) -> None:
        before = self.standing(), self.history()
        older = self.run_end - timedelta(hours=back)
        configuration = self.configuration
        decisions = decide(
            seen, load_states(self.con), configuration.policy, configuration.sites, older
        )
        assert decisions.actions == ()
        try:
            record_plan(self.con, decisions)
        except UsageError:
            assert (self.standing(), self.history()) == before
        else:
            raise AssertionError("an older run was let through")

    @rule(site=st.sampled_from(NAMES), mode=st.sampled_from(["act", "observe", None]))
    def change_the_mode_of_a_site(self, site, mode) -> None:
        self.modes[site] = mode

    @rule(mode=st.sampled_from(["act", "observe"]))
    def change_the_mode_of_the_fleet(self, mode) -> None:
        self.fleet_mode = mode

    @rule(hours=st.integers(-48, 2))
    def the_clock_jumps(self, hours) -> None:
        self.clock += timedelta(hours=hours)

    @rule(names=st.one_of(st.none(), st.sets(st.sampled_from(NAMES), min_size=1)))
    def a_human_pauses(self, names) -> None:
        pause_sites(self.con, self.configuration, names, by="ann", why="sale", now=self.clock)
        stands = self.standing()
        assert {stands[name][0] for name in names or NAMES} <= {"paused", "stopped"}

    @rule(
        names=st.one_of(st.none(), st.sets(st.sampled_from(NAMES), min_size=1)),
        step=st.sampled_from([None, None, 0, 2]),
    )
    def a_human_resumes(self, names, step) -> None:
        before = load_states(self.con)
        resume_sites(
            self.con, self.configuration, names, by="bob", why="agreed", now=self.clock, step=step
        )
        stands = self.standing()
        for name in names or NAMES:
            course, now = before[name].real, stands[name]
            if not course.halted or (names is None and course.state == "stopped"):
                assert now == (course.state, course.step)
                continue
            kept = course.paused_by_human and course.state == "paused"
            expected = step if step is not None else course.step if kept else 3
            assert now == ("slowed" if expected else "active", expected)

    @rule()
    def people_are_asked(self) -> None:
        for question in questions_to_ask(self.con, self.configuration, self.clock):
            assert ask(self.con, question).run_id == question.run_id

    @rule(
        place=st.integers(0, 30), choice=st.sampled_from(CHOICES), keep=st.sampled_from([None, 5])
    )
    def a_human_answers_any_question_ever_asked(self, place, choice, keep) -> None:
        questions = rows_of(self.con, "SELECT * FROM site_questions ORDER BY asked_at, run_id")
        if not questions:
            return
        question = questions[place % len(questions)]
        name, before = question["site"], self.standing()
        answered = question["answered_at"] is not None
        answer = answer_question(
            self.con,
            self.configuration,
            question["run_id"],
            choice,
            by="ann",
            why="asked",
            now=self.clock,
            keep_until=self.clock + timedelta(hours=keep) if keep and choice == "keep" else None,
        )
        after = self.standing()
        others = {site: stands for site, stands in after.items() if site != name}
        assert others == {site: stands for site, stands in before.items() if site != name}
        if not answer.applied or answered:
            assert after == before
            return
        assert before[name][0] in ("paused", "stopped") or self.mode(name) == "observe"
        self.assert_chosen(choice, before[name], after[name])

    @rule(name=st.sampled_from(NAMES), choice=st.sampled_from(CHOICES))
    def a_human_decides_on_the_command_line(self, name, choice) -> None:
        before = self.standing()
        words = {"by": "bob", "why": "said so", "now": self.clock}
        try:
            decide_site(self.con, self.configuration, name, choice, **words)
        except UsageError:
            assert self.standing() == before
            return
        self.assert_chosen(choice, before[name], self.standing()[name])

    @staticmethod
    def assert_chosen(choice, before, after) -> None:
        if choice in ("stop", "api"):
            assert after == ("stopped", before[1])
        elif choice == "keep" or before[0] not in ("paused", "stopped"):
            assert after == before
        else:
            assert after == ("slowed", 3)

    @rule(name=st.sampled_from(NAMES))
    def a_human_closes_an_incident(self, name) -> None:
        before = self.standing()
        for incident in open_incidents(self.con):
            if incident.site == name:
                close_incident(self.con, incident.incident_id, by="ann", why="known", at=self.clock)
        assert self.standing() == before

    @rule()
    def people_are_paged_and_no_page_is_due_twice(self) -> None:
        queue_pages(self.con, due_pages(self.con, self.configuration, self.clock, None))
        assert due_pages(self.con, self.configuration, self.clock, None) == []

    @invariant()
    def one_open_incident_a_site_and_kind(self) -> None:
        counted = self.con.execute(
            "SELECT count(*), count(DISTINCT (coalesce(site, ''), kind)) FROM incidents "
            "WHERE closed_at IS NULL"
        ).fetchone()
        assert counted is not None
        assert counted[0] == counted[1]

    @invariant()
    def every_incident_that_is_named_exists(self) -> None:
        missing = self.con.execute(
            "SELECT incident_id FROM actions WHERE incident_id IS NOT NULL "
            "EXCEPT SELECT incident_id FROM incidents"
        ).fetchall()
        assert missing == []

    @invariant()
    def every_pause_is_told(self) -> None:
        """No site is paused by the system without an incident, which pages and asks."""
        untold = self.con.execute(
            "SELECT action_id FROM actions WHERE kind = 'pause' AND incident_id IS NULL"
        ).fetchall()
        assert untold == []

    def run(self, seen: tuple[SiteEvidence, ...], crash: str | None) -> None:
        self.last_seen = seen
        before, orders = self.standing(), self.orders()
        recorded = len(self.history())
        configuration = self.configuration
        states = load_states(self.con)
        decisions = decide(seen, states, configuration.policy, configuration.sites, self.run_end)
        decisions = follow_run(self.con, NO_LAKE, configuration, seen, states, decisions)
        record_plan(self.con, decisions)
        if crash != "plan":
            apply_planned(self.con, self.run_end, {"slow_down", "restore", "fuse"})
            if crash != "half":
                apply_planned(self.con, self.run_end, {"pause"})
        after, orders_after = self.standing(), self.orders()
        for name, (state, step) in before.items():
            if state in ("paused", "stopped") or self.mode(name) == "observe":
                assert after[name] == (state, step)
                assert orders_after[name] == orders[name]
            else:
                assert abs(after[name][1] - step) <= 1
        if decisions.fuse:
            new = self.con.execute(
                "SELECT kind FROM actions WHERE sequence > ?", [recorded]
            ).fetchall()
            assert ("pause",) not in new

    @invariant()
    def no_site_is_above_its_normal_and_the_control_file_is_valid(self) -> None:
        document = build_control(self.con, self.configuration, self.clock)
        validate(document)
        stored = self.con.execute(
            "SELECT site, concurrency_factor, revisit_factor, concurrency, revisit_interval_s "
            "FROM site_state"
        ).fetchall()
        for site, factor, revisit_factor, concurrency, interval in stored:
            order = document["sites"][site]
            assert (factor, revisit_factor) == (
                order["concurrency_factor"],
                order["revisit_factor"],
            )
            assert (concurrency, interval) == (order["concurrency"], order["revisit_interval_s"])
            assert factor <= 1 <= revisit_factor
            assert concurrency <= NORMAL["concurrency"]
            assert interval >= NORMAL["revisit_interval_s"]

    @invariant()
    def the_history_is_a_chain_in_which_only_humans_resume(self) -> None:
        chain = self.con.execute(
            "SELECT site, run_end, kind, decided_by, from_state, from_step, to_state, to_step "
            "FROM actions WHERE applied AND site IS NOT NULL ORDER BY sequence"
        ).fetchall()
        stands = dict.fromkeys(NAMES, ("active", 0))
        automatic: Counter = Counter()
        for site, run_end, kind, by, from_state, from_step, *to in chain:
            assert (from_state, from_step) == stands[site]
            stands[site] = tuple(to)
            if kind in AUTOMATIC:
                assert by == "target-health"
                assert from_state in ("active", "slowed")
                automatic[site, run_end] += 1
            else:
                assert by in ("ann", "bob")
        assert set(automatic.values()) <= {1}
        assert self.standing() == stands


TestFleet = Fleet.TestCase
TestFleet.settings = settings(
    max_examples=8,
    stateful_step_count=20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
