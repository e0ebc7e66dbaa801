"""``sites.yaml``: which hosts are one site, and what one site needs that the others do not."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, field_validator

from target_health.config.files import Section, merged, read_yaml, validated
from target_health.config.policy import Mode
from target_health.config.scoring import Positive, Scoring, a_number
from target_health.errors import ConfigurationError
from target_health.site_names import normal_host

Price = Annotated[float, BeforeValidator(a_number), Field(ge=0, allow_inf_nan=False)]
PATTERN = re.compile(r"[^\s/:]+|\[[0-9a-fA-F:.]+\]")


class SiteEntry(Section):
    """One entry of ``sites.yaml`` without the scoring numbers that it sets."""

    hosts: tuple[str, ...] = ()
    mode: Mode | None = None
    concurrency: Positive | None = None
    revisit_interval_s: (
        Annotated[float, BeforeValidator(a_number), Field(gt=0, allow_inf_nan=False)] | None
    ) = None
    price_per_credit: Price | None = None
    price_per_attempt: Price | None = None

    @field_validator("hosts")
    @classmethod
    def host_patterns(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for pattern in value:
            if not PATTERN.fullmatch(pattern):
                raise ValueError(
                    f"{pattern!r} is no host pattern: a host without scheme, port or path, "
                    "with * for any characters"
                )
        return tuple(normal_host(pattern) for pattern in value)


class Sites:
    """Every entry of ``sites.yaml``, and the site of a host."""

    def __init__(
        self, entries: Mapping[str, SiteEntry], overrides: Mapping[str, dict[str, Any]]
    ) -> None:
        self.entries = dict(entries)
        self.overrides = dict(overrides)
        self.patterns = {
            pattern: site for site, entry in self.entries.items() for pattern in entry.hosts
        }
        self._wildcards = [
            (re.compile(".*".join(map(re.escape, pattern.split("*")))), site)
            for pattern, site in self.patterns.items()
            if "*" in pattern
        ]

    def site_of(self, host: str) -> str:
        """The site of a normal host (lower case, punycode, no port, no ``www.``)."""
        exact = self.patterns.get(host)
        if exact is not None:
            return exact
        for pattern, site in self._wildcards:
            if pattern.fullmatch(host):
                return site
        return host

    def entry(self, site: str) -> SiteEntry:
        return self.entries.get(site, NO_ENTRY)


NO_ENTRY = SiteEntry()


def load_sites(directory: Path, scoring: Mapping[str, Any]) -> Sites:
    """``sites.yaml`` of a configuration directory, checked against the fleet's scoring numbers.

    ``scoring`` is the mapping of ``scoring.yaml``; a site's entry may set any key of it.
    Raises ``ConfigurationError`` for unknown keys, bad values and host patterns that overlap.
    """
    path = directory / "sites.yaml"
    content = read_yaml(path)
    unknown = set(content) - {"sites"}
    if unknown:
        raise ConfigurationError(f"{path}: {sorted(unknown)[0]}: unknown key; allowed: sites")
    raw = content.get("sites") or {}
    if not isinstance(raw, dict):
        raise ConfigurationError(f"{path}: sites: must be a mapping of site names to settings")
    entries: dict[str, SiteEntry] = {}
    overrides: dict[str, dict[str, Any]] = {}
    for name, given in raw.items():
        site, at = normal_host(str(name)), f"sites.{name}"
        settings = {} if given is None else given
        if not isinstance(settings, dict):
            raise ConfigurationError(f"{path}: {at}: must be a mapping of settings")
        if site in entries:
            raise ConfigurationError(f"{path}: {at}: stands twice (as {site})")
        own = {key: value for key, value in settings.items() if key in SiteEntry.model_fields}
        numbers = {key: value for key, value in settings.items() if key not in own}
        for key in numbers:
            if key not in Scoring.model_fields:
                allowed = ", ".join([*SiteEntry.model_fields, "or a number of scoring.yaml"])
                raise ConfigurationError(f"{path}: {at}.{key}: unknown key; allowed: {allowed}")
        entries[site] = validated(SiteEntry, own, path, at)
        if numbers:
            validated(Scoring, merged(dict(scoring), numbers), path, at)
            overrides[site] = numbers
    refuse_overlaps(entries, path)
    return Sites(entries, overrides)


def refuse_overlaps(entries: Mapping[str, SiteEntry], path: Path) -> None:
    """A host must have one site whatever order the file is read in."""
    claimed = [
        (pattern, site) for site, entry in entries.items() for pattern in {*entry.hosts, site}
    ]
    for index, (pattern, site) in enumerate(claimed):
        for other, other_site in claimed[index + 1 :]:
            if site != other_site and globs_meet(pattern, other):
                raise ConfigurationError(
                    f"{path}: sites.{other_site}.hosts: {other!r} overlaps {pattern!r} of "
                    f"{site}; each host must belong to one site"
                )


@lru_cache(maxsize=65536)
def globs_meet(left: str, right: str) -> bool:
    """Whether some host matches both patterns (``*`` stands for any characters)."""
    if not left or not right:
        return not (left or right).strip("*")
    if left[0] == "*":
        return globs_meet(left[1:], right) or globs_meet(left, right[1:])
    if right[0] == "*":
        return globs_meet(left, right[1:]) or globs_meet(left[1:], right)
    return left[0] == right[0] and globs_meet(left[1:], right[1:])
