"""``try LOG…``: what a log says, without Airflow, configuration or anything kept."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from target_health.commands.output import console, print_json, progress_shown
from target_health.landing import read_log
from target_health.times import stamp, utc_now
from target_health.warehouse.rows import rows_of

MIX = """
SELECT
    site,
    count(*) AS fetches,
    count(*) FILTER (verdict NOT IN ('unknown', 'redirect')) AS judged,
    count(*) FILTER (verdict = 'ok') AS ok,
    count(*) FILTER (verdict = 'hard_block') AS hard_block,
    count(*) FILTER (verdict = 'challenge') AS challenge,
    count(*) FILTER (verdict = 'soft_block') AS soft_block,
    count(*) FILTER (verdict = 'soft_404') AS soft_404,
    count(*) FILTER (verdict = 'paywalled') AS paywalled,
    count(*) FILTER (verdict = 'not_found') AS not_found,
    count(*) FILTER (verdict = 'client_error') AS client_error,
    count(*) FILTER (verdict = 'server_error') AS server_error,
    count(*) FILTER (verdict = 'redirect') AS redirect,
    count(*) FILTER (verdict = 'unknown') AS unknown,
    quantile_cont(latency_ms, 0.95) FILTER (verdict = 'ok') AS p95_latency_ms
FROM crawl_log
GROUP BY site
ORDER BY fetches DESC, site
"""
# A quarter of an hour of one site is worth a look when it denies, loses or slows down much more
# than the rest of the same log does; the shares are over fetches as the scores' are.
SUSPICIOUS = """
WITH quarters AS (
    SELECT
        site,
        time_bucket(INTERVAL 15 MINUTE, ts, TIMESTAMP '2000-01-01') AS window_start,
        count(*) AS fetches,
        count(*) FILTER (verdict NOT IN ('unknown', 'redirect')) AS judged,
        count(*) FILTER (verdict IN ('hard_block', 'challenge', 'soft_block')) AS denied,
        count(*) FILTER (verdict IN ('unknown', 'server_error')) AS failed,
        quantile_cont(latency_ms, 0.95) FILTER (verdict = 'ok') AS p95_latency_ms
    FROM crawl_log
    GROUP BY ALL
),

usual AS (
    SELECT
        site,
        median(denied / judged) FILTER (judged > 0) AS denied_share,
        median(failed / fetches) AS failed_share,
        median(p95_latency_ms) AS p95_latency_ms
    FROM quarters
    GROUP BY site
)

SELECT
    quarters.site,
    quarters.window_start,
    quarters.fetches,
    quarters.denied / nullif(quarters.judged, 0) AS denied_share,
    usual.denied_share AS usual_denied_share,
    quarters.failed / quarters.fetches AS failed_share,
    quarters.p95_latency_ms,
    usual.p95_latency_ms AS usual_p95_latency_ms
FROM quarters
INNER JOIN usual ON quarters.site = usual.site
WHERE
    quarters.fetches >= 10
    AND (
        quarters.denied / nullif(quarters.judged, 0) >= coalesce(usual.denied_share, 0) + 0.05
        OR quarters.denied / nullif(quarters.judged, 0) >= 0.2
        OR quarters.failed / quarters.fetches >= coalesce(usual.failed_share, 0) + 0.2
        OR quarters.p95_latency_ms >= 3 * greatest(usual.p95_latency_ms, 1)
    )
ORDER BY coalesce(denied_share, 0) + coalesce(failed_share, 0) DESC, quarters.fetches DESC
LIMIT 20
"""
EXAMPLES = """
SELECT site, verdict, count(*) OVER (PARTITION BY site, verdict) AS fetches, ts, status, error,
    evidence, url
FROM crawl_log
WHERE verdict NOT IN ('ok', 'redirect')
QUALIFY row_number() OVER (PARTITION BY site, verdict ORDER BY ts DESC) = 1
ORDER BY list_position(
    ['challenge', 'hard_block', 'soft_block', 'server_error', 'unknown', 'soft_404', 'paywalled',
     'client_error', 'not_found'], verdict
), fetches DESC, site
LIMIT 20
"""
SHOWN_SITES = 40


def try_log(
    logs: Annotated[list[Path], typer.Argument(metavar="LOG…", show_default=False)],
    json: Annotated[bool, typer.Option("--json", help="Print all of it as JSON.")] = False,
) -> None:
    """Read crawl logs and print what the sites served; nothing is configured or kept."""
    with (
        progress_shown() as progress,
        read_log(logs, now=utc_now(), progress=progress) as (
            connection,
            report,
        ),
    ):
        mix = rows_of(connection, MIX)
        windows = rows_of(connection, SUSPICIOUS)
        examples = rows_of(connection, EXAMPLES)
    if json:
        print_json(
            {
                "landing": report.as_json(),
                "sites": mix,
                "suspicious_windows": windows,
                "examples": examples,
            }
        )
        return
    shown = console()
    for line in report.lines():
        shown.print(line, markup=False, soft_wrap=True)
    if not mix:
        return
    shown.print(mix_table(mix))
    if len(mix) > SHOWN_SITES:
        shown.print(f"… and {len(mix) - SHOWN_SITES} sites with fewer fetches; --json has all.")
    if windows:
        shown.print(window_table(windows))
    else:
        shown.print("No quarter of an hour stands out from the rest of its site's log.")
    if examples:
        shown.print("\nExamples:")
    for row in examples:
        answer = row["status"] if row["status"] is not None else row["error"] or "no answer"
        shown.print(
            f"  {row['verdict']} x {row['fetches']}  {answer}  {stamp(row['ts'])}  {row['url']}",
            markup=False,
            soft_wrap=True,
        )


def mix_table(rows: list[dict[str, Any]]) -> Table:
    """The verdicts of each site; columns that hold nothing are left out."""
    counts = [name for name in rows[0] if name not in ("site", "p95_latency_ms")]
    columns = [name for name in counts if name == "fetches" or any(row[name] for row in rows)]
    table = Table(title="What was served, by site")
    table.add_column("site")
    for name in [*columns, "p95 ms"]:
        table.add_column(name, justify="right")
    for row in rows[:SHOWN_SITES]:
        p95 = row["p95_latency_ms"]
        table.add_row(
            row["site"], *(str(row[name]) for name in columns), "-" if p95 is None else f"{p95:.0f}"
        )
    return table


def window_table(rows: list[dict[str, Any]]) -> Table:
    table = Table(title="Suspicious windows (15 minutes, against the site's own median here)")
    table.add_column("site")
    table.add_column("from (UTC)")
    for name in ("fetches", "denied", "usually", "no page", "p95 ms", "usually"):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(
            row["site"],
            stamp(row["window_start"]),
            str(row["fetches"]),
            percent(row["denied_share"]),
            percent(row["usual_denied_share"]),
            percent(row["failed_share"]),
            *(
                "-" if row[name] is None else f"{row[name]:.0f}"
                for name in ("p95_latency_ms", "usual_p95_latency_ms")
            ),
        )
    return table


def percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f} %"
