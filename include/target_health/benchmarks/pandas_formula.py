"""The formula of the score as most people would first write it: plain pandas."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd

from target_health.benchmarks.measuring import Report
from target_health.config import load_configuration
from target_health.config.scoring import Scoring
from target_health.paths import SHIPPED_CONFIG, Home


def pandas_alone(log: str, history: str, start: str) -> Report:
    """The formula of the score (not flags, bands, soft-block rules from history) in plain pandas.

    Reads the log's lines and the history's windows; reports ``windows`` and ``scores``, a list of
    site, window start and score.
    """
    scoring = load_configuration(SHIPPED_CONFIG).scoring
    past = read_history(Path(history))
    chunks = pd.read_json(log, lines=True, chunksize=100_000)
    fetches = pd.concat([pick(chunk) for chunk in chunks])
    begin = datetime.fromisoformat(start)
    lengths = past.drop_duplicates("site").set_index("site")["window_minutes"]
    windows = pandas_windows(fetches, lengths)
    windows = windows[windows["window_start"] >= begin]
    scored = pd.concat(
        [
            pandas_scores(windows[windows["window_start"] == moment], past, moment, scoring)
            for moment in sorted(set(windows["window_start"].dt.to_pydatetime()))
        ]
    )
    scores = scored[["site", "window_start", "score"]].dropna()
    return {
        "windows": len(windows),
        "scores": [
            (site, moment.isoformat(), score)
            for site, moment, score in scores.itertuples(index=False)
        ],
    }


def read_history(home: Path) -> pd.DataFrame:
    """The windows of a prepared home."""
    with duckdb.connect(str(Home(home).published), read_only=True) as connection:
        return connection.execute("SELECT * FROM site_windows").df()


def pick(chunk: pd.DataFrame) -> pd.DataFrame:
    """What the formula needs of the fetches: site, time, latency and one flag a verdict."""
    status = chunk["status"]
    error = chunk["error"] if "error" in chunk else pd.Series(None, chunk.index, dtype=object)
    marks = chunk["evidence"] if "evidence" in chunk else pd.Series(None, chunk.index, dtype=object)
    evidence = marks.map(first_mark)
    denied = status.isin([403, 429, 451, 999]) | (status.isna() & (error == "connection_reset"))
    challenge = evidence == "challenge"
    redirect = status.between(300, 399) & (status != 304)
    served = status.between(200, 299) | (status == 304)
    return pd.DataFrame(
        {
            "site": chunk["url"].str.extract(r"^https?://(?:www\.)?([^/:]+)", expand=False),
            "ts": pd.to_datetime(chunk["ts"]).dt.tz_localize(None),
            "hard_block": denied & ~challenge,
            "challenge": challenge,
            "soft_block": served & (evidence == "soft_block"),
            "ok": served & (evidence == ""),
            "judged": ~(redirect | (status.isna() & ~denied & ~challenge)),
            "latency_ms": chunk["latency_ms"],
        }
    )


def first_mark(words: object) -> str:
    """The verdict that a fetch's evidence names first; pandas has NaN where there is none."""
    return str(words[0]).partition(":")[0] if isinstance(words, list) and words else ""


def pandas_windows(fetches: pd.DataFrame, lengths: pd.Series) -> pd.DataFrame:
    """Counts and p95 by site and window."""
    minutes = fetches["site"].map(lengths).fillna(15).astype(np.int64)
    epoch_us = fetches["ts"].astype("datetime64[us]").astype(np.int64)
    start_us = epoch_us - epoch_us % (minutes * 60_000_000)
    keys = [fetches["site"], pd.to_datetime(start_us, unit="us").rename("window_start")]
    flags = ["judged", "ok", "hard_block", "challenge", "soft_block"]
    windows = fetches.groupby(keys)[flags].sum()
    latency = fetches["latency_ms"].where(fetches["ok"]).groupby(keys).quantile(0.95)
    return windows.assign(p95_latency_ms=latency).reset_index()


def pandas_scores(
    windows: pd.DataFrame, past: pd.DataFrame, moment: datetime, scoring: Scoring
) -> pd.DataFrame:
    """Penalties and score of the windows that start at one moment."""
    period_start = moment - timedelta(days=scoring.baseline_days)
    period_end = moment - timedelta(days=scoring.baseline_gap_days)
    period = past[(past["window_start"] >= period_start) & (past["window_end"] <= period_end)]
    sums = period.groupby("site")[["judged", "hard_blocks", "challenges", "soft_blocks"]].sum()
    usual_p95 = (
        period[period["ok"] >= scoring.min_ok_for_p95].groupby("site")["p95_latency_ms"].median()
    )
    windows = windows.copy()
    base_judged = windows["site"].map(sums["judged"])
    cost = pd.Series(0.0, windows.index)
    for signal, counts in (
        ("hard_block", "hard_blocks"),
        ("challenge", "challenges"),
        ("soft_block", "soft_blocks"),
    ):
        rise = windows[signal] / windows["judged"] - windows["site"].map(sums[counts]) / base_judged
        penalty = (rise / scoring.full_rate_rise).clip(0, 1)
        cost += getattr(scoring.weights, signal) * penalty
    slower = windows["p95_latency_ms"] / windows["site"].map(usual_p95).clip(lower=1) - 1
    full = scoring.full_latency_factor - 1
    cost += scoring.weights.latency * (slower / full).clip(0, 1).fillna(0)
    is_enough = (windows["judged"] >= scoring.min_requests) & (
        base_judged >= scoring.min_baseline_requests
    )
    windows["score"] = (100 - cost).round().where(is_enough)
    return windows
