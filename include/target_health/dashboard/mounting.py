"""What Airflow's plugin registers. Imported by all of Airflow's processes, so it imports little."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]

PREFIX = "/target-health"


class LazyApp:
    """An ASGI app that is made with its first request: only the API server ever gets one.

    It is made in a thread, since that takes seconds of imports in which the API server's event
    loop would answer nobody, running tasks least of all.
    """

    def __init__(self, make: Callable[[], AsgiApp]) -> None:
        self._make = make
        self._app: AsgiApp | None = None
        self._lock = threading.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._app
        if app is None:
            app = await asyncio.to_thread(self._made)
        await app(scope, receive, send)

    def _made(self) -> AsgiApp:
        with self._lock:
            if self._app is None:
                self._app = self._make()
            return self._app


def make_dashboard() -> AsgiApp:
    from target_health.airflow_bridge import dashboard_access
    from target_health.dashboard.app import make_app
    from target_health.paths import Home

    return make_app(Home.from_environment(), dashboard_access())


class SlashRedirect:
    """Leads from ``/target-health``, as people type it, to ``/target-health/``.

    Airflow's own catch-all would answer the former.
    """

    def __init__(self, app: AsgiApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        root = scope.get("root_path", "")
        path = scope.get("path", "")
        if scope["type"] != "http" or path not in (PREFIX, root + PREFIX):
            await self._app(scope, receive, send)
            return
        query = scope.get("query_string", b"")
        # Relative, so that no proxy's prefix is lost.
        place = PREFIX[1:].encode() + b"/" + (b"?" + query if query else b"")
        await send(
            {
                "type": "http.response.start",
                "status": 307,
                "headers": [(b"location", place), (b"content-length", b"0")],
            }
        )
        await send({"type": "http.response.body", "body": b""})


def navigation(base_path: str) -> dict[str, Any]:
    """The entry in Airflow's navigation; ``base_path`` is that of Airflow's URL, without its end.

    The pages are shown inside Airflow's own frame.
    """
    return {
        "name": "Target Health",
        "href": f"{base_path}{PREFIX}/",
        "destination": "nav",
        "url_route": "target-health",
        "nav_top_level": True,
        "icon": f"{base_path}{PREFIX}/static/icon.svg",
        "icon_dark_mode": f"{base_path}{PREFIX}/static/icon-dark.svg",
    }


dashboard = LazyApp(make_dashboard)
