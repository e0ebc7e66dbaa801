"""The floor of the hourly job: DuckDB alone, and nothing of ours."""

from __future__ import annotations

import os

import duckdb

from target_health.benchmarks.measuring import Report

COLUMNS = {
    "ts": "TIMESTAMP",
    "url": "VARCHAR",
    "page_type": "VARCHAR",
    "status": "SMALLINT",
    "error": "VARCHAR",
    "latency_ms": "DOUBLE",
    "bytes": "BIGINT",
    "attempts": "BIGINT",
    "redirects": "BIGINT",
    "credits": "DOUBLE",
    "route": 'STRUCT(gateway VARCHAR, country VARCHAR, pool VARCHAR, "session" VARCHAR, '
    "exit VARCHAR)",
    "final_url": "VARCHAR",
    "content_hash": "VARCHAR",
    "title": "VARCHAR",
    "text_length": "BIGINT",
    "evidence": "VARCHAR[]",
    "item": "JSON",
}

_WINDOWS = """
SELECT
    site,
    time_bucket(INTERVAL 15 MINUTE, ts) AS window_start,
    count(*) AS requests,
    quantile_cont(latency_ms, 0.95) AS p95_latency_ms
FROM read_parquet($path)
GROUP BY ALL
"""


def duckdb_alone(log: str, out: str) -> Report:
    """The least that landing and counting an hour costs: the log as zstd Parquet, and one GROUP BY
    site and 15-minute window with an exact p95.
    """
    connection = duckdb.connect()
    declared = ", ".join(f"'{name}': '{kind}'" for name, kind in COLUMNS.items())
    connection.execute(
        "COPY (SELECT *, split_part(url, '/', 3) AS site FROM read_json("
        f"'{log}', format = 'newline_delimited', columns = {{{declared}}})) "
        f"TO '{out}' (FORMAT parquet, COMPRESSION zstd)"
    )
    windows = connection.execute(_WINDOWS, {"path": out}).fetchall()
    connection.close()
    os.unlink(out)
    return {"rows": sum(row[2] for row in windows), "windows": len(windows)}
