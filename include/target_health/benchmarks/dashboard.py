"""The dashboard over a large fleet: how long a page takes, what it adds to a server's memory."""

from __future__ import annotations

from target_health.benchmarks.dashboard_history import fill_dashboard
from target_health.benchmarks.dashboard_piece import ask_pages
from target_health.benchmarks.measuring import measure, settle
from target_health.benchmarks.results import Result, at_most
from target_health.benchmarks.workbench import END, Workbench

REPEATS = 20
FLEET_TARGET_MS, SITE_TARGET_MS, MEMORY_TARGET_MB = 300.0, 400.0, 300.0


def dashboard_pages(bench: Workbench) -> list[Result]:
    """The fleet's page, a site's page with its charts' data, and the memory that both add."""
    scale = bench.scale
    # Measured: 70 bytes a window, 21 windows a site and day, in the warehouse and its copy.
    bench.need(scale.dashboard_sites * scale.dashboard_days * 21 * 150)
    root = bench.directory / "dashboard"
    bench.progress(
        f"preparing {scale.dashboard_days} days of {scale.dashboard_sites:,} sites to look at"
    )
    made = measure(
        fill_dashboard,
        home=str(root),
        sites=scale.dashboard_sites,
        days=scale.dashboard_days,
        end=END.isoformat(),
    )
    settle(root)
    done = measure(ask_pages, home=str(root), repeats=REPEATS)
    bench.drop(root)
    added_mb = (done.peak_bytes - done.report["before_bytes"]) / 1e6
    bench.progress(
        f"pages over {made.report['windows']:,} windows: fleet {done.report['fleet_ms']:.0f} ms "
        f"(first {done.report['first_fleet_ms']:.0f}), site {done.report['site_ms']:.0f} ms "
        f"(first {done.report['first_site_ms']:.0f}), {added_mb:.0f} MB"
    )
    return [
        at_most("dashboard_fleet", done.report["fleet_ms"], "ms", target=FLEET_TARGET_MS),
        at_most("dashboard_site", done.report["site_ms"], "ms", target=SITE_TARGET_MS),
        at_most("dashboard_memory", added_mb, "MB", target=MEMORY_TARGET_MB),
    ]
