"""Proposing a suite from landed items: what they had in common so far, for a person to edit."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import yaml

from target_health.extraction.arguments import Arguments
from target_health.extraction.items import MOST_FIELDS, records_of, walk

# Strings that are all of one of these kinds, the first that fits.
PATTERNS = (r"^https?://\S+$", r"^\d{4}-\d{2}-\d{2}", r"^[A-Z]{2}$", r"^[A-Z]{3}$")
# So few different texts, each this often on average, are a fixed set.
MOST_CHOICES, LEAST_REPEATS = 8, 25
PLAIN_TEXT = re.compile(r"[A-Za-z_][A-Za-z0-9_. -]*[A-Za-z0-9_]|[A-Za-z_]")


@dataclass(slots=True)
class FieldProfile:
    """What one field held."""

    known: int = 0
    types: Counter[str] = field(default_factory=Counter)
    blank: int = 0
    texts: Counter[str] = field(default_factory=Counter)
    too_many_texts: bool = False
    patterns: list[str] = field(default_factory=lambda: list(PATTERNS))
    low: float = math.inf
    high: float = -math.inf

    def add(self, value: Any) -> None:
        self.known += 1
        self.types[type(value).__name__] += 1
        if isinstance(value, str):
            if not value.strip():
                self.blank += 1
                return
            self.patterns = [pattern for pattern in self.patterns if re.search(pattern, value)]
            if not self.too_many_texts:
                self.texts[value] += 1
                self.too_many_texts = len(self.texts) > MOST_CHOICES
        elif isinstance(value, int | float) and not isinstance(value, bool):
            self.low, self.high = min(self.low, value), max(self.high, value)


@dataclass(frozen=True, slots=True)
class Draft:
    """A proposed suite; ``records`` says of how many it comes."""

    page_type: str
    records: int
    fields: dict[str, dict[str, Arguments]]

    def as_yaml(self, source: str) -> str:
        """The file's text; ``source`` says in its head where the items came from."""
        lines = [
            f"# Proposed from {self.records:,} items {source}.",
            "# It says what they had in common: keep what has to be so, widen or remove the rest.",
            f"page_type: {scalar(self.page_type)}",
            "fields:",
        ]
        for name, checks in self.fields.items():
            lines.append(f"  {scalar(name)}:")
            for expectation, arguments in checks.items():
                lines.append(f"    {expectation}: {flow(arguments)}")
        return "\n".join(lines) + "\n"


def draft_suite(
    page_type: str, items: Iterable[str], *, usual_share: float, fields_kept: int
) -> Draft:
    """Profile items (JSON texts) and propose expectations that they meet.

    A field is expected to be there when ``usual_share`` of the records have it: what is usually
    missing is part of a site's own normal. The ``fields_kept`` most common fields are proposed.
    """
    profiles: defaultdict[str, FieldProfile] = defaultdict(FieldProfile)
    records = 0
    for text in items:
        for record in records_of(text):
            if record is None:
                continue
            records += 1
            for path, value in islice(walk(record), MOST_FIELDS):
                if path in profiles or len(profiles) < MOST_FIELDS:
                    profiles[path].add(value)
    common = set(sorted(profiles, key=lambda path: (-profiles[path].known, path))[:fields_kept])
    fields = {
        path: checks_of(profile, records, usual_share)
        for path, profile in profiles.items()
        if path in common
    }
    return Draft(page_type, records, {path: checks for path, checks in fields.items() if checks})


def checks_of(profile: FieldProfile, records: int, usual_share: float) -> dict[str, Arguments]:
    """What to expect of a field."""
    checks: dict[str, Arguments] = {}
    if profile.known >= usual_share * records:
        checks["expect_column_values_to_not_be_null"] = {}
    types = set(profile.types)
    if types <= {"int", "float"} and "float" in types:
        types = {"int", "float"}
    if len(types) == 1 or types == {"int", "float"}:
        checks["expect_column_values_to_be_in_type_list"] = {"type_list": sorted(types)}
    if types == {"str"}:
        checks.update(checks_of_texts(profile, usual_share))
    elif types <= {"int", "float"}:
        checks["expect_column_values_to_be_between"] = bounds_of(profile)
    return checks


def checks_of_texts(profile: FieldProfile, usual_share: float) -> dict[str, Arguments]:
    if profile.known - profile.blank < usual_share * profile.known:
        return {}
    if profile.patterns:
        return {"expect_column_values_to_match_regex": {"regex": profile.patterns[0]}}
    if not profile.too_many_texts and profile.known >= LEAST_REPEATS * len(profile.texts):
        return {"expect_column_values_to_be_in_set": {"value_set": sorted(profile.texts)}}
    return {"expect_column_values_to_match_regex": {"regex": r"\S"}}


def bounds_of(profile: FieldProfile) -> Arguments:
    """Nought at least where nothing was below; at most ten times the largest, rounded up."""
    largest = max(abs(profile.low), abs(profile.high), 1)
    limit = 10 ** (math.ceil(math.log10(largest)) + 1) if math.isfinite(largest) else None
    if profile.low > 0:
        bounds: Arguments = {"min_value": 0, "strict_min": True}
    elif profile.low == 0:
        bounds = {"min_value": 0}
    else:
        bounds = {"min_value": -limit if limit is not None else profile.low}
    if limit is not None:
        bounds["max_value"] = limit
    return bounds


def scalar(text: str) -> str:
    """A text as a YAML key or value, on one line."""
    if PLAIN_TEXT.fullmatch(text) and text.isascii() and yaml.safe_load(text) == text:
        return text
    if text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    return str(yaml.safe_dump(text, default_style='"', width=math.inf)).strip()


def flow(value: Any) -> str:
    """Arguments as YAML on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{scalar(key)}: {flow(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    if isinstance(value, str):
        return scalar(value)
    return str(yaml.safe_dump(value)).split("\n", maxsplit=1)[0]
