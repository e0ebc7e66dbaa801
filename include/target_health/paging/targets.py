"""Whom pages go to: ``TARGET_HEALTH_PAGE_URLS``, and what Airflow's connections add."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable

from target_health.errors import UsageError
from target_health.paging.records import Owner, Target

VARIABLE = "TARGET_HEALTH_PAGE_URLS"
OWNED = re.compile(r"(crawl|parser|proxy)=(?=[A-Za-z][A-Za-z0-9+.-]*://)")
OWNERS: tuple[Owner, ...] = ("crawl", "parser", "proxy")


def configured_targets() -> tuple[Target, ...]:
    """The addresses in the environment."""
    return targets_in(os.environ.get(VARIABLE, ""))


def targets_in(text: str, owner: Owner | None = None, name: str = VARIABLE) -> tuple[Target, ...]:
    """Apprise URLs separated by spaces or line ends, each alone or as ``crawl=URL``.

    Raises ``UsageError`` for a text that is no URL, without showing it: it may hold secrets.
    """
    found: dict[str, Target] = {}
    for place, word in enumerate(text.split(), start=1):
        owned = OWNED.match(word)
        url = word[owned.end() :] if owned else word
        if "://" not in url:
            raise UsageError(
                f"{name}: entry {place} is no Apprise URL such as mailto://… or crawl=json://…; "
                "entries are separated by spaces"
            )
        whose = next((one for one in OWNERS if owned and one == owned[1]), owner)
        found[f"{whose} {url}"] = Target(url, whose)
    return tuple(found.values())


def for_owner(targets: Iterable[Target], owner: Owner) -> list[Target]:
    """The targets that take an owner's pages, each URL once.

    Where an owner has none of his own and none is for all, the crawl's get them: better the wrong
    person than nobody.
    """
    every = list(targets)
    own = [one for one in every if one.owner in (None, owner)]
    own = own or [one for one in every if one.owner == "crawl"] or every
    return list({one.url: one for one in own}.values())


def key_of(target: Target) -> str:
    """A name for an address that keeps its secrets."""
    return hashlib.sha256(target.url.encode()).hexdigest()[:12]
