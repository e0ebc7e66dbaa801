"""Pages of the dashboard as a piece: asked for as a server asks, without network or login."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

import fastapi  # noqa: F401  # Airflow's API server holds it anyway: it counts as its memory
import psutil

from target_health.benchmarks.measuring import Report
from target_health.errors import TargetHealthError
from target_health.paths import Home

# Not the first page alone: what people do in a morning, over sites that refuse and that do not.
FLEET_QUERIES = ("", "band=resisting", "sort=site&page=77", "q=site-01")
SITES = ("site-00007.example", "site-00003.example", "site-00050.example", "site-00057.example")


def ask_pages(home: str, repeats: int) -> Report:
    """Median milliseconds of the fleet's page, and of a site's with the data of its charts."""
    before = psutil.Process().memory_info().rss
    from target_health.dashboard.access import Access, Visitor
    from target_health.dashboard.app import make_app

    app = make_app(Home(Path(home)), Access(lambda: Visitor("bench", True), str))
    fleet = [asked(app, "/", FLEET_QUERIES[n % len(FLEET_QUERIES)]) for n in range(repeats)]
    site = []
    for n in range(repeats):
        name = f"name={SITES[n % len(SITES)]}"
        site.append(asked(app, "/site", name) + asked(app, "/api/site/history", name))
    app.state.published.close()
    return {
        "fleet_ms": statistics.median(fleet),
        "site_ms": statistics.median(site),
        "first_fleet_ms": fleet[0],
        "first_site_ms": site[0],
        "before_bytes": before,
    }


def asked(app: Any, path: str, query: str) -> float:
    """Milliseconds until the whole answer is there; raises when it is none."""
    sent: list[MutableMapping[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": query.encode(),
        "headers": [(b"host", b"localhost"), (b"accept", b"text/html")],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }
    began = time.perf_counter()
    asyncio.run(app(scope, receive, send))
    ended = time.perf_counter()
    if sent[0]["status"] != 200 or len(sent[1]["body"]) < 1000:
        raise TargetHealthError(f"{path}?{query} is answered with status {sent[0]['status']}")
    return 1000 * (ended - began)
