"""The raw columns that every reader gives, and what a reader says of a line that is no fetch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from target_health.config.sources import BODY_FIELDS, MAPPABLE

#: Raw fields in SQL and Python. ``route`` may hold the whole route as JSON text; ``text_hash``
#: comes from bodies only.
RAW_FIELDS = (
    *(name.replace(".", "_") for name in MAPPABLE if name not in BODY_FIELDS),
    "route",
    "text_hash",
)

#: Words that home-made logs write for "nothing"; compared in lower case.
NULL_WORDS = frozenset({"", "-", "null", "none", "nan", "n/a", "na", "nil", "undefined", "\\n"})

#: Raw fields that hold numbers.
NUMERIC = frozenset(
    {"status", "latency_ms", "bytes", "attempts", "redirects", "credits", "text_length"}
)


@dataclass(frozen=True, slots=True)
class Skip:
    """A line that is no fetch, with the reason that it is counted under."""

    reason: str


@dataclass(frozen=True, slots=True)
class Bad:
    """A line that cannot be read, with the reason that it is quarantined under."""

    reason: str


@dataclass(frozen=True, slots=True)
class Page:
    """What a line holds of the answer itself; looked at once, and not kept.

    ``body`` is the body, as text where the log had it so; ``path`` names a file that holds it;
    ``text`` is the visible text alone, of which its maker left the rest out; ``record`` is an
    archive's whole record, still to be read.
    """

    body: bytes | str | None = None
    path: str | None = None
    text: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    record: bytes | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """A line's raw fields as text; absent ones are null."""

    fields: dict[str, str | None]
    page: Page | None = None


Outcome = Row | Skip | Bad


def page_of(
    fields: Mapping[str, str | None], headers: Mapping[str, str] | None = None
) -> Page | None:
    """What the fields of ``BODY_FIELDS`` hold, each as text; None where that is no body."""
    body, path, text = (fields.get(name) for name in ("body", "body_path", "body_text"))
    if body is None and not path and text is None:
        return None
    try:
        more = json.loads(fields.get("headers") or "{}")
    except (ValueError, RecursionError):
        more = {}
    own = {str(name): str(value) for name, value in more.items()} if isinstance(more, dict) else {}
    return Page(body, path, None if body is not None or path else text, {**own, **(headers or {})})


@dataclass(frozen=True, slots=True)
class Column:
    """Where a raw field comes from: a column (JSON: path of keys), times a factor.

    ``clock`` is a second column, of times of day, that stands beside one of dates.
    """

    path: tuple[str, ...]
    factor: float = 1.0
    clock: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return ".".join(self.path) + (f" and {'.'.join(self.clock)}" if self.clock else "")


@dataclass(frozen=True, slots=True)
class Reading:
    """How one file is read: recognised once, kept in the ledger for as long as it grows.

    ``columns`` maps raw fields to the log's columns. ``header`` lists a CSV's columns,
    which stand in the last of its ``header_lines``.
    ``ts_from_file`` takes the file's modification time as every fetch's time; ``iso_times`` says
    that the times seen are ISO 8601 with a time of day, in UTC or with an offset.
    ``decimal_comma`` says that numbers are written like 1.234,5.
    ``retries_told``: a Scrapy log in which failed downloads are told by their retries.
    ``bodies``: its first lines have bodies.
    """

    format: str
    columns: dict[str, Column] = field(default_factory=dict)
    header: tuple[str, ...] = ()
    header_lines: int = 1
    delimiter: str = ","
    ts_format: str | None = None
    decimal_comma: bool = False
    ts_from_file: bool = False
    iso_times: bool = False
    retries_told: bool = True
    bodies: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a file as a whole is not read; one line that says what to do.

    ``reading`` tells its lines apart where that much is known; ``records`` counts those of a file
    of records.
    """

    reason: str
    reading: Reading | None = None
    records: int = 1
