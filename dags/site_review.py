"""
### A person decides about a paused site, and judges an alarm afterwards

One run a question, started by *crawl_health*; its run id is the incident's. **ask** gathers the
evidence, then the run waits, in no worker's and no triggerer's way and over any restart, until
somebody answers under *Required Actions*:

- **decide**: a site refused and is paused. Resume slower, keep paused until a date, switch to an
  official API or feed, stop, or accept as the new normal. **carry_out** changes state and control
  file at once.
- **review**: an incident closed. Was the alarm right, early enough, did the reasons name the cause?
  **file_review** keeps it.

An answer that comes when things have changed (the site was resumed, a newer incident is open) is
refused politely: *carry_out* is skipped, its log says why, nothing is changed. The same is said on
a command line by `target-health decide SITE …` and `target-health review file INCIDENT …`.

#### When a task fails

| task | what it may say | what to do |
|---|---|---|
| any | *file: key …* | a configuration file is wrong as the line says; correct it, clear the task |
| any | *another run has been writing …* | a backfill or a command holds it; clear the task |
| ask | *no such incident* | the run was started by hand without one: delete it |
"""

from airflow.sdk import dag, task

from target_health import airflow_bridge as bridge


@dag(
    schedule=None,
    catchup=False,
    max_active_runs=bridge.MOST_QUESTIONS,
    default_args=bridge.WRITING_TASK,
    doc_md=__doc__,
    tags=["target-health"],
)
def site_review():
    @task.branch
    def ask():
        """Gather the evidence, and choose what is asked."""
        return bridge.ask()

    @task
    def carry_out(answer):
        """Change state and control file, or refuse the answer politely."""
        return bridge.carry_out(answer)

    @task
    def file_review(answer):
        """Keep what was said of the alarm."""
        return bridge.file_review(answer)

    asked = ask()
    decision = bridge.decision_form(bridge.DECIDE)
    judgement = bridge.review_form(bridge.REVIEW)
    asked >> decision
    asked >> judgement
    carry_out(decision.output)
    file_review(judgement.output)


site_review()
