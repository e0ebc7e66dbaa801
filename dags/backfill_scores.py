"""
### Windows and scores of any range, in one pass

Trigger it with *start* and *end* (ISO 8601, UTC unless they say otherwise): the windows that end
in the range are made again, items that were not validated yet are, and the scores of the range are
made again with every later score that they reach; then the database is published. It acts on
nothing and leaves the control file as it is. Running it again changes nothing.

It and *crawl_health* wait for each other up to 15 minutes; if one gives up, its retry goes on.
"""

from airflow.sdk import Param, dag, task

from target_health import airflow_bridge as bridge


@dag(
    schedule=None,
    catchup=False,
    max_active_runs=1,
    default_args=bridge.WRITING_TASK,
    doc_md=__doc__,
    params={
        "start": Param(
            type="string",
            format="date-time",
            title="Start",
            description="The windows that end after this time, e.g. 2026-01-01T00:00:00Z",
        ),
        "end": Param(
            type="string",
            format="date-time",
            title="End",
            description="and up to this time, e.g. 2026-02-01T00:00:00Z",
        ),
    },
    tags=["target-health"],
)
def backfill_scores():
    @task
    def backfill():
        """Windows, scores, and the later scores that they reach."""
        return bridge.backfill()

    backfill()


backfill_scores()
