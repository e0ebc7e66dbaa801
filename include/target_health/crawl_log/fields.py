"""Fields of a row that every crawler's adapter makes alike: time, URL, route."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

ROUTE_PARTS = ("gateway", "country", "pool", "session", "exit")
_USER_INFO = re.compile(r"^([a-z][a-z0-9+.-]*://)[^/?#]*@", re.IGNORECASE)


def attempt_row(url: str, meta: Mapping[str, Any], proxy: str | None) -> dict[str, Any]:
    """One attempt now, without its outcome. ``meta``: what the crawler says of the request.

    ``ts`` is in seconds since the epoch: the process that writes the log makes it text.
    """
    row: dict[str, Any] = {"ts": time.time(), "url": without_user(url), "attempts": 1}
    route = route_of(meta.get("route"), proxy)
    if route is not None:
        row["route"] = route
    if meta.get("canary"):
        row["canary"] = str(meta["canary"])
    return row


def moment(seconds: float) -> str:
    """Seconds since the epoch as the log's ``ts``: ISO 8601 in UTC, to the millisecond."""
    text = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    return f"{text[:-6]}Z"


def without_user(url: str) -> str:
    """A URL without its user info."""
    return _USER_INFO.sub(r"\1", url) if "@" in url else url


def route_of(given: object, proxy: str | None) -> dict[str, str] | None:
    """A fetch's route: what the crawler says of it, else its proxy's host and port.

    ``given`` is a mapping of ``gateway country pool session exit`` or None; other keys are left
    out. A proxy's user name and password are never kept, nor are those in a given gateway.
    """
    route: dict[str, str] = {}
    if isinstance(given, Mapping):
        for part in ROUTE_PARTS:
            value = given.get(part)
            if value is not None and value != "":
                route[part] = _host_and_port(str(value)) if "@" in str(value) else str(value)
    if "gateway" not in route and proxy:
        gateway = _host_and_port(proxy)
        if gateway:
            route["gateway"] = gateway
    return route or None


def _host_and_port(proxy: str) -> str:
    """``http://user:password@gate.example:8000`` → ``gate.example:8000``."""
    text = proxy if "://" in proxy else f"//{proxy}"
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return ""
    host = f"[{host}]" if ":" in host else host
    return f"{host}:{port}" if port else host


def is_web(url: str) -> bool:
    """Whether a URL is one that has a site."""
    return url[:8].lower().startswith(("http://", "https://"))
