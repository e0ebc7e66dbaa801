"""
### A known value rightly changed

Trigger it with the site and the page of a canary whose value is now another one for good reason, as
a price that was changed. What the page showed last becomes what is expected; what was wrong before
counts no more. Who, when, why, old and new are kept in `canary_acceptances`.

Where nothing is wrong, or the value could not be read, it says so and changes nothing.
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
        "site": Param(type="string", minLength=1, title="Site", description="e.g. shop.example"),
        "page": Param(type="string", minLength=1, title="Page", description="its id, e.g. kettle"),
        "check": Param(
            "", type="string", title="Check", description="only this one; empty: all that are wrong"
        ),
        "why": Param(type="string", minLength=1, title="Why", description="it is recorded"),
        "by": Param(
            "", type="string", title="Who", description="empty: the name you are logged in with"
        ),
    },
    tags=["target-health"],
)
def accept_canary():
    @task
    def accept():
        """Make what the page shows now the expected value."""
        return bridge.accept_canary()

    accept()


accept_canary()
