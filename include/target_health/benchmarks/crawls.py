"""What the Scrapy add-on costs a crawl: time beside the same crawl without it, and memory."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path
from statistics import median

from target_health.benchmarks.crawl_pieces import crawl_plain, crawl_watched
from target_health.benchmarks.measuring import Measured, Piece, interleaved, measure
from target_health.benchmarks.results import Result, Skipped, at_most, within
from target_health.benchmarks.workbench import Workbench
from target_health.errors import TargetHealthError

TIME_TARGET = 1.05
#: "Flat" leaves room for what any process gathers between its first third and its end.
GROWTH_TARGET = 1.1


def crawl_overhead(bench: Workbench) -> list[Result]:
    """Seconds of a crawl with the add-on against the same without; its memory, late over early."""
    if importlib.util.find_spec("scrapy") is None:
        raise Skipped("Scrapy is not installed: pip install scrapy -c requirements-dev.txt")
    pages, size = bench.scale.crawl_pages, bench.scale.page_bytes
    bench.progress(
        f"crawling {pages:,} local pages of {size // 1000} kB, with the add-on and without"
    )

    def crawled(piece: Piece) -> Measured:
        home: Path = bench.directory / "crawled"
        bench.drop(home)
        home.mkdir()
        try:
            return measure(piece, pages=pages, size_bytes=size, home=str(home))
        finally:
            shutil.rmtree(home, ignore_errors=True)

    watched, plain = interleaved(
        bench.scale.repeats, lambda: crawled(crawl_watched), lambda: crawled(crawl_plain)
    )
    wrong = [
        run.report for run in watched if not pages == run.report["pages"] == run.report["rows"]
    ]
    if wrong:
        raise TargetHealthError(f"a crawl of {pages} pages came to {wrong[0]}")
    seconds, floor = (median(run.report["seconds"] for run in runs) for runs in (watched, plain))
    growth = max(run.report["late_bytes"] / run.report["early_bytes"] for run in watched)
    return [
        within("crawl_overhead", seconds, floor=floor, target=TIME_TARGET),
        at_most("crawl_memory_growth", growth, "late/early", target=GROWTH_TARGET),
    ]
