"""What a person decides about a site that stands still: resume, keep, switch, stop, accept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Literal, NotRequired, TypedDict, Unpack, get_args

import duckdb

from target_health.config import Configuration
from target_health.decisions.commands import chosen_sites, known_sites, mandate_of, since_words
from target_health.decisions.courses import human_resume, human_stop
from target_health.decisions.modes import mode_of
from target_health.decisions.questions import Question, question_of
from target_health.decisions.records import Action, Mandate, SiteState
from target_health.decisions.storage import add_actions, load_states, save_states
from target_health.errors import UsageError
from target_health.times import iso
from target_health.warehouse.rows import rows_of
from target_health.warehouse.transactions import transaction

Choice = Literal["resume", "keep", "api", "stop", "accept"]
CHOICES: tuple[Choice, ...] = get_args(Choice)

# How each is offered where there is room for words.
OFFERED: dict[Choice, str] = {
    "resume": "Resume slower",
    "keep": "Keep paused until a date",
    "api": "Switch to an official API or feed",
    "stop": "Stop",
    "accept": "Accept as the new normal",
}
# Which of them end the site's incident.
ENDING: dict[Choice, str] = {
    "api": "switched to an official API or feed",
    "stop": "stopped",
    "accept": "accepted as the new normal",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """One human decision about one site, and whether it was carried out; ``outcome`` says how.

    ``keep_until`` and ``baseline_from`` go with ``keep`` and ``accept``.
    """

    site: str
    choice: Choice
    by: str
    why: str
    at: datetime
    applied: bool
    outcome: str
    incident_id: str | None = None
    run_id: str | None = None
    keep_until: datetime | None = None
    action: Action | None = None


class Words(TypedDict):
    """What a person says with a choice; the two times go with ``keep`` and ``accept``."""

    by: str
    why: str
    now: datetime
    keep_until: NotRequired[datetime | None]
    baseline_from: NotRequired[datetime | None]


class Refused(Exception):
    """Things have changed since the question was asked; the message is for the person."""


def decide_site(
    con: duckdb.DuckDBPyConnection,
    configuration: Configuration,
    name: str,
    choice: Choice,
    **words: Unpack[Words],
) -> Answer:
    """Carry out a person's decision about the site called ``name``.

    Raises ``UsageError``, and changes nothing, for an unknown site, a missing who or why, a date
    that does not fit the choice, or a choice that the site's state leaves no room for.
    """
    (site,) = chosen_sites([name], known_sites(con, configuration), configuration)
    with transaction(con):
        try:
            return carried_out(con, configuration, site, choice, None, words)
        except Refused as refusal:
            raise UsageError(f"{refusal}; nothing was changed") from None


def answer_question(
    con: duckdb.DuckDBPyConnection,
    configuration: Configuration,
    run_id: str,
    choice: Choice,
    *,
    objection: str | None = None,
    **words: Unpack[Words],
) -> Answer:
    """Carry out the answer to a question, once; refuse it politely where things have changed.

    ``objection`` is what is wrong with how it was given. A refusal changes nothing but the record:
    ``applied`` is false, ``outcome`` says why. Raises ``UsageError`` where nothing was ever asked
    under ``run_id``.
    """
    by, why, now = words["by"], words["why"], words["now"]
    with transaction(con):
        done = rows_of(con, "SELECT * FROM human_decisions WHERE run_id = ?", [run_id])
        if done:
            return answer_of(done[0])
        question = question_of(con, run_id)
        site = question.site
        if question.kind != "decision" or site is None:
            raise UsageError(f"{run_id} asks for a review, not for a decision")
        try:
            if objection:
                raise Refused(objection)
            if not by.strip() or not why.strip():
                raise Refused("an answer needs a name and a reason")
            refuse_if_changed(con, configuration, site, question)
            answer = carried_out(con, configuration, site, choice, question, words)
        except (Refused, UsageError) as refusal:
            answer = Answer(
                site,
                choice,
                by.strip() or "unknown",
                why.strip(),
                now,
                applied=False,
                outcome=f"{refusal}; nothing was changed",
                incident_id=question.incident_id,
                run_id=run_id,
            )
            record(con, answer, run_id)
        con.execute("UPDATE site_questions SET answered_at = ? WHERE run_id = ?", [now, run_id])
    return answer


def refuse_if_changed(
    con: duckdb.DuckDBPyConnection, configuration: Configuration, site: str, question: Question
) -> None:
    """Raise ``Refused`` where the question is no longer the one to answer."""
    (asked,) = rows_of(
        con, "SELECT * FROM incidents WHERE incident_id = ?", [question.incident_id]
    ) or [{"closed_at": question.asked_at, "closed_by": "nobody"}]
    newest = rows_of(
        con,
        "SELECT incident_id FROM incidents WHERE site = ? AND kind = 'hostility'"
        " ORDER BY opened_at DESC LIMIT 1",
        [site],
    )
    if newest and newest[0]["incident_id"] != question.incident_id:
        raise Refused(
            f"{question.incident_id} is over and {site} has a newer incident, "
            f"{newest[0]['incident_id']}: answer that one"
        )
    if asked["closed_at"] is not None:
        raise Refused(
            f"the incident was closed {iso(asked['closed_at'])} by {asked['closed_by']} already"
        )
    state = load_states(con, [site]).get(site) or SiteState(site)
    course = state.course(mode_of(configuration.policy, configuration.sites, site))
    if not course.halted:
        raise Refused(f"{site} is {course.state} already{since_words(course)}")
    if course.since is not None and course.since > question.asked_at:
        raise Refused(f"{site} was {course.state} anew{since_words(course)}, after this was asked")


def carried_out(
    con: duckdb.DuckDBPyConnection,
    configuration: Configuration,
    site: str,
    choice: Choice,
    question: Question | None,
    words: Words,
) -> Answer:
    """Move the site, close its incident where the choice ends it, and record the decision."""
    now = words["now"]
    keep_until, baseline_from = words.get("keep_until"), words.get("baseline_from")
    mandate = mandate_of(con, configuration.policy, words["by"], words["why"], now)
    if keep_until is not None and choice != "keep":
        raise UsageError("a date to keep it paused until goes with keep only")
    if baseline_from is not None and choice != "accept":
        raise UsageError("a time from which the new normal holds goes with accept only")
    state = load_states(con, [site]).get(site) or SiteState(site)
    entry = configuration.sites.entry(site)
    state = replace(
        state,
        normal_concurrency=entry.concurrency,
        normal_revisit_interval_s=entry.revisit_interval_s,
    )
    incident = question.incident_id if question else hostility_of(con, site)
    move = MOVES[choice](configuration, state, mandate)
    answer = Answer(
        site,
        choice,
        mandate.by,
        mandate.why,
        now,
        applied=True,
        outcome=said(choice, site),
        incident_id=incident,
        run_id=question.run_id if question else None,
    )
    if choice == "keep":
        days = timedelta(days=configuration.policy.keep_paused_days)
        until = keep_until or mandate.present + days
        if until <= mandate.present:
            raise UsageError(f"the date to keep it paused until, {iso(until)}, is over")
        answer = replace(
            answer, keep_until=until, outcome=f"{site} stays paused until {iso(until)}"
        )
    if choice == "accept":
        accept_normal(con, site, baseline_from or mandate.present, mandate)
    if move is not None:
        moved, action = move
        action = replace(action, incident_id=incident)
        save_states(con, [moved])
        add_actions(con, [action])
        answer = replace(answer, action=action)
    if choice in ENDING and incident is not None:
        con.execute(
            "UPDATE incidents SET closed_at = greatest(opened_at, ?), closed_by = ?,"
            " close_reason = ? WHERE incident_id = ? AND closed_at IS NULL",
            [now, mandate.by, f"{ENDING[choice]}: {mandate.why}", incident],
        )
    if question is None:
        # Said on the command line: whatever waits for the same answer has it.
        con.execute(
            "UPDATE site_questions SET answered_at = ? WHERE site = ? AND kind = 'decision'"
            " AND answered_at IS NULL",
            [now, site],
        )
    record(con, answer, answer.run_id or f"{iso(now)}/{choice}/{state.revision}/{site}")
    return answer


Move = tuple[SiteState, Action] | None


def resumed(configuration: Configuration, state: SiteState, mandate: Mandate) -> Move:
    """At the lowest step, from which a site is restored step by step."""
    mode = mode_of(configuration.policy, configuration.sites, state.site)
    move = human_resume(state, mode, mandate, step=configuration.policy.max_steps)
    if move is None:
        raise Refused(f"{state.site} is not paused but {state.course(mode).state}")
    return move


def kept(configuration: Configuration, state: SiteState, mandate: Mandate) -> Move:
    mode = mode_of(configuration.policy, configuration.sites, state.site)
    if state.course(mode).state != "paused":
        raise Refused(f"{state.site} is not paused but {state.course(mode).state}")
    return None


def stopped(configuration: Configuration, state: SiteState, mandate: Mandate) -> Move:
    mode = mode_of(configuration.policy, configuration.sites, state.site)
    move = human_stop(state, mode, mandate)
    if move is None:
        raise Refused(f"{state.site} is stopped already{since_words(state.real)}")
    return move


def accepted(configuration: Configuration, state: SiteState, mandate: Mandate) -> Move:
    """A site that stands still goes on at the lowest step; any other keeps its pace."""
    mode = mode_of(configuration.policy, configuration.sites, state.site)
    return human_resume(state, mode, mandate, step=configuration.policy.max_steps)


MOVES: dict[Choice, Callable[[Configuration, SiteState, Mandate], Move]] = {
    "resume": resumed,
    "keep": kept,
    "api": stopped,
    "stop": stopped,
    "accept": accepted,
}


def said(choice: Choice, site: str) -> str:
    return {
        "resume": f"{site} goes on at the lowest step and is restored step by step",
        "keep": f"{site} stays paused",
        "api": f"{site} is stopped: it is collected through an official API or feed",
        "stop": f"{site} is stopped",
        "accept": f"{site} has a new normal, and no score until that is known",
    }[choice]


def hostility_of(con: duckdb.DuckDBPyConnection, site: str) -> str | None:
    """The open incident that a decision about a site's pace belongs to."""
    rows = rows_of(
        con,
        "SELECT incident_id FROM incidents WHERE site = ? AND closed_at IS NULL"
        " ORDER BY kind <> 'hostility', opened_at LIMIT 1",
        [site],
    )
    return rows[0]["incident_id"] if rows else None


