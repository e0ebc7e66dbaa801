"""A home with logs whose items are known, and a directory of suites of its own."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from target_health import job
from target_health.config import Configuration
from target_health.extraction import ExtractionReport
from target_health.extraction.step import validate_items
from target_health.extraction.suites import load_suites
from target_health.modelling.ranges import Range
from target_health.paths import Home
from target_health.warehouse import open_writer
from target_health.warehouse.rows import rows_of
from tests.modelling.warehouses import configuration_with

DAY = datetime(2026, 3, 2)
NOW = datetime(2026, 3, 20)
HOUR = timedelta(hours=1)
ABSENT = object()


def fetch(
    at: datetime,
    item: Any = ABSENT,
    *,
    site: str = "shop.example",
    page_type: str | None = "product",
    **more: Any,
) -> dict[str, Any]:
    """One line of a log; without an item extraction was not tried."""
    line = {
        "ts": f"{at:%Y-%m-%dT%H:%M:%SZ}",
        "url": f"https://{site}/p/{at:%d%H%M%S}",
        "status": 200,
        "bytes": 20_000,
        **more,
    }
    if page_type is not None:
        line["page_type"] = page_type
    if item is not ABSENT:
        line["item"] = item
    return line


def spread(start: datetime, items: Iterable[Any], **more: Any) -> list[dict[str, Any]]:
    """One fetch a second from ``start`` on."""
    return [
        fetch(start + timedelta(seconds=number), item, **more) for number, item in enumerate(items)
    ]


@dataclass
class Bench:
    """Lands logs and validates their items, without scores."""

    home: Home
    configuration: Configuration
    suites: Path
    logs: int = 0

    def suite(self, page_type: str, text: str) -> None:
        self.suites.mkdir(exist_ok=True)
        (self.suites / f"{page_type}.yaml").write_text(text, encoding="utf-8")

    def land(self, *fetches: dict[str, Any]) -> None:
        self.logs += 1
        path = self.home.inbox / "crawler" / f"{self.logs}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(one) + "\n" for one in fetches), encoding="utf-8")
        job.land_step(self.home, self.configuration, now=NOW)

    def make(self, start: datetime, end: datetime) -> None:
        job.windows_step(self.home, self.configuration, Range(start, end))

    def validate(self, start: datetime = DAY, now: datetime = NOW) -> ExtractionReport:
        with open_writer(self.home) as connection:
            return validate_items(
                connection,
                self.home,
                self.configuration,
                load_suites(self.suites),
                start,
                now=now,
            )

    def run(self, start: datetime, end: datetime) -> ExtractionReport:
        self.make(start, end)
        return self.validate(start)

    def rows(self, query: str) -> list[dict[str, Any]]:
        with open_writer(self.home) as connection:
            return rows_of(connection, query)

    def extractions(self) -> dict[tuple[str, datetime], tuple[int, int]]:
        """Extractions and valid ones by site and window."""
        return {
            (row["site"], row["window_start"]): (row["extractions"], row["valid"])
            for row in self.rows("FROM extraction_windows")
        }

    def checks(self, **where: Any) -> dict[tuple[str, str], tuple[int, int]]:
        """Sums of checked and failed by field and expectation."""
        query = (
            "SELECT site, window_start, page_type, field, expectation, checked, failed"
            " FROM extraction_checks"
        )
        sums: dict[tuple[str, str], tuple[int, int]] = {}
        for row in self.rows(query):
            if all(row[name] == value for name, value in where.items()):
                key = (row["field"], row["expectation"])
                checked, failed = sums.get(key, (0, 0))
                sums[key] = (checked + row["checked"], failed + row["failed"])
        return sums

    def everything(self) -> dict[str, list[dict[str, Any]]]:
        return {
            table: self.rows(f"SELECT * FROM {table} ORDER BY ALL")
            for table in (
                "extraction_windows",
                "extraction_checks",
                "unchecked_items",
                "field_coverage",
                "learned_fields",
            )
        }


def bench_in(directory: Path, window_minutes: int = 60, **extraction: Any) -> Bench:
    config = directory / "config"
    config.mkdir(parents=True, exist_ok=True)
    (config / "extraction.yaml").write_text(json.dumps(extraction), encoding="utf-8")
    configuration = configuration_with(config, {"window_minutes": window_minutes})
    return Bench(Home(directory / "home"), configuration, directory / "suites")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return bench_in(tmp_path)
