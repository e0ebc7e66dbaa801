"""What people are asked and what they answer, step by step; tasks and commands call these.

As the hourly job's steps, each opens the warehouse under the writer's lock, and a decision changes
state, control file and published copy at once.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Unpack

from target_health.config import Configuration
from target_health.decisions.answers import Answer, Choice, Words, answer_question, decide_site
from target_health.decisions.questions import (
    Question,
    QuestionKind,
    ask,
    give_up,
    question_of,
    questions_to_ask,
    waiting_questions,
)
from target_health.incidents.storage import known_incident
from target_health.job import publish
from target_health.paths import Home
from target_health.reviews import Review, file_review, reviews_to_ask
from target_health.reviews.questions import question_texts
from target_health.warehouse import open_writer


def due_questions(
    home: Home,
    configuration: Configuration,
    *,
    now: datetime,
    lost: Callable[[list[str]], list[str]] = lambda run_ids: [],
) -> list[Question]:
    """What is to be asked and is not asked yet: decisions first, then reviews.

    ``lost`` tells which of the runs that should be waiting for an answer are no more.
    """
    with open_writer(home) as connection:
        waiting = [question.run_id for question in waiting_questions(connection)]
    gone = lost(waiting) if waiting else []
    with open_writer(home) as connection:
        give_up(connection, gone, now)
        return [
            *questions_to_ask(connection, configuration, now),
            *reviews_to_ask(connection, now),
        ]


def ask_step(
    home: Home, run_id: str, kind: QuestionKind, incident_id: str, *, now: datetime
) -> dict[str, str]:
    """Note that a question is asked; its ``kind``, ``subject`` and ``body``.

    Raises ``UsageError`` where there is no such incident.
    """
    with open_writer(home) as connection:
        site = known_incident(connection, incident_id).site
        question = ask(connection, Question(run_id, kind, incident_id, site, now))
        return {"kind": question.kind, **question_texts(connection, question)}


def answer_step(
    home: Home,
    configuration: Configuration,
    run_id: str,
    choice: Choice,
    *,
    objection: str | None = None,
    **words: Unpack[Words],
) -> Answer:
    """Carry out an answer, or refuse it politely; once."""
    with open_writer(home) as connection:
        answer = answer_question(
            connection, configuration, run_id, choice, objection=objection, **words
        )
        publish(connection, home, configuration, now=words["now"], control=True)
    return answer


def decide(
    home: Home,
    configuration: Configuration,
    site: str,
    choice: Choice,
    **words: Unpack[Words],
) -> Answer:
    """A person's decision said on a command line; raises ``UsageError`` where it cannot be."""
    with open_writer(home) as connection:
        answer = decide_site(connection, configuration, site, choice, **words)
        publish(connection, home, configuration, now=words["now"], control=True)
    return answer


def review_step(
    home: Home,
    configuration: Configuration,
    incident_id: str,
    *,
    by: str,
    now: datetime,
    is_false_alarm: bool,
    was_early_enough: bool | None = None,
    are_reasons_right: bool | None = None,
    did_action_help: bool | None = None,
    onset_at: datetime | None = None,
    note: str | None = None,
) -> Review:
    """File a review, and publish it."""
    with open_writer(home) as connection:
        review = file_review(
            connection,
            incident_id,
            by=by,
            now=now,
            is_false_alarm=is_false_alarm,
            was_early_enough=was_early_enough,
            are_reasons_right=are_reasons_right,
            did_action_help=did_action_help,
            onset_at=onset_at,
            note=note,
        )
        publish(connection, home, configuration, now=now, control=False)
    return review


def reviewed_incident(home: Home, run_id: str) -> str:
    """The incident that a run of site_review asks to be reviewed."""
    with open_writer(home) as connection:
        return question_of(connection, run_id).incident_id
