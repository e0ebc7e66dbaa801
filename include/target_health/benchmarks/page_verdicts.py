"""Pages and WARC records judged a second, each against its parser or reader alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from target_health.benchmarks.made_pages import write_archive
from target_health.benchmarks.measuring import Measured, interleaved, measure
from target_health.benchmarks.page_pieces import (
    judge_archive,
    judge_pages,
    made,
    parse_pages,
    read_archive,
)
from target_health.benchmarks.results import Result, at_rate
from target_health.benchmarks.workbench import Workbench
from target_health.errors import TargetHealthError

PAGES_TARGET = 600.0


def best_rates(
    bench: Workbench, ours: Callable[[], Measured], floor: Callable[[], Measured], count: int
) -> tuple[float, float]:
    """The best rate of each in interleaved runs; raises when a page was judged wrongly or lost."""
    rates = []
    for runs in interleaved(bench.scale.repeats, ours, floor):
        wrong: list[Measured] = [run for run in runs if run.report["good"] != count]
        if wrong:
            raise TargetHealthError(f"of {count} normal pages only {wrong[0].report} came through")
        rates.append(max(run.report["per_second"] for run in runs))
    return rates[0], rates[1]


def classify_pages(bench: Workbench) -> list[Result]:
    """Pages a second on one core, against parsing them with lxml."""
    count, size = bench.scale.pages, bench.scale.page_bytes
    bench.progress(f"judging {count:,} pages of {size // 1000} kB")
    rate, floor = best_rates(
        bench,
        lambda: measure(judge_pages, count=count, size_bytes=size),
        lambda: measure(parse_pages, count=count, size_bytes=size),
        count,
    )
    return [at_rate("classify_pages", rate, "pages/s", floor=floor, target=PAGES_TARGET)]


def warc_records(bench: Workbench) -> list[Result]:
    """Responses of a WARC a second, against reading it with warcio."""
    count = bench.scale.pages
    path: Path = bench.directory / "pages.warc.gz"
    bench.progress(f"preparing an archive of {count:,} responses")
    write_archive(path, made(count, bench.scale.page_bytes))
    bench.progress("judging the archive")
    rate, floor = best_rates(
        bench,
        lambda: measure(judge_archive, path=str(path)),
        lambda: measure(read_archive, path=str(path)),
        count,
    )
    bench.drop(path)
    return [at_rate("warc_records", rate, "records/s", floor=floor)]
