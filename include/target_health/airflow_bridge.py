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

from airflow.sdk import Asset, Connection, Context, ObjectStoragePath, get_current_context
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException
from airflow.sdk.io import has_fs

from target_health import job
from target_health.config import load_configuration
from target_health.dashboard.access import Access, Visitor
from target_health.errors import UsageError
from target_health.fleet_table import action_table, as_plain_text, fleet_table
from target_health.modelling.ranges import Range
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


def dashboard_access() -> Access:
    """Airflow's own login and rights for the dashboard.

    Seeing takes the right to see Airflow's website, changing a site's pace the right to edit the
    DAG ``crawl_health``, which changes it too.
    """
    from airflow.api_fastapi.app import get_auth_manager
    from airflow.api_fastapi.auth.managers.models.resource_details import AccessView, DagDetails
    from airflow.api_fastapi.core_api.security import get_user, requires_access_view
    from fastapi import Depends

    def visitor(user: Any = Depends(get_user)) -> Visitor:
        may_change = get_auth_manager().is_authorized_dag(
            method="PUT", details=DagDetails(id="crawl_health"), user=user
        )
        return Visitor(user.get_name(), may_change)

    def seeing(
        known: Visitor = Depends(visitor),
        _: None = Depends(requires_access_view(AccessView.WEBSITE)),
    ) -> Visitor:
        return known

    return Access(seeing, lambda place: get_auth_manager().get_url_login(next_url=place))
