"""Between Airflow and the job: the only module of the package that imports Airflow.

Each function is the body of one task. It takes the hour and the kind of run from Airflow's context,
calls the job, tells the task's log what came of it, and returns something small for XCom.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from airflow.providers.standard.operators.hitl import HITLOperator
from airflow.providers.standard.operators.trigger_dagrun import TriggerDagRunOperator
from airflow.providers.standard.triggers.hitl import HITLTrigger
from airflow.sdk import Asset, Connection, Context, ObjectStoragePath, Param, get_current_context
from airflow.sdk.configuration import conf
from airflow.sdk.exceptions import (
    AirflowException,
    AirflowFailException,
    AirflowNotFoundException,
    AirflowSkipException,
)
from airflow.sdk.io import has_fs

from target_health import human_steps, job
from target_health.config import load_configuration
from target_health.decisions.answers import (
    CHOICES,
    OFFERED,
)
from target_health.errors import UsageError
from target_health.fleet_table import action_table, as_plain_text, fleet_table
from target_health.modelling.ranges import Range
from target_health.paging import PagingReport, Target, configured_targets, targets_in
from target_health.paging.targets import OWNERS
from target_health.paths import Home
from target_health.times import HOUR, floor_hour, iso, parse_time, to_utc, utc_now
from target_health.warehouse.published import open_published
from target_health.warehouse.rows import rows_of

log = logging.getLogger(__name__)

# Updated after a run near the clock has published; a team's own DAGs can be scheduled on it.
TARGET_HEALTH = Asset("target_health")

# The branch's task id, where it goes when nothing is to be done, and the key under which it leaves
# whether the run may act: a branch that skips tasks returns nothing to XCom.
BRANCH, PUBLISH = "branch", "publish"
MAY_ACT = "may_act"

# The forms of site_review, by task id; the ids stand in links, too.
SITE_REVIEW, ASK, DECIDE, REVIEW = "site_review", "ask", "decide", "review"
# Questions that may wait at once. They take no worker: the number only bounds a mistake.
MOST_QUESTIONS = 5000
REAL, FALSE_ALARM = "A real trouble", "A false alarm"
# The Airflow connection with Apprise URLs; with _crawl, _parser or _proxy for one owner's.
PAGES_CONNECTION = "target_health_pages"

# Every task that writes the warehouse. One at a time holds the writer's lock; the queue lets a
# Celery installation give all of them to one worker, and the limit keeps a backfill's many runs
# from filling an executor with tasks that only wait for that lock.
WRITING_TASK: dict[str, Any] = {
    "owner": "target-health",
    "queue": "target_health_writer",
    "max_active_tis_per_dag": 1,
    "retries": 3,
    "retry_delay": timedelta(seconds=30),
    "retry_exponential_backoff": 3,
    "max_retry_delay": timedelta(minutes=15),
}


@dataclass(frozen=True, slots=True)
class HourlyRun:
    """What one DAG run is about: its range of full hours, and whether it is a backfill's."""

    range: Range
    is_backfill: bool

    @property
    def act(self) -> bool | None:
        """For ``job.decide_step``: a backfill never acts, any other run only near the clock."""
        return False if self.is_backfill else None


def hours_of_run(
    interval_start: datetime | None, interval_end: datetime | None, run_after: datetime
) -> Range:
    """The full hours that a run is for, naive UTC.

    A data interval is floored to full hours: [10:05, 11:05) is [10:00, 11:00). Without one, as
    after a trigger by hand, it is the last hour that was complete when the run was asked for.
    """
    if interval_start is None or interval_end is None:
        end = floor_hour(to_utc(run_after))
        return Range(end - HOUR, end)
    end = floor_hour(to_utc(interval_end))
    return Range(min(floor_hour(to_utc(interval_start)), end - HOUR), end)


