"""What people decide about paused sites: carried out once, refused politely when it is too late."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from target_health.decisions import load_states, pause_sites, resume_sites
from target_health.decisions.answers import (
    answer_question,
    decide_site,
)
from target_health.decisions.questions import (
    Question,
    ask,
    give_up,
    questions_to_ask,
    waiting_questions,
)
from target_health.decisions.records import Course, SiteState
from target_health.decisions.storage import save_states
from target_health.errors import UsageError
from target_health.incidents.records import Incident, Standing
from target_health.incidents.rules import opened
from target_health.incidents.storage import save_incidents
from target_health.modelling.settings import make_site_settings
from target_health.warehouse.rows import rows_of
from tests.decisions.evidence import SHOP, hour

BY = {"by": "Kim", "why": "spoke to them"}
DAY = timedelta(days=1)


def pause_with_incident(con, count: float = 1, site: str = SHOP, revision: int = 1) -> Incident:
    """The site paused by the system at that hour, and its incident."""
    incident = opened("hostility", Standing(site, "resisting"), "act", hour(count))
    save_incidents(con, [incident])
    course = Course("paused", 0, hour(count), ("refusal",), hour(count), None, hour(count))
    save_states(
        con,
        [SiteState(site, course, incident_id=incident.incident_id, revision=revision)],
    )
    return incident


@pytest.fixture
def configuration(configured):
    return configured()


def asked(con, configuration, at: datetime) -> Question:
    (question,) = questions_to_ask(con, configuration, at)
    return ask(con, question)


def stands(con, site: str = SHOP) -> tuple[str, int]:
    course = load_states(con)[site].real
    return course.state, course.step


def incident_row(con) -> dict:
    return rows_of(con, "SELECT * FROM incidents ORDER BY opened_at")[-1]


@pytest.mark.parametrize(
    ("choice", "stood", "closed"),
    [
        ("resume", ("slowed", 3), False),
        ("keep", ("paused", 0), False),
        ("api", ("stopped", 0), True),
        ("stop", ("stopped", 0), True),
        ("accept", ("slowed", 3), True),
    ],
)
def test_each_choice_is_carried_out_and_recorded(con, configuration, choice, stood, closed):
    incident = pause_with_incident(con)
    question = asked(con, configuration, hour(1.1))
    answer = answer_question(con, configuration, question.run_id, choice, now=hour(2), **BY)
    assert answer.applied, answer.outcome
    assert stands(con) == stood
    row = incident_row(con)
    assert (row["closed_at"] is not None) == closed
    if closed:
        assert (row["closed_by"], row["closed_at"]) == ("Kim", hour(2))
    (decision,) = rows_of(con, "SELECT * FROM human_decisions")
    assert (
        decision["choice"],
        decision["decided_by"],
        decision["why"],
        decision["decided_at"],
    ) == (
        choice,
        *BY.values(),
        hour(2),
    )
    kinds = {"resume": ["human_resume"], "keep": [], "accept": ["human_resume"]}
    actions = rows_of(con, "SELECT * FROM actions")
    assert [row["kind"] for row in actions] == kinds.get(choice, ["human_stop"])
    assert {row["incident_id"] for row in actions} <= {incident.incident_id}


def test_an_answer_counts_once_however_often_its_task_runs(con, configuration):
    pause_with_incident(con)
    question = asked(con, configuration, hour(1.1))
    first = answer_question(con, configuration, question.run_id, "resume", now=hour(2), **BY)
    again = answer_question(con, configuration, question.run_id, "stop", now=hour(3), **BY)
    assert replace(first, action=None) == again
    assert stands(con) == ("slowed", 3)


def test_an_answer_two_days_late_is_as_good_as_any_while_nothing_changed(con, configuration):
    pause_with_incident(con)
    question = asked(con, configuration, hour(1.1))
    late = hour(1.1) + 2 * DAY
    assert answer_question(con, configuration, question.run_id, "resume", now=late, **BY).applied
    assert stands(con) == ("slowed", 3)


def refused(con, configuration, run_id: str, says: str, choice: str = "stop") -> None:
    before = rows_of(con, "SELECT * FROM site_state"), rows_of(con, "SELECT * FROM actions")
    answer = answer_question(con, configuration, run_id, choice, now=hour(50), **BY)
    assert not answer.applied
    assert says in answer.outcome
    assert answer.outcome.endswith("; nothing was changed")
    after_it = rows_of(con, "SELECT * FROM site_state"), rows_of(con, "SELECT * FROM actions")
    assert after_it == before


def test_an_answer_after_a_resume_is_refused(con, configuration):
    pause_with_incident(con)
    question = asked(con, configuration, hour(1.1))
    resume_sites(con, configuration, [SHOP], now=hour(2), **BY)
    refused(con, configuration, question.run_id, "is slowed already, since 2026-01-31T10:00:00Z")


def test_an_answer_after_a_new_pause_is_refused_and_a_new_question_due(con, configuration):
    incident = pause_with_incident(con)
    question = asked(con, configuration, hour(1.1))
    resume_sites(con, configuration, [SHOP], now=hour(2), **BY)
    state = load_states(con)[SHOP]
    course = replace(state.real, state="paused", since=hour(5))
    save_states(con, [replace(state, real=course, revision=state.revision + 1)])
    refused(con, configuration, question.run_id, "paused anew")
    (new,) = questions_to_ask(con, configuration, hour(6))
    assert new.run_id == f"{incident.incident_id}-2"


def test_an_answer_to_an_older_incident_is_refused(con, configuration):
    pause_with_incident(con)
    question = asked(con, configuration, hour(1.1))
    con.execute("UPDATE incidents SET closed_at = ?, closed_by = 'Ada'", [hour(3)])
    newer = pause_with_incident(con, 30, revision=5)
    refused(con, configuration, question.run_id, newer.incident_id)


def test_an_answer_to_a_closed_incident_is_refused(con, configuration):
    pause_with_incident(con)
    question = asked(con, configuration, hour(1.1))
    con.execute("UPDATE incidents SET closed_at = ?, closed_by = 'Ada'", [hour(3)])
    refused(con, configuration, question.run_id, "by Ada already")


def test_a_bad_answer_is_refused_and_asked_again(con, configuration):
    incident = pause_with_incident(con)
    question = asked(con, configuration, hour(1.1))
    assert questions_to_ask(con, configuration, hour(3)) == []
    answer = answer_question(
        con,
        configuration,
        question.run_id,
        "keep",
        now=hour(2),
        keep_until=hour(1),
        **BY,
    )
    assert (answer.applied, "is over" in answer.outcome) == (False, True)
    (again,) = questions_to_ask(con, configuration, hour(3))
    assert again.run_id == f"{incident.incident_id}-2"
    assert ask(con, again) == ask(con, again)
    nobody = answer_question(con, configuration, again.run_id, "stop", by=" ", why="", now=hour(4))
    assert not nobody.applied


def test_a_site_kept_paused_is_asked_about_again_when_the_date_has_come(con, configuration):
    pause_with_incident(con)
    question = asked(con, configuration, hour(1.1))
    until = hour(1) + 3 * DAY
    answer_question(
        con, configuration, question.run_id, "keep", now=hour(2), keep_until=until, **BY
    )
    assert questions_to_ask(con, configuration, until - timedelta(minutes=1)) == []
    assert len(questions_to_ask(con, configuration, until)) == 1


def test_without_a_date_a_site_is_kept_for_a_week(con, configuration):
    pause_with_incident(con)
    answer = decide_site(con, configuration, SHOP, "keep", now=hour(2), **BY)
    assert answer.keep_until == hour(2) + 7 * DAY


def test_twenty_sites_paused_at_different_hours_all_wait(con, configuration):
    names = [f"s{number:02}.example" for number in range(20)]
    for number, name in enumerate(names):
        pause_with_incident(con, number, name)
        for question in questions_to_ask(con, configuration, hour(number + 0.1)):
            ask(con, question)
    waiting = rows_of(con, "SELECT * FROM site_questions WHERE answered_at IS NULL")
    assert len(waiting) == 20
    assert questions_to_ask(con, configuration, hour(40)) == []
    for row in waiting[::2]:
        answer_question(con, configuration, row["run_id"], "resume", now=hour(41), **BY)
    states = [state.real.state for _, state in sorted(load_states(con).items())]
    assert states == ["slowed", "paused"] * 10


def test_a_decision_on_the_command_line_answers_what_waits(con, configuration):
    pause_with_incident(con)
    asked(con, configuration, hour(1.1))
    decide_site(con, configuration, SHOP, "resume", now=hour(2), **BY)
    assert rows_of(con, "SELECT * FROM site_questions WHERE answered_at IS NULL") == []


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"name": "nowhere.example", "choice": "stop"}, "nowhere.example"),
        ({"choice": "stop", "keep_until": hour(99)}, "goes with keep only"),
        ({"choice": "resume", "baseline_from": hour(1)}, "goes with accept only"),
        ({"choice": "accept", "baseline_from": hour(99)}, "yet to come"),
        ({"choice": "stop", "why": " "}, "--by NAME --why TEXT"),
        ({"choice": "stop", "by": "target-health"}, "system's own name"),
    ],
)
def test_a_wrong_decision_changes_nothing(con, configuration, given, says):
    pause_with_incident(con)
    before = rows_of(con, "SELECT * FROM site_state")
    words = {"name": SHOP, **BY, **given}
    name, choice = words.pop("name"), words.pop("choice")
    with pytest.raises(UsageError, match=says):
        decide_site(con, configuration, name, choice, now=hour(2), **words)
    assert rows_of(con, "SELECT * FROM site_state") == before
    assert rows_of(con, "SELECT * FROM human_decisions") == []


def test_an_accepted_normal_reaches_the_models_settings(con, configured):
    configuration = configured(sites=f"sites: {{{SHOP}: {{baseline_from: 2026-01-01T00:00Z}}}}")
    pause_with_incident(con)
    decide_site(con, configuration, SHOP, "accept", now=hour(2), **BY)
    make_site_settings(con, configuration, [SHOP, "other.example"])
    settings = dict(con.execute("SELECT site, baseline_from FROM site_settings").fetchall())
    assert settings == {SHOP: hour(2), "other.example": None}
    assert con.execute("SELECT * FROM rescore_sites").fetchall() == []


def test_a_normal_accepted_for_the_past_makes_scores_again(con, configuration):
    pause_with_incident(con)
    con.execute(
        "INSERT INTO site_scores BY NAME SELECT ? AS site, ? AS window_start, ? AS window_end,"
        " 60 AS window_minutes, 'v' AS config_version, 'resisting' AS band, [] AS reasons",
        [SHOP, hour(0), hour(1)],
    )
    decide_site(con, configuration, SHOP, "accept", now=hour(2), baseline_from=hour(0), **BY)
    assert con.execute("SELECT * FROM rescore_sites").fetchall() == [(SHOP, hour(0))]


def test_a_stopped_site_is_resumed_by_its_name_only(con, configuration):
    pause_with_incident(con)
    decide_site(con, configuration, SHOP, "stop", now=hour(2), **BY)
    assert resume_sites(con, configuration, None, now=hour(3), **BY).actions == ()
    assert pause_sites(con, configuration, [SHOP], now=hour(3), **BY).actions == ()
    with pytest.raises(UsageError, match="is stopped already"):
        decide_site(con, configuration, SHOP, "api", now=hour(4), **BY)
    decide_site(con, configuration, SHOP, "resume", now=hour(5), **BY)
    assert stands(con) == ("slowed", 3)


def test_the_system_never_moves_what_a_person_stopped(con, configuration):
    from target_health.decisions import decide
    from tests.decisions.evidence import saw

    pause_with_incident(con)
    decide_site(con, configuration, SHOP, "stop", now=hour(2), **BY)
    for count, band in enumerate(["healthy", "resisting", "degraded", "healthy"], start=3):
        states = load_states(con)
        made = decide([saw(band)], states, configuration.policy, configuration.sites, hour(count))
        assert made.actions == ()


def test_a_question_whose_run_is_gone_is_asked_under_a_new_name(con, configuration):
    incident = pause_with_incident(con)
    question = asked(con, configuration, hour(1.1))
    assert waiting_questions(con) == [question]
    give_up(con, [question.run_id], hour(2))
    (again,) = questions_to_ask(con, configuration, hour(2))
    assert again.run_id == f"{incident.incident_id}-2"
