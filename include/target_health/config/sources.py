"""``sources.yaml``: how each source's crawl logs are read, and what is never kept of them."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from pathlib import Path
from typing import Any, Literal
from zoneinfo import ZoneInfo

from pydantic import Field, field_validator, model_validator

from target_health.config.files import Section, validated, with_defaults

FORMATS = ("native", "jsonl", "csv", "parquet", "heritrix", "scrapy_console", "warc")

#: What a column mapping can fill: the crawl log's fields, route's parts by dotted name.
MAPPABLE = (
    "ts",
    "url",
    "site",
    "page_type",
    "status",
    "status_text",
    "error",
    "latency_ms",
    "bytes",
    "attempts",
    "redirects",
    "credits",
    "route.gateway",
    "route.country",
    "route.pool",
    "route.session",
    "route.exit",
    "final_url",
    "content_hash",
    "title",
    "text_length",
    "evidence",
    "item",
    "canary",
    "event_id",
    "body",
    "body_path",
    "body_text",
    "headers",
)
#: Those of them that are looked at for the page's verdict and not kept.
BODY_FIELDS = ("body", "body_path", "body_text", "headers")

FILE_MTIME = "file_mtime"
UNITS = {"s": 1000.0, "ms": 1.0, "us": 0.001}


class Column(Section):
    """One column of a log, with the unit of its numbers where it matters (latency).

    ``time`` names the column with the time of day, where ``column`` has the date alone (ts).
    """

    column: str = Field(min_length=1)
    time: str | None = Field(default=None, min_length=1)
    unit: Literal["s", "ms", "us"] | None = None


class RouteConstants(Section):
    gateway: str | None = None
    country: str | None = None
    pool: str | None = None
    session: str | None = None
    exit: str | None = None


class Constants(Section):
    """Values that every fetch of a source has, where the log itself does not say otherwise."""

    site: str | None = None
    page_type: str | None = None
    route: RouteConstants = RouteConstants()


class Source(Section):
    """One entry of ``sources.yaml``."""

    format: (
        Literal["native", "jsonl", "csv", "parquet", "heritrix", "scrapy_console", "warc"] | None
    ) = None
    columns: dict[str, Column] = {}
    timezone: str = "UTC"
    ts_format: str | None = None
    delimiter: str | None = Field(default=None, min_length=1, max_length=1)
    constants: Constants = Constants()

    @model_validator(mode="before")
    @classmethod
    def fields_are_columns(cls, content: Any) -> Any:
        """``ts: file_mtime`` may stand in the entry itself, without ``columns``."""
        if not isinstance(content, dict):
            return content
        own = {key: value for key, value in content.items() if key not in MAPPABLE}
        direct = {key: value for key, value in content.items() if key in MAPPABLE}
        columns = own.get("columns", {})
        if not isinstance(columns, dict):
            raise ValueError("columns: must map the crawl log's fields to the log's columns")
        columns = {
            field: {"column": column} if isinstance(column, str) else column
            for field, column in {**columns, **direct}.items()
        }
        return {**own, "columns": columns} if columns else own

    @field_validator("columns")
    @classmethod
    def known_fields(cls, value: dict[str, Column]) -> dict[str, Column]:
        for field in value:
            if field not in MAPPABLE:
                raise ValueError(f"{field!r} is no field; allowed: {', '.join(MAPPABLE)}")
        return value

    @field_validator("timezone")
    @classmethod
    def known_timezone(cls, value: str) -> str:
        try:
            ZoneInfo(value)
        except (KeyError, ValueError, OSError):
            raise ValueError(f"{value!r} is no IANA time zone, e.g. Europe/Berlin") from None
        return value


class WrongClock(Section):
    tolerance_minutes: float = Field(ge=0)
    share: float = Field(gt=0, le=1)
    rows: int = Field(ge=1)


class Sources(Section):
    """The whole file; ``source(name)`` is the entry of one source."""

    sources: dict[str, Source] = {}
    redact_parameters: tuple[str, ...]
    half_line_minutes: float = Field(ge=0)
    max_line_mib: int = Field(ge=1, le=1024)
    wrong_clock: WrongClock
    earliest: dt.date
    batch_rows: int = Field(ge=1000)
    free_space_factor: float = Field(ge=1)

    @field_validator("sources", mode="before")
    @classmethod
    def empty_is_none(cls, value: Any) -> Any:
        return {} if value is None else value

    def source(self, name: str) -> Source:
        return self.sources.get(name, NO_ENTRY)

    def fingerprint(self, name: str) -> str:
        """Changes when this source is read another way: a refused file is then tried again."""
        content = json.dumps(self.source(name).model_dump(mode="json"), sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()[:16]


NO_ENTRY = Source()


def load_sources(directory: Path) -> Sources:
    """``sources.yaml`` of a configuration directory over the shipped one.

    Raises ``ConfigurationError`` with one line naming file, key and what is allowed.
    """
    return validated(Sources, with_defaults("sources.yaml", directory), directory / "sources.yaml")