def hourly_run(context: Context, now: datetime) -> HourlyRun:
    """This DAG run; refuses one for hours that the clock has not ended yet."""
    dag_run = context["dag_run"]
    hours = hours_of_run(dag_run.data_interval_start, dag_run.data_interval_end, dag_run.run_after)
    if hours.end > now:
        raise UsageError(
            f"this run is for {iso(hours.start)} to {iso(hours.end)}, which has not ended yet: "
            "trigger it again afterwards"
        )
    return HourlyRun(hours, is_backfill=str(dag_run.run_type.value) == "backfill")


@contextmanager
def told_once() -> Iterator[None]:
    """A wrong argument or configuration stays wrong: fail at once, in one line, no retries."""
    try:
        yield
    except UsageError as problem:
        raise AirflowFailException(str(problem)) from problem


def land() -> dict[str, int]:
    """Land what is new in the inbox."""
    with told_once():
        now = utc_now()
        hours = hourly_run(get_current_context(), now).range
        log.info("This run is for %s to %s", iso(hours.start), iso(hours.end))
        report = job.land_step(
            Home.from_environment(), load_configuration(), now=now, progress=log.info
        )
    if report.files == 0:
        log.info("No new log in the inbox: the scores follow from what was landed before")
    for line in report.lines():
        log.info("%s", line)
    return {
        "files": report.files,
        "rows": report.rows,
        "skipped": report.skipped,
        "quarantined": report.quarantined,
    }


def windows() -> str | None:
    """Make the run's windows; returns how far all windows are made."""
    with told_once():
        hours = hourly_run(get_current_context(), utc_now()).range
        until = job.windows_step(Home.from_environment(), load_configuration(), hours, log.info)
    return told_until("windows", until)


def scores() -> str | None:
    """Score the run's windows; returns how far all scores are made."""
    with told_once():
        hours = hourly_run(get_current_context(), utc_now()).range
        until = job.scores_step(Home.from_environment(), load_configuration(), hours, log.info)
    return told_until("scores", until)


def told_until(what: str, until: datetime | None) -> str | None:
    if until is None:
        log.info("No %s: no log from before this run's end was ever landed", what)
        return None
    log.info("All %s are made up to %s", what, iso(until))
    return iso(until)


def branch() -> list[str]:
    """Plan what the sites need; the tasks to follow.

    A run over the past goes straight to publishing.
    """
    context = get_current_context()
    with told_once():
        now = utc_now()
        run = hourly_run(context, now)
        branches = job.decide_step(
            Home.from_environment(), load_configuration(), run.range.end, now=now, act=run.act
        )
    context["ti"].xcom_push(key=MAY_ACT, value=bool(branches))
    if not branches:
        log.info(
            "This run is %s: it acts on nothing",
            "a backfill's" if run.is_backfill else "over the past",
        )
        return [PUBLISH]
    log.info("Following %s", ", ".join(branches))
    return branches


def act(branch_name: str) -> int:
    """Carry out one kind of action; returns how many sites (or fuses) it was for."""
    with told_once():
        now = utc_now()
        hours = hourly_run(get_current_context(), now).range
        actions = job.act_step(
            Home.from_environment(), load_configuration(), branch_name, hours.end, now=now
        )
    if not actions:
        log.info("Nothing to do")
    else:
        log_lines(as_plain_text(action_table(actions)))
    return len(actions)


def publish() -> str | None:
    """Publish the database, and after a run that may act the control file; returns ``as_of``."""
    home = Home.from_environment()
    with told_once():
        as_of = job.publish_step(
            home, load_configuration(), now=utc_now(), control=may_act(get_current_context())
        )
    log.info("Published %s as of %s", home.published, iso(as_of) if as_of else "no window yet")
    with open_published(home) as connection:
        fleet = rows_of(connection, "SELECT * FROM site_health")
    log_lines(as_plain_text(fleet_table(fleet)))
    return iso(as_of) if as_of else None


