"""Small crawl logs with exactly known counts, written as a crawler writes them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

Fetch = dict[str, Any]
Status = Callable[[datetime], int]


def steady(
    site: str, start: datetime, end: datetime, every: timedelta, status: Status | int = 200
) -> Iterator[Fetch]:
    """One fetch of the site every so often; its status may depend on the time."""
    at, number = start, 0
    while at < end:
        yield {
            "ts": at.isoformat() + "Z",
            "url": f"https://{site}/page/{number % 97}",
            "status": status if isinstance(status, int) else status(at),
            "latency_ms": 100 + number % 7,
            "bytes": 20_000 + number % 11,
        }
        at, number = at + every, number + 1


def write_log(path: Path, fetches: Iterable[Fetch]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        for fetch in fetches:
            file.write(json.dumps(fetch) + "\n")
    return path
