"""``include/expectations/*.yaml``: one suite a page type, in Great Expectations' own words.

.. code-block:: yaml

   page_type: product          # default: the file's name
   fields:
     price:                    # nested ones with dots: seller.name
       expect_column_values_to_not_be_null: {}
       expect_column_values_to_be_between: {min_value: 0.01, max_value: 100000}
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field, field_validator

from target_health.config.files import Section, read_yaml, validated
from target_health.errors import ConfigurationError
from target_health.extraction.arguments import Arguments, complaint_about

NAMED_PAGE_TYPE = re.compile(r"""^page_type:\s*["']?(.*?)["']?\s*(?:#.*)?$""", re.MULTILINE)


def no_arguments(value: object) -> object:
    """``expect_…:`` with nothing behind it is an expectation without arguments."""
    return {} if value is None else value


Checks = dict[str, Annotated[Arguments, BeforeValidator(no_arguments)]]


class SuiteFile(Section):
    """A suite as it is written: expectations and their arguments by field."""

    page_type: str
    fields: Annotated[dict[Annotated[str, Field(min_length=1)], Checks], Field(min_length=1)]

    @field_validator("fields")
    @classmethod
    def known_expectations(cls, value: dict[str, Checks]) -> dict[str, Checks]:
        for name, checks in value.items():
            if not checks:
                raise ValueError(f"{name}: no expectation; name one, or leave the field out")
            for expectation, arguments in checks.items():
                complaint = complaint_about(expectation, arguments)
                if complaint:
                    raise ValueError(f"{name}: {complaint}")
        return value


@dataclass(frozen=True, slots=True)
class Check:
    """One expectation on one field."""

    field: str
    expectation: str
    arguments: Arguments


@dataclass(frozen=True, slots=True)
class Suite:
    """What the items of a page type must be. ``name`` is the file's, without its ending."""

    name: str
    page_type: str
    checks: tuple[Check, ...]
    digest: str

    @property
    def fields(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(check.field for check in self.checks))


@dataclass(frozen=True, slots=True)
class BrokenSuite:
    """A suite that cannot be used, and why in one line."""

    name: str
    page_type: str
    reason: str
    digest: str


@dataclass(frozen=True, slots=True)
class Suites:
    """Every suite of a directory, by page type; broken ones stop only their own page type."""

    good: Mapping[str, Suite] = field(default_factory=dict)
    broken: Mapping[str, BrokenSuite] = field(default_factory=dict)

    def digest_of(self, page_type: str) -> str:
        """What the page type's items are validated by now; empty: no suite."""
        known = self.good.get(page_type) or self.broken.get(page_type)
        return known.digest if known else ""


def digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]


def read_suite(path: Path) -> Suite:
    """One file; raises ``ConfigurationError`` with one line that names file, key and problem."""
    written = read_yaml(path)
    written.setdefault("page_type", path.stem)
    content = validated(SuiteFile, written, path)
    return make_suite(path.stem, content.page_type, content.fields)


def make_suite(name: str, page_type: str, fields: Mapping[str, Mapping[str, Arguments]]) -> Suite:
    """A suite of expectations and arguments by field."""
    checks = tuple(
        Check(field_name, expectation, dict(arguments))
        for field_name, expectations in fields.items()
        for expectation, arguments in expectations.items()
    )
    text = json.dumps([page_type, fields], sort_keys=True, default=str)
    return Suite(name, page_type, checks, digest_of(text.encode()))


def load_suites(directory: Path) -> Suites:
    """Every ``*.yaml`` and ``*.yml`` of a directory; an absent directory has none."""
    good: dict[str, Suite] = {}
    broken: dict[str, BrokenSuite] = {}
    for path in sorted([*directory.glob("*.yaml"), *directory.glob("*.yml")]):
        try:
            suite = read_suite(path)
        except (ConfigurationError, OSError, RecursionError) as problem:
            reason = " ".join(str(problem).replace(f"{path}", path.name).split())
            page_type = page_type_of_broken(path)
            broken[page_type] = BrokenSuite(path.stem, page_type, reason, file_digest(path))
            continue
        twin = good.get(suite.page_type)
        if twin is not None:
            digest = digest_of((twin.digest + suite.digest).encode())
            reason = (
                f"{path.name}: page_type {suite.page_type} has a suite in {twin.name} already; "
                "keep one"
            )
            broken[suite.page_type] = BrokenSuite(suite.name, suite.page_type, reason, digest)
            continue
        good[suite.page_type] = suite
    return Suites({name: good[name] for name in good if name not in broken}, broken)


def file_digest(path: Path) -> str:
    try:
        return digest_of(path.read_bytes())
    except OSError:
        return "unreadable"


def page_type_of_broken(path: Path) -> str:
    """The page type that a broken file is for, as far as it can be told."""
    try:
        named = NAMED_PAGE_TYPE.search(path.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        named = None
    return named[1] if named else path.stem