def announce(as_of: str | None) -> None:
    """Update the asset ``target_health``, unless the run was over the past."""
    context = get_current_context()
    if not may_act(context):
        raise AirflowSkipException("A run over the past does not update the asset target_health")
    context["outlet_events"][TARGET_HEALTH].extra = {"as_of": as_of}


def may_act(context: Context) -> bool:
    """What the branch left: whether this run is one that acts, rather than one over the past."""
    return bool(context["ti"].xcom_pull(task_ids=BRANCH, key=MAY_ACT))


def backfill() -> str | None:
    """Windows and scores of the range in the params, and all later scores that it reaches."""
    params = get_current_context()["params"]
    with told_once():
        report = job.backfill(
            Home.from_environment(),
            load_configuration(),
            parse_time(params["start"], "start"),
            parse_time(params["end"], "end"),
            now=utc_now(),
            progress=log.info,
        )
    return told_until("scores", report.modelled_until)


def questions() -> list[dict[str, Any]]:
    """What ``ask_people`` starts: a run of site_review a question; none over the past."""
    context = get_current_context()
    if not may_act(context):
        log.info("A run over the past asks nobody")
        return []

    def lost(run_ids: list[str]) -> list[str]:
        """The runs of site_review that failed or were deleted while somebody was to answer."""

        def going(names: list[str]) -> int:
            return int(
                context["ti"].get_dr_count(
                    dag_id=SITE_REVIEW, run_ids=names, states=["queued", "running"]
                )
            )

        if going(run_ids) == len(run_ids):
            return []
        return [run_id for run_id in run_ids if not going([run_id])]

    with told_once():
        due = human_steps.due_questions(
            Home.from_environment(), load_configuration(), now=utc_now(), lost=lost
        )
    for question in due:
        log.info("%s: %s", question.kind, question.run_id)
    return [
        {
            "trigger_run_id": question.run_id,
            "conf": {"kind": question.kind, "incident_id": question.incident_id},
        }
        for question in due
    ]


def ask_people(task_id: str, due: Any) -> Any:
    """The operator that starts a run of site_review for each of ``questions``."""
    return TriggerDagRunOperator.partial(
        task_id=task_id,
        trigger_dag_id=SITE_REVIEW,
        # None: many may start at the same moment.
        logical_date=None,
        skip_when_already_exists=True,
        # They write no warehouse, so that they need not wait for each other.
        max_active_tis_per_dag=None,
        doc_md="Start a run of site_review for each question.",
    ).expand_kwargs(due)


def page() -> str | None:
    """Page people about what calls for them; returns what was done."""
    if not may_act(get_current_context()):
        raise AirflowSkipException("A run over the past pages nobody")
    with told_once():
        report = job.page_step(
            Home.from_environment(),
            load_configuration(),
            page_targets(),
            now=utc_now(),
            base_url=conf.get("api", "base_url", fallback=None),
        )
    return told_paging(report)


def digest() -> str | None:
    """Send the day's digest, and on Mondays the week's."""
    now = utc_now()
    with told_once():
        report = job.digest_step(
            Home.from_environment(),
            load_configuration(),
            page_targets(),
            now=now,
            weekly=now.weekday() == 0,
        )
    return told_paging(report)


def told_paging(report: PagingReport) -> str | None:
    lines = report.lines()
    level = logging.ERROR if report.notice or report.errors else logging.INFO
    for line in lines:
        log.log(level, "%s", line)
    return lines[-1] if lines else None


def page_targets() -> tuple[Target, ...]:
    """Addresses in the environment and in Airflow's connections, where a password is one too."""
    found = list(configured_targets())
    for owner in (None, *OWNERS):
        name = f"{PAGES_CONNECTION}_{owner}" if owner else PAGES_CONNECTION
        try:
            connection = Connection.get(name)
        except AirflowNotFoundException:
            continue
        text = connection.password or (connection.extra_dejson or {}).get("urls") or ""
        words = " ".join(text) if isinstance(text, list) else str(text)
        found.extend(targets_in(words, owner, f"the connection {name}"))
    return tuple(found)


