"""A simulated log's verdicts and windows counted by hand, in plain pandas from its lines alone.

It is fast enough for weeks of a fleet, unlike the oracle's windows, whose scores take it from
here. It takes history from the whole log, and a site's window length from its last day.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd

from tests.oracle import WINDOW_COLUMNS, landing_verdict

LENGTHS = (15, 30, 60, 120, 240, 480, 1440)
COUNTS = {
    "ok": "ok",
    "hard_block": "hard_blocks",
    "challenge": "challenges",
    "soft_block": "soft_blocks",
    "soft_404": "soft_404s",
    "paywalled": "paywalled",
    "unknown": "unknown",
    "server_error": "server_errors",
    "client_error": "client_errors",
    "not_found": "not_found",
    "redirect": "redirects",
}


def read_log(directory: Path) -> pd.DataFrame:
    """All lines under ``directory`` by time, with ``site``, ``landing`` and ``has_item``."""
    rows = duckdb.sql(f"""
        SELECT
            (line->>'ts')::TIMESTAMP AS ts, line->>'url' AS url, line->>'page_type' AS page_type,
            (line->>'status')::INTEGER AS status, line->>'error' AS error,
            (line->>'latency_ms')::DOUBLE AS latency_ms, (line->>'bytes')::DOUBLE AS bytes,
            (line->>'attempts')::INTEGER AS attempts, (line->>'credits')::DOUBLE AS credits,
            line->>'$.route.gateway' AS gateway, line->>'$.route.country' AS country,
            line->>'$.route.pool' AS pool, line->>'content_hash' AS content_hash,
            line->>'final_url' AS final_url, line->>'$.evidence[0]' AS mark,
            line->>'item' AS item, (line->'item') IS NOT NULL AS attempted,
            regexp_extract(line->>'url', '^https://(?:www\\.)?([^/]+)/', 1) AS site
        FROM read_json_objects('{directory}/**/*.jsonl*', format = 'newline_delimited') AS t(line)
        ORDER BY ts
    """).df()
    rows["has_item"] = rows["item"].notna()
    seen = rows[["status", "error", "mark", "has_item"]].astype(object)
    seen = seen.where(seen.notna(), None)
    kinds = seen.drop_duplicates()
    kinds = kinds.assign(landing=[_landing(*kind) for kind in kinds.itertuples(index=False)])
    rows["landing"] = seen.merge(kinds, how="left")["landing"].to_numpy()
    return rows


def _landing(status: int | None, error: str | None, mark: str | None, has_item: bool) -> str:
    return landing_verdict(
        {
            "status": status,
            "error": error,
            "evidence": [mark] if mark else None,
            "item": {"name": "something"} if has_item else None,
        }
    )


def final_verdicts(rows: pd.DataFrame) -> pd.Series:
    """With the two soft-block rules that need history, the same answer within an hour."""
    good = rows[(rows["landing"] == "ok") & (rows["status"] == 200)]
    normal = good.groupby(["site", "page_type"]).agg(
        median=("bytes", "median"), coverage=("has_item", "mean")
    )
    rows = rows.join(normal, on=["site", "page_type"]).assign(hour=rows["ts"].dt.floor("4h"))
    empty = (
        rows["landing"].isin(["ok", "soft_404", "paywalled"])
        & (rows["status"] == 200)
        & rows["attempted"]
        & ~rows["has_item"]
    )
    small = rows["bytes"] < 0.3 * rows["median"]
    same = pd.Series(False, index=rows.index)
    for answer in ("content_hash", "final_url"):
        urls = rows[empty].groupby(["site", "hour", answer])["url"].transform("nunique")
        same |= urls.reindex(rows.index, fill_value=0) >= 3
    return rows["landing"].mask(empty & (small | (same & (rows["coverage"] >= 0.9))), "soft_block")


def window_lengths(rows: pd.DataFrame, end: pd.Timestamp) -> dict[str, int]:
    """``auto`` of each site on the day that ends with ``end``."""
    day = (end - pd.Timedelta("1us")).floor("D")
    judged = rows[~rows["final"].isin(["unknown", "redirect"])]
    judged = judged[
        (judged["ts"] >= day - pd.Timedelta("14D")) & (judged["ts"] < day - pd.Timedelta("1D"))
    ]
    lengths = dict.fromkeys(rows["site"].unique(), 15)
    for site, times in judged.groupby("site")["ts"]:
        mean = {
            minutes: times.dt.floor(f"{max(minutes, 60)}min").value_counts().mean()
            * min(minutes, 60)
            / 60
            for minutes in LENGTHS
        }
        lengths[site] = next((m for m in LENGTHS if mean[m] >= 100), 1440)
    return lengths


def windows(rows: pd.DataFrame, end: pd.Timestamp) -> list[dict[str, Any]]:
    """Rows of ``site_windows`` up to ``end``, of rows with their ``final`` verdicts."""
    found: list[dict[str, Any]] = []
    for site, minutes in window_lengths(rows, end).items():
        fetches = rows[rows["site"] == site]
        start = fetches["ts"].dt.floor(f"{minutes}min")
        counts = pd.crosstab(start, fetches["final"]).reindex(columns=[*COUNTS], fill_value=0)
        counts = counts.rename(columns=COUNTS)
        counts["requests"] = fetches.groupby(start).size()
        counts["judged"] = counts["requests"] - counts["unknown"] - counts["redirects"]
        counts["p95_latency_ms"] = (
            fetches[fetches["final"] == "ok"].groupby(start)["latency_ms"].quantile(0.95)
        )
        for at, row in counts.iterrows():
            window_end = at + pd.Timedelta(minutes=minutes)
            if window_end <= end:
                p95 = row["p95_latency_ms"]
                found.append(
                    dict.fromkeys(WINDOW_COLUMNS)
                    | {name: int(row[name]) for name in counts if name != "p95_latency_ms"}
                    | {
                        "site": site,
                        "window_start": at.to_pydatetime(),
                        "window_end": window_end.to_pydatetime(),
                        "window_minutes": minutes,
                        # Bands do not depend on what a window cost or brought.
                        "attempts": int(row["requests"]),
                        "items": 0,
                        "p95_latency_ms": None if np.isnan(p95) else float(p95),
                    }
                )
    return found
