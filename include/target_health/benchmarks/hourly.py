"""The hourly job against DuckDB alone, and how it grows with events and with history."""

from __future__ import annotations

from collections.abc import Callable

from target_health.benchmarks.duckdb_floor import duckdb_alone
from target_health.benchmarks.job_piece import run_hour, run_hour_without
from target_health.benchmarks.measuring import (
    Measured,
    Report,
    highest_peak,
    interleaved,
    measure,
    typical,
)
from target_health.benchmarks.pandas_formula import pandas_alone
from target_health.benchmarks.results import Result, at_most, compared, within
from target_health.benchmarks.workbench import END, Workbench
from target_health.errors import TargetHealthError
from target_health.paths import Home
from target_health.times import HOUR
from target_health.warehouse.published import open_published
from target_health.warehouse.rows import rows_of

JOB_TARGET, MEMORY_TARGET_GB = 2.5, 2.0
ROUTES_TARGET = 1.25
ROUTE_MODELS = ["route_windows", "route_diagnoses"]
EVENTS_TARGET, HISTORY_TARGET = 4.4, 1.3
GB = 1e9


def measured_job(bench: Workbench, fetches: int, days: int, *, routes: bool = True) -> Measured:
    """One run of the job in a fresh home; raises when it did not do all of its work.

    Not ``routes``: without what is measured and diagnosed of routes, in the history behind it too.
    """
    log = bench.hour_log(fetches)
    root = bench.home_with(log, history=bench.history(days, routes=routes))
    if routes:
        done = measure(run_hour, home=str(root), end=END.isoformat())
    else:
        done = measure(run_hour_without, home=str(root), end=END.isoformat(), left_out=ROUTE_MODELS)
    check(done.report, Home(root), fetches)
    bench.progress(
        f"the job{'' if routes else ' without routes'} on {fetches:,} fetches and {days} days: "
        f"{done.seconds:.1f} s ({done.processor_seconds:.1f} s of processors, "
        f"{done.peak_bytes / GB:.2f} GB)"
    )
    bench.drop(root)
    return done


def check(report: Report, home: Home, fetches: int) -> None:
    """A job that left out some of its work is not measured."""
    with open_published(home) as connection:
        (found,) = rows_of(
            connection,
            "SELECT count(*) AS windows, count(score) AS scores FROM site_scores"
            " WHERE window_end > ? AND window_end <= ?",
            [END - HOUR, END],
        )
    if report["rows"] != fetches or not report["acted"] or not found["scores"]:
        raise TargetHealthError(f"the job did not do its work: {report}, {found}")


def measured_floor(bench: Workbench, fetches: int) -> Measured:
    """One run of DuckDB alone over the same file."""
    out = bench.directory / "floor.parquet"
    done = measure(duckdb_alone, log=str(bench.hour_log(fetches)), out=str(out))
    if done.report["rows"] != fetches:
        raise TargetHealthError(f"the floor read {done.report['rows']} of {fetches} fetches")
    bench.progress(
        f"DuckDB alone on {fetches:,} fetches: {done.seconds:.1f} s "
        f"({done.processor_seconds:.1f} s of processors)"
    )
    return done


def of_job(
    bench: Workbench, fetches: int, days: int, *, routes: bool = True
) -> Callable[[], Measured]:
    return lambda: measured_job(bench, fetches, days, routes=routes)


def of_floor(bench: Workbench, fetches: int) -> Callable[[], Measured]:
    return lambda: measured_floor(bench, fetches)


def hourly_job(bench: Workbench) -> list[Result]:
    """Land, windows, scores, decisions, publish of one hour, with the models of routes and without.

    Each way behind a history of its own kind; and the memory that the whole job takes.
    """
    scale = bench.scale
    jobs, wholes, floors = interleaved(
        scale.repeats,
        of_job(bench, scale.fetches, scale.history_days, routes=False),
        of_job(bench, scale.fetches, scale.history_days),
        of_floor(bench, scale.fetches),
    )
    bench.drop(bench.history(scale.history_days, routes=False))
    job, whole, floor = (typical(runs).seconds for runs in (jobs, wholes, floors))
    return [
        within("hourly_job", job, floor=floor, target=JOB_TARGET),
        within("route_models", whole, floor=job, target=ROUTES_TARGET),
        within("whole_hourly_job", whole, floor=floor, target=JOB_TARGET * ROUTES_TARGET),
        at_most("hourly_job_memory", highest_peak(wholes) / GB, "GB", target=MEMORY_TARGET_GB),
    ]


def pandas_formula(bench: Workbench) -> list[Result]:
    """The score's formula over the same rows as most people would first write it."""
    scale = bench.scale
    log, history = bench.hour_log(scale.fetches), bench.history(scale.history_days)
    floor = typical([measured_floor(bench, scale.fetches) for _ in range(scale.repeats)])
    bench.progress("the formula in pandas")
    done = measure(pandas_alone, log=str(log), history=str(history), start=(END - HOUR).isoformat())
    return [compared("pandas_formula", done.seconds, floor=floor.seconds)]


def growth_events(bench: Workbench) -> list[Result]:
    """The job on a few times the events, against the job itself."""
    scale = bench.scale
    more = scale.more_events * scale.fetches
    larger, usual = interleaved(
        scale.repeats,
        of_job(bench, more, scale.history_days),
        of_job(bench, scale.fetches, scale.history_days),
    )
    bench.drop(bench.hour_log(more))
    seconds, floor = typical(larger).seconds, typical(usual).seconds
    return [within("growth_events", seconds, floor=floor, target=EVENTS_TARGET)]


def growth_history(bench: Workbench) -> list[Result]:
    """The job behind several times the history, against the job itself."""
    scale = bench.scale
    more = scale.more_history * scale.history_days
    longer, usual = interleaved(
        scale.repeats,
        of_job(bench, scale.fetches, more),
        of_job(bench, scale.fetches, scale.history_days),
    )
    bench.drop(bench.history(more))
    seconds, floor = typical(longer).seconds, typical(usual).seconds
    return [within("growth_history", seconds, floor=floor, target=HISTORY_TARGET)]
