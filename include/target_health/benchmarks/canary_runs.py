"""A run of canaries of which some hang: its time against its deadline, and its memory."""

from __future__ import annotations

from target_health.benchmarks.canary_piece import fetch_round, record_round
from target_health.benchmarks.canary_sites import hangs, local_sites, write_canaries
from target_health.benchmarks.measuring import highest_peak, measure
from target_health.benchmarks.results import Result, at_most
from target_health.benchmarks.workbench import Workbench
from target_health.errors import TargetHealthError

PAGES_A_SITE = 5
MEMORY_TARGET_MB = 300
MB = 1e6


def canary_run(bench: Workbench) -> list[Result]:
    """A round over local sites, 5 % of whose pages hang, with the shipped limits.

    Raises when a page that does not hang is without its result.
    """
    sites, limits = bench.scale.canary_sites, dict(bench.scale.canary_limits)
    deadline_s = limits.get("deadline_s", 480)
    config, home = bench.directory / "canary-config", bench.directory / "canary-home"
    every = sites * PAGES_A_SITE
    hanging = sum(
        hangs(site, page, PAGES_A_SITE) for site in range(sites) for page in range(PAGES_A_SITE)
    )
    bench.progress(f"{every} canaries of {sites} local sites, {hanging} of them hanging")
    with local_sites(sites, PAGES_A_SITE) as place:
        write_canaries(place, config, sites, PAGES_A_SITE, limits)
        fetched = measure(fetch_round, home=str(home), config=str(config))
    recorded = measure(record_round, home=str(home), config=str(config))
    outcomes = recorded.report["outcomes"]
    if outcomes != {"pass": every - hanging, "unknown": hanging}:
        raise TargetHealthError(f"of {every} canaries only {outcomes} came in")
    memory = highest_peak([fetched, recorded])
    bench.drop(config)
    bench.drop(home)
    return [
        at_most("canary_run", fetched.seconds, "s", target=deadline_s),
        at_most("canary_run_memory", memory / MB, "MB", target=MEMORY_TARGET_MB),
    ]
