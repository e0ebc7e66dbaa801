"""Who looks, and what they may do; Airflow answers that, or a test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Visitor:
    """A person who may see; ``may_change``: also pause and resume, under this name."""

    name: str
    may_change: bool


@dataclass(frozen=True, slots=True)
class Access:
    """``visitor`` is a FastAPI dependency that gives a ``Visitor`` or raises an HTTP exception of
    status 401 or 403; ``login_url`` leads to the login and from there to the URL given.
    """

    visitor: Callable[..., Visitor]
    login_url: Callable[[str], str]