def ask() -> str:
    """Gather what a question of site_review shows; returns the form to go to."""
    context = get_current_context()
    dag_run = context["dag_run"]
    given = dag_run.conf or {}
    with told_once():
        texts = human_steps.ask_step(
            Home.from_environment(),
            dag_run.run_id,
            "review" if given.get("kind") == "review" else "decision",
            str(given.get("incident_id") or dag_run.run_id),
            now=utc_now(),
        )
    for part in ("subject", "body"):
        context["ti"].xcom_push(key=part, value=texts[part])
    return REVIEW if texts["kind"] == "review" else DECIDE


class Form(HITLOperator):
    """A human's entry. What an answer leaves out is blank; what it says is checked by the next
    task, which refuses politely and asks again, where this one could only fail.
    """

    def execute(self, context: Context) -> Any:
        """Ask and wait; tried again, take the answer that was given meanwhile.

        Asking again would drop the answer of a task that was killed, as by a restart, just when
        it had come. So a retry leaves the waiting to Airflow's trigger, which reads it.
        """
        if context["ti"].try_number > 1:
            self.defer(
                trigger=HITLTrigger(
                    ti_id=context["ti"].id,
                    options=self.options,
                    params=self.serialized_params,
                    timeout_datetime=None,
                ),
                method_name="execute_complete",
            )
        return super().execute(context)

    def validate_params_input(self, params_input: Any) -> None:
        """Leave it to the next task."""


def form(task_id: str, options: list[str], fields: dict[str, Param], doc: str) -> Form:
    """A form whose text the task ``ask`` has made. It waits outside of any worker, for ever."""
    return Form(
        task_id=task_id,
        subject="{{ ti.xcom_pull(task_ids='ask', key='subject') }}",
        body="{{ ti.xcom_pull(task_ids='ask', key='body') }}",
        options=options,
        params=fields,
        max_active_tis_per_dag=None,
        doc_md=doc,
    )


def decision_form(task_id: str) -> Form:
    """What next for a paused site?"""
    fields = {
        "why": Param("", type="string", title="Why", description="It is recorded."),
        "until": Param(
            None,
            type=["null", "string"],
            format="date",
            title="Keep paused until",
            description="You are asked again then; without a date, in a week.",
        ),
        "normal_from": Param(
            None,
            type=["null", "string"],
            format="date-time",
            title="New normal from",
            description="Only for accepting: windows before it are forgotten. Empty: now.",
        ),
    }
    doc = "Waits until a person decides about the paused site."
    return form(task_id, [OFFERED[choice] for choice in CHOICES], fields, doc)


def review_form(task_id: str) -> Form:
    """Was the alarm right?"""

    def yes_or_no(title: str) -> Param:
        return Param("unknown", type="string", enum=["yes", "no", "unknown"], title=title)

    fields = {
        "early_enough": yes_or_no("Did the score move early enough?"),
        "reasons_right": yes_or_no("Did the reasons name the cause?"),
        "action_helped": yes_or_no("Did the action help?"),
        "onset": Param(
            None,
            type=["null", "string"],
            format="date-time",
            title="When did it really begin?",
        ),
        "note": Param("", type="string", title="Anything else"),
    }
    doc = "Waits until a person judges the alarm."
    return form(task_id, [REAL, FALSE_ALARM], fields, doc)


def said_in(answer: dict[str, Any], field: str) -> str:
    return str((answer.get("params_input") or {}).get(field) or "").strip()


def time_in(answer: dict[str, Any], field: str) -> datetime | None:
    text = said_in(answer, field)
    return parse_time(text, field) if text else None


def person_in(answer: dict[str, Any]) -> str:
    """Who answered, by the name that Airflow knows."""
    user = answer.get("responded_by_user") or {}
    return str(user.get("name") or user.get("id") or "unknown")


