"""A route with its secrets filled in: made for one run, never stored, never shown."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, unquote, urlsplit

from target_health.config.routes import CONNECTION, PLACEHOLDER, Route, Routes
from target_health.errors import ConfigurationError

HIDDEN = "***"
#: Shorter values are no secrets but words; hiding them would blot out pages.
SHORTEST_SECRET = 4

ProxyOf = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Way:
    """How a fetch leaves. ``secrets`` are the texts that must appear nowhere."""

    name: str
    route: Route
    proxy: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    secret_headers: frozenset[str] = frozenset()
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def without_secrets(self, text: str) -> str:
        """A text to be stored or shown, with ``***`` in place of each secret."""
        for secret in self.secrets:
            if secret in text:
                text = text.replace(secret, HIDDEN)
        return text


def open_ways(
    routes: Routes,
    names: Iterable[str],
    environment: Mapping[str, str] | None = None,
    connection: ProxyOf | None = None,
) -> dict[str, Way]:
    """The named routes, ready to use. ``connection`` gives the URL of an Airflow connection.

    Raises ``ConfigurationError`` for a route that is not there, a variable that is not set, a
    connection that is not defined; the message names it and no value.
    """
    environment = os.environ if environment is None else environment
    return {
        name: _way(name, routes, environment, connection or airflow_connection)
        for name in dict.fromkeys(names)
    }


def airflow_connection(name: str) -> str:
    """The URL of an Airflow connection; raises ``LookupError`` where there is none."""
    from target_health.airflow_bridge import connection_url

    return connection_url(name)


def _way(name: str, routes: Routes, environment: Mapping[str, str], connection: ProxyOf) -> Way:
    route = routes.routes.get(name)
    if route is None:
        raise ConfigurationError(
            f"routes.yaml: {name!r} is no route; there are {', '.join(routes.routes)}"
        )
    secrets: set[str] = set()

    def filled(text: str, at: str, *, quoted: bool) -> str:
        def value(variable: str) -> str:
            found = environment.get(variable)
            if not found:
                raise ConfigurationError(
                    f"routes.yaml: routes.{name}.{at}: the environment variable {variable} "
                    "is not set"
                )
            secrets.add(found)
            # A variable that is a whole URL is quoted already; a user or password is not.
            return quote(found, safe="") if quoted and "://" not in found else found

        return PLACEHOLDER.sub(lambda match: value(match[1]), text)

    headers = {
        header: filled(text, f"headers.{header}", quoted=False)
        for header, text in route.headers.items()
    }
    proxy = None
    if route.proxy is not None:
        known = CONNECTION.fullmatch(route.proxy)
        proxy = _connected(known[1], name, connection) if known else None
        if proxy is None:
            proxy = filled(route.proxy, "proxy", quoted=not PLACEHOLDER.fullmatch(route.proxy))
        parts = _parts(proxy, name)
        secrets.update(part for part in parts if part)
        secrets.update(unquote(part) for part in parts if part)
        if proxy in secrets or parts != (None, None):
            secrets.add(proxy)
    return Way(
        name=name,
        route=route,
        proxy=proxy,
        headers=headers,
        secret_headers=frozenset(
            header.lower() for header, text in route.headers.items() if PLACEHOLDER.search(text)
        ),
        secrets=tuple(
            sorted((text for text in secrets if len(text) >= SHORTEST_SECRET), key=len)[::-1]
        ),
    )


def _connected(connection_name: str, route: str, connection: ProxyOf) -> str:
    try:
        return connection(connection_name)
    except (LookupError, ImportError):
        raise ConfigurationError(
            f"routes.yaml: routes.{route}.proxy: Airflow knows no connection {connection_name} "
            f"here: add it in Airflow's UI, or set AIRFLOW_CONN_{connection_name.upper()}"
        ) from None


def _parts(proxy: str, route: str) -> tuple[str | None, str | None]:
    """User and password of a proxy's URL."""
    try:
        parts = urlsplit(proxy)
        usable = parts.scheme in ("http", "https") and parts.hostname and (parts.port or True)
    except ValueError:
        usable = None
    if not usable:
        raise ConfigurationError(
            f"routes.yaml: routes.{route}.proxy: is no URL http://host:port once it is filled in"
        )
    return parts.username, parts.password
