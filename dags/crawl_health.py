"""
### Is every site still behaving towards our crawler as it normally does?

Hourly at minute 5, for the last full hour: **land** what is new in the inbox, make the **windows**,
their **scores**, then **branch** into every kind of action that some site needs, **publish** the
database and the control file, and **announce** it by the asset `target_health`. Then **ask_people**
starts a run of *site_review* for each site that was paused, and **page** tells them.

A run takes over from where the last one stopped, so hours missed while the scheduler was down are
not skipped. Triggered by hand, it takes the last complete hour. A backfill, or a run over the past,
goes from *branch* straight to *publish*: it acts on nothing, leaves the control file as it is, and
does not update the asset. To score a long range again, *backfill_scores* is faster.

#### When a task fails
Failed tasks retry by themselves; each may be cleared and run again at any time.

| task | what it may say | what to do |
|---|---|---|
| any | *file: key …* | a configuration file is wrong as the line says; correct it, clear the task |
| any | *another run has been writing …* | a backfill or a command holds the warehouse; let it end, clear the task |
| land | *no space …* | free space; nothing was half landed |
| land | many lines quarantined | look into `quarantine/`; correct `sources.yaml`; land the file again |
| branch | *a run up to … has acted already* | a later run has acted; leave this one failed |
| page | *Not delivered: …* | the address or its service is down; the page is tried again each hour |
| page | *NOBODY IS PAGED* | set `TARGET_HEALTH_PAGE_URLS` or the connection `target_health_pages` |
| publish | *no space for the published copy* | free space; readers still have the last copy |

Which site and why: the table in *publish*'s log, or `target-health status SITE --why`.
"""  # noqa: E501

from airflow.sdk import CronDataIntervalTimetable, dag, task

from target_health import airflow_bridge as bridge


@dag(
    schedule=CronDataIntervalTimetable("5 * * * *", timezone="UTC"),
    catchup=False,
    max_active_runs=1,
    default_args=bridge.WRITING_TASK,
    doc_md=__doc__,
    tags=["target-health"],
)
def crawl_health():
    @task
    def land():
        """Land what is new in the inbox."""
        return bridge.land()

    @task
    def windows():
        """Make the windows that ended, and those that late rows touched."""
        return bridge.windows()

    @task
    def scores():
        """Compare each window with the site's own normal."""
        return bridge.scores()

    @task.branch
    def branch():
        """Plan what the sites need and follow every kind of it."""
        return bridge.branch()

    @task
    def hold_steady():
        """Nobody gets worse: restore slowed sites that stayed healthy, one step."""
        return bridge.act("hold_steady")

    @task
    def slow_down():
        """Slow degraded sites down, one step."""
        return bridge.act("slow_down")

    @task
    def pause_sites():
        """Pause resisting sites; a human resumes them."""
        return bridge.act("pause_sites")

    # An action that is not needed is skipped; one that failed leaves the last publication as it is.
    @task(trigger_rule="none_failed")
    def publish():
        """Publish the database, and the control file of a run that may act."""
        return bridge.publish()

    @task
    def questions():
        """Which paused sites and closed incidents a person is to be asked about."""
        return bridge.questions()

    @task
    def page():
        """Page people about what calls for them, and try again what did not arrive."""
        return bridge.page()

    @task(outlets=[bridge.TARGET_HEALTH])
    def announce(as_of):
        """Tell DAGs that are scheduled on the asset."""
        bridge.announce(as_of)

    choice, published = branch(), publish()
    # Extraction checks take their place between windows and scores.
    land() >> windows() >> scores() >> choice
    choice >> [hold_steady(), slow_down(), pause_sites()] >> published
    choice >> published
    announce(published)
    # Whatever becomes of the questions, people are paged.
    due = questions()
    published >> [due, page()]
    bridge.ask_people("ask_people", due)


crawl_health()