def carry_out(answer: dict[str, Any]) -> str:
    """Carry out a decision; a refused one skips the task, with why. Returns what became of it."""
    run_id = get_current_context()["dag_run"].run_id
    offered = {words: choice for choice, words in OFFERED.items()}
    choice = offered[answer["chosen_options"][0]]
    until, normal_from, objection = None, None, None
    try:
        until = time_in(answer, "until") if choice == "keep" else None
        normal_from = time_in(answer, "normal_from") if choice == "accept" else None
    except UsageError as problem:
        objection = str(problem)
    with told_once():
        given = human_steps.answer_step(
            Home.from_environment(),
            load_configuration(),
            run_id,
            choice,
            by=person_in(answer),
            why=said_in(answer, "why") or f"chose {OFFERED[choice].lower()} in Airflow",
            now=utc_now(),
            keep_until=until,
            baseline_from=normal_from,
            objection=objection,
        )
    log.info("%s: %s", given.by, given.outcome)
    if not given.applied:
        raise AirflowSkipException(f"Not carried out: {given.outcome}")
    return given.outcome


def file_review(answer: dict[str, Any]) -> str:
    """File a review; one that cannot be filed any more skips the task, with why."""
    home, run_id = Home.from_environment(), get_current_context()["dag_run"].run_id
    words = {"yes": True, "no": False}
    try:
        review = human_steps.review_step(
            home,
            load_configuration(),
            human_steps.reviewed_incident(home, run_id),
            by=person_in(answer),
            now=utc_now(),
            is_false_alarm=answer["chosen_options"][0] == FALSE_ALARM,
            was_early_enough=words.get(said_in(answer, "early_enough")),
            are_reasons_right=words.get(said_in(answer, "reasons_right")),
            did_action_help=words.get(said_in(answer, "action_helped")),
            onset_at=time_in(answer, "onset"),
            note=said_in(answer, "note"),
        )
    except UsageError as problem:
        raise AirflowSkipException(f"Not filed: {problem}") from problem
    return f"The review of {review.incident_id} by {review.reviewed_by} is filed"


def object_storage(url: str) -> tuple[Any, str]:
    """The fsspec file system of a URL that names an Airflow connection, and the path inside it.

    As in ``s3://crawler_logs@bucket/prefix``: the credentials are the connection's. Where no
    installed provider knows ``s3``, s3fs is opened with the ``aws`` connection's own fields.
    Raises ``ValueError`` or ``ImportError`` where the scheme or the connection is not known.
    """
    scheme, _, rest = url.partition("://")
    connection_id, _, path = rest.partition("@")
    try:
        if scheme in ("s3", "s3a") and not has_fs(scheme):
            return s3_file_system(Connection.get(connection_id)), path
        place = ObjectStoragePath(url)
        return place.fs, place.path
    except AirflowException as problem:
        raise ValueError(str(problem)) from None


def s3_file_system(connection: Connection) -> Any:
    """s3fs with the key, secret, token, region, endpoint or profile of an ``aws`` connection.

    Raises ``ValueError`` for one that takes on a role: only Airflow's Amazon provider does that.
    """
    import s3fs

    more = connection.extra_dejson
    if more.get("role_arn"):
        raise ValueError(
            f"the connection {connection.conn_id!r} has a role_arn: install "
            "apache-airflow-providers-amazon[s3fs], which takes on roles"
        )
    services = more.get("service_config") or {}
    endpoint = (services.get("s3") or {}).get("endpoint_url") or more.get("endpoint_url")
    region = more.get("region_name")
    return s3fs.S3FileSystem(
        key=connection.login or more.get("aws_access_key_id"),
        secret=connection.password or more.get("aws_secret_access_key"),
        token=more.get("aws_session_token"),
        profile=more.get("profile_name"),
        endpoint_url=endpoint,
        client_kwargs={"region_name": region} if region else {},
        skip_instance_cache=True,
    )


def log_lines(text: str) -> None:
    """One entry a line, as Airflow's log view shows entries, not line ends."""
    for line in text.splitlines():
        log.info("%s", line)