def accept_normal(
    con: duckdb.DuckDBPyConnection, site: str, since: datetime, mandate: Mandate
) -> None:
    """From ``since`` on no earlier window of the site is its normal; scores since are made again.

    Raises ``UsageError`` for a time to come.
    """
    if since > mandate.present:
        raise UsageError(f"the new normal cannot begin at {iso(since)}, which is yet to come")
    con.execute(
        "INSERT INTO accepted_normals VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        [site, since, mandate.by, mandate.why, mandate.at],
    )
    scored = rows_of(
        con,
        "SELECT 1 FROM site_scores WHERE site = ? AND window_start >= ? LIMIT 1",
        [site, since],
    )
    if scored:
        con.execute("INSERT INTO rescore_sites VALUES (?, ?)", [site, since])


def record(con: duckdb.DuckDBPyConnection, answer: Answer, name: str) -> None:
    con.execute(
        "INSERT INTO human_decisions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (decision_id) DO NOTHING",
        [
            name,
            answer.site,
            answer.incident_id,
            answer.run_id,
            answer.choice,
            answer.by,
            answer.why,
            answer.at,
            answer.keep_until,
            answer.applied,
            answer.outcome,
        ],
    )


def answer_of(row: dict[str, Any]) -> Answer:
    return Answer(
        row["site"],
        row["choice"],
        row["decided_by"],
        row["why"],
        row["decided_at"],
        row["is_applied"],
        row["outcome"],
        row["incident_id"],
        row["run_id"],
        row["keep_until"],
    )
