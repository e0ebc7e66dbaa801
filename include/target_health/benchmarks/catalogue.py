"""Every benchmark by name, and running some of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from target_health.benchmarks.airflow_run import dag_overhead
from target_health.benchmarks.canary_runs import canary_run
from target_health.benchmarks.crawls import crawl_overhead
from target_health.benchmarks.dashboard import dashboard_pages
from target_health.benchmarks.extraction import extraction
from target_health.benchmarks.hourly import (
    growth_events,
    growth_history,
    hourly_job,
    pandas_formula,
)
from target_health.benchmarks.landings import gzip_landing, landing_memory
from target_health.benchmarks.page_verdicts import classify_pages, warc_records
from target_health.benchmarks.results import Result, Skipped, unmeasured
from target_health.benchmarks.workbench import Progress, Scale, Workbench, open_workbench
from target_health.errors import TargetHealthError, UsageError
from target_health.paths import Home

Benchmark = Callable[[Workbench], list[Result]]

#: What measures each figure; one benchmark may give several. The quick ones come first.
BENCHMARKS: dict[str, Benchmark] = {
    "classify_pages": classify_pages,
    "warc_records": warc_records,
    "extraction": extraction,
    "extraction_seconds": extraction,
    "extraction_memory": extraction,
    "crawl_overhead": crawl_overhead,
    "crawl_memory_growth": crawl_overhead,
    "canary_run": canary_run,
    "canary_run_memory": canary_run,
    "dag_overhead": dag_overhead,
    "hourly_job": hourly_job,
    "route_models": hourly_job,
    "whole_hourly_job": hourly_job,
    "hourly_job_memory": hourly_job,
    "pandas_formula": pandas_formula,
    "gzip_landing": gzip_landing,
    "landing_memory": landing_memory,
    "dashboard_fleet": dashboard_pages,
    "dashboard_site": dashboard_pages,
    "dashboard_memory": dashboard_pages,
    "growth_history": growth_history,
    "growth_events": growth_events,
}
NAMES = tuple(BENCHMARKS)


def wanted(names: Sequence[str]) -> list[Benchmark]:
    """The benchmarks that give these figures, each once; without names, all."""
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        raise UsageError(f"no benchmark {unknown[0]}; there are {', '.join(NAMES)}")
    return list(dict.fromkeys(BENCHMARKS[name] for name in BENCHMARKS if name in (names or NAMES)))


def run_benchmarks(
    home: Home, names: Sequence[str] = (), *, scale: Scale | None = None, progress: Progress
) -> Iterator[Result]:
    """Measure; a benchmark that fails or cannot run costs nothing but its own figures.

    Yields figures as they come. Works under ``bench`` of the home and leaves nothing there.
    Raises ``UsageError`` for an unknown name.
    """
    benchmarks = wanted(names)
    with open_workbench(home, scale or Scale(), progress) as bench:
        for benchmark in benchmarks:
            own = [name for name, measures in BENCHMARKS.items() if measures is benchmark]
            try:
                yield from benchmark(bench)
            except Skipped as reason:
                progress(f"{own[0]} is skipped: {reason}")
                yield from (unmeasured(name, failed=False) for name in own)
            except TargetHealthError as problem:
                progress(f"{own[0]} failed: {problem}")
                yield from (unmeasured(name, failed=True) for name in own)
