"""``simulate``: realistic crawl logs with known troubles, and the truth beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from target_health.commands.output import console, plain, print_json, progress_shown
from target_health.commands.runs import Json
from target_health.times import floor_hour, parse_time, utc_now


def simulate(
    sites: Annotated[int, typer.Option("--sites", min=1, help="How many sites.")],
    days: Annotated[float, typer.Option("--days", min=0.04, help="How many days of logs.")],
    out: Annotated[Path, typer.Option("--out", help="Directory to write; it can be an inbox.")],
    seed: Annotated[int, typer.Option("--seed", help="Same seed, same logs.")] = 0,
    end: Annotated[
        str | None,
        typer.Option(
            "--end",
            help="Where the logs end, ISO 8601. Default: the present hour.",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Simulate crawl logs with labelled troubles; the truth stands in truth.json."""
    from target_health.simulator import simulate as simulate_logs

    until = parse_time(end, "--end") if end else floor_hour(utc_now())
    with progress_shown() as progress:
        summary = simulate_logs(
            sites,
            days,
            out,
            seed=seed,
            end=until,
            progress=lambda done, of: progress(f"simulating: {100 * done // of} %"),
        )
    if json:
        print_json(plain(summary))
        return
    console().print(
        f"Wrote {sum(summary.files.values()):,} fetches in {len(summary.files):,} files under "
        f"{out}; the truth is in {out / 'truth.json'}.",
        markup=False,
        soft_wrap=True,
    )
