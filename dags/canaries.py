"""
### Do pages whose values are known still show them?

Every 15 minutes: **fetch** the canaries of every site that is not stopped, paused ones too, through
the routes that production uses; **record** what each check found, judge the sites, and publish.
Without canaries in `canaries.yaml` both are skipped.

*fetch* takes the warehouse's lock at no time, and ends by its deadline whatever sites do: what did
not come by then is `unknown`, which never counts as wrong.

#### When a task fails
Failed tasks retry by themselves; each may be cleared and run again at any time.

| task | what it may say | what to do |
|---|---|---|
| any | *canaries.yaml: …*, *routes.yaml: …* | the file is wrong as the line says; correct it, clear it |
| fetch | *the environment variable … is not set* | set it where tasks run, or correct `routes.yaml` |
| fetch | *Airflow knows no connection …* | add it under Admin, Connections |
| record | *the round's fetches are not there* | clear *fetch* of the same run |
| record | *another run has been writing …* | let it end, clear the task |

What they say: the table in *record*'s log, `target-health canary list`, `target-health status SITE`.
"""  # noqa: E501

from airflow.sdk import CronTriggerTimetable, dag, task

from target_health import airflow_bridge as bridge


@dag(
    schedule=CronTriggerTimetable("*/15 * * * *", timezone="UTC"),
    catchup=False,
    max_active_runs=1,
    default_args=bridge.WRITING_TASK,
    doc_md=__doc__,
    tags=["target-health"],
)
def canaries():
    @task(**bridge.FETCHING_TASK)
    def fetch():
        """Fetch and check every canary."""
        return bridge.fetch_canaries()

    @task
    def record():
        """Record the results, judge the sites, publish."""
        return bridge.record_canaries()

    fetch() >> record()


canaries()
