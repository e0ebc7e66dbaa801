"""Paging as one step of a run: queue what is due, send what waits, keep what came of it.

Nothing is sent while the warehouse is open: a pager that hangs must not keep other writers waiting.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

import duckdb

from target_health.config import Configuration
from target_health.paging.due import due_pages
from target_health.paging.outbox import (
    NO_ADDRESS,
    Attempt,
    Outcome,
    attempts_to_make,
    forget_notice,
    queue_pages,
    record_outcomes,
    say_once,
    waiting_count,
)
from target_health.paging.records import Page, PagingReport, Target
from target_health.paging.sending import send, shown_address
from target_health.paging.targets import VARIABLE
from target_health.paths import Home
from target_health.warehouse import open_writer
from target_health.warehouse.publishing import publish_copy
from target_health.warehouse.transactions import transaction

Sender = Callable[[Target, str, str], str | None]
LATE_AFTER = timedelta(minutes=30)


def page_people(
    home: Home,
    configuration: Configuration,
    targets: Sequence[Target],
    *,
    now: datetime,
    base_url: str | None = None,
    due: bool = True,
    more: Callable[[duckdb.DuckDBPyConnection], Sequence[Page]] | None = None,
    sender: Sender = send,
    pause: Callable[[float], None] = time.sleep,
) -> PagingReport:
    """Queue the pages that are due as of ``now`` and those of ``more``; try every one that waits.

    Without ``due`` no incident is looked at: that is left to the run that acted, which knows when
    all is done and published, and where people answer.

    A page that cannot be delivered waits for the next run; without any address it is kept, which
    is said once. Running the step again sends nothing again.
    """
    with open_writer(home) as con:
        with transaction(con):
            pages = due_pages(con, configuration, now, base_url) if due else []
            pages += list(more(con)) if more else []
            queued = queue_pages(con, pages)
            notice = notice_of(con, targets, now)
        attempts = attempts_to_make(con, targets, now, LATE_AFTER)
        waiting = waiting_count(con)
        if queued:
            publish_copy(con, home)
    if not attempts:
        return PagingReport(queued=queued, waiting=waiting, notice=notice)
    outcomes = make_attempts(attempts, configuration, now, sender, pause)
    with open_writer(home) as con:
        record_outcomes(con, outcomes, targets, now)
        waiting = waiting_count(con)
        publish_copy(con, home)
    failed = [one for one in outcomes if one.error is not None]
    return PagingReport(
        queued=queued,
        delivered=len(outcomes) - len(failed),
        failed=len(failed),
        waiting=waiting,
        notice=notice,
        errors=tuple(dict.fromkeys(f"{one.shown}: {one.error}" for one in failed)),
    )


def notice_of(
    con: duckdb.DuckDBPyConnection, targets: Sequence[Target], now: datetime
) -> str | None:
    """That nobody can be paged, the first time that a page waits for it."""
    if targets:
        forget_notice(con, NO_ADDRESS)
        return None
    waiting = waiting_count(con)
    if not waiting or not say_once(con, NO_ADDRESS, now):
        return None
    return (
        f"NOBODY IS PAGED: {waiting} page{'s' if waiting > 1 else ''} waiting, no address known. "
        f"Set {VARIABLE} (Apprise URLs) or the Airflow connection target_health_pages; "
        "`target-health pages` shows what is kept. This is said once."
    )


def make_attempts(
    attempts: Sequence[Attempt],
    configuration: Configuration,
    now: datetime,
    sender: Sender,
    pause: Callable[[float], None],
) -> list[Outcome]:
    """Try each, again a few times where it fails; an address that failed fully is left for now."""
    rules = configuration.policy.paging
    dead: dict[Target, str] = {}
    outcomes: list[Outcome] = []
    for attempt in attempts:
        shown = shown_address(attempt.target)
        if attempt.target in dead:
            outcomes.append(Outcome(attempt, shown, dead[attempt.target], 0, now))
            continue
        error, tries = None, 0
        while tries < rules.attempts_a_run:
            if tries:
                pause(rules.seconds_between_attempts)
            tries += 1
            error = sender(attempt.target, attempt.title, attempt.body)
            if error is None:
                break
        if error is not None:
            dead[attempt.target] = error
        outcomes.append(Outcome(attempt, shown, error, tries, now))
    return outcomes
