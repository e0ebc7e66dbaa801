"""``routes.yaml``: how canaries leave, as production's fetches do; it never holds a secret."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from target_health.config.files import Section, validated, with_defaults
from target_health.config.scoring import a_number
from target_health.config.sites import normal_host
from target_health.errors import ConfigurationError

NAME = "routes.yaml"

PLACEHOLDER = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
CONNECTION = re.compile(r"airflow:([\w.-]+)")
USER_INFO = re.compile(r"^([a-z][a-z0-9+.-]*://)?([^/@\s]*)@", re.IGNORECASE)
#: Names of headers whose value is a secret.
SECRET_NAME = re.compile(r"auth|token|secret|password|passwd|api-?key|session|cookie|credential")


class Route(Section):
    """One way out. ``gateway`` to ``exit`` are what the crawl log calls it.

    ``proxy`` is a URL with ``${NAME}`` for parts that come from the environment, or
    ``airflow:CONNECTION``; header values may hold ``${NAME}`` too. ``cookies: run`` keeps them from
    one fetch of a host to the next, as a sticky session does; ``none`` begins each fetch anew.
    """

    gateway: str | None = None
    country: str | None = None
    pool: str | None = None
    session: str | None = None
    exit: str | None = None
    proxy: str | None = None
    headers: dict[str, str] = {}
    cookies: Literal["run", "none"] = "run"
    verify_tls: bool = True
    ca_file: str | None = None
    timeout_s: (
        Annotated[float, BeforeValidator(a_number), Field(gt=0, allow_inf_nan=False)] | None
    ) = None

    @field_validator("proxy")
    @classmethod
    def known_scheme(cls, value: str | None) -> str | None:
        if value is None or CONNECTION.fullmatch(value) or PLACEHOLDER.match(value):
            return value
        if not re.match(r"https?://", value):
            raise ValueError(
                "must begin with http:// or https://, or be ${NAME} or airflow:CONNECTION"
            )
        return value


class Routes(Section):
    """All of ``routes.yaml``."""

    routes: dict[str, Route]
    default: str
    sites: dict[str, str] = {}

    @model_validator(mode="after")
    def names_are_known(self) -> Routes:
        for at, name in [("default", self.default), *self.sites.items()]:
            if name not in self.routes:
                raise ValueError(f"{at}: {name!r} is no route; there are {', '.join(self.routes)}")
        return self

    def route_of(self, site: str) -> str:
        """The name of a site's route: its own, that of the first pattern, or the default."""
        if site in self.sites:
            return self.sites[site]
        return next(
            (route for pattern, route in self.sites.items() if fnmatchcase(site, pattern)),
            self.default,
        )


def load_routes(directory: Path) -> Routes:
    """``routes.yaml`` over the shipped one; ``ConfigurationError`` in one line, without values
    that could be secret.
    """
    path = directory / NAME
    content = with_defaults(NAME, directory)
    refuse_secrets(content.get("routes"), path)
    sites = content.get("sites")
    if isinstance(sites, Mapping):
        content = {**content, "sites": {normal_host(str(key)): sites[key] for key in sites}}
    return validated(Routes, content, path)


def refuse_secrets(routes: Any, path: Path) -> None:
    """Raise for credentials written out; the message names the key, never the value."""
    for name, route in routes.items() if isinstance(routes, Mapping) else ():
        if not isinstance(route, Mapping):
            continue
        proxy = str(route.get("proxy") or "")
        user_info = USER_INFO.match(proxy)
        if user_info and PLACEHOLDER.sub("", user_info[2]).strip(":"):
            raise ConfigurationError(
                f"{path}: routes.{name}.proxy: holds credentials; take them from the environment, "
                "as in http://${PROXY_USER}:${PROXY_PASSWORD}@host:port, or from airflow:CONNECTION"
            )
        headers = route.get("headers")
        for header, value in headers.items() if isinstance(headers, Mapping) else ():
            if SECRET_NAME.search(str(header).lower()) and not PLACEHOLDER.search(str(value)):
                raise ConfigurationError(
                    f"{path}: routes.{name}.headers.{header}: looks like a secret; take it from "
                    "the environment, as in ${NAME}"
                )
