"""
### What is done once a day

**digest** sends what is worth a look and no page: open incidents, sites that wait for an answer,
slowed sites without an honest score; on Mondays also the week's worst movers, what observe mode
would have paused, and the rules in force. Each goes out once, however often the task runs.
"""

from airflow.sdk import CronDataIntervalTimetable, dag, task

from target_health import airflow_bridge as bridge


@dag(
    schedule=CronDataIntervalTimetable("20 6 * * *", timezone="UTC"),
    catchup=False,
    max_active_runs=1,
    default_args=bridge.WRITING_TASK,
    doc_md=__doc__,
    tags=["target-health"],
)
def upkeep():
    @task
    def digest():
        """Send the day's digest, and on Mondays the week's."""
        return bridge.digest()

    digest()


upkeep()
