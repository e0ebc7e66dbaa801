"""A home with an inbox, and short ways to land into it and to look at what landed."""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from target_health.config import load_configuration
from target_health.landing import LandingReport, crawl_log_view_sql, land, streaming
from target_health.paths import Home
from target_health.warehouse import open_writer

NOW = datetime(2026, 1, 31, 15, 5)


def fetch(second: int = 0, **fields: Any) -> str:
    """One native log line of 14:00 plus some seconds."""
    ts = datetime(2026, 1, 31, 14) + timedelta(seconds=second)
    record = {"ts": ts.isoformat() + "Z", "url": f"https://a.example/{second}", "status": 200}
    return json.dumps({**record, **fields})


@dataclass
class Landing:
    """``put`` files, ``land`` them, and look at ``rows`` of the lake and ``quarantine``."""

    home: Home
    config: Path | None = None

    def put(self, name: str, content: bytes | str, *, age: timedelta = timedelta(hours=1)) -> Path:
        path = self.home.inbox / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        moment = (NOW - age).replace(tzinfo=UTC).timestamp()
        os.utime(path, (moment, moment))
        return path

    def land(self, now: datetime = NOW, inbox: str | None = None) -> LandingReport:
        return land(self.home, now=now, inbox=inbox, configuration=load_configuration(self.config))

    def configure(self, text: str) -> None:
        self.config = self.home.root / "config"
        self.config.mkdir(parents=True, exist_ok=True)
        (self.config / "sources.yaml").write_text(text, encoding="utf-8")

    def rows(self, columns: str = "*", order: str = "event_id") -> list[tuple[Any, ...]]:
        with open_writer(self.home) as connection:
            view = crawl_log_view_sql(connection, self.home, internal=True)
        with duckdb.connect(":memory:") as reader:
            reader.execute("SET TimeZone = 'UTC'")
            return reader.execute(f"SELECT {columns} FROM ({view}) ORDER BY {order}").fetchall()

    def ledger(self, sql: str) -> list[tuple[Any, ...]]:
        with open_writer(self.home) as connection:
            return connection.execute(sql).fetchall()

    def quarantine(self) -> list[dict[str, Any]]:
        return [
            json.loads(line)
            for path in sorted(self.home.quarantine.rglob("*.jsonl"))
            for line in path.read_text(encoding="utf-8").splitlines()
        ]

    def state(self) -> tuple[Any, ...]:
        """All that a landing leaves, but for its file names: equal for equal results."""
        rows = self.rows("* EXCLUDE (landed_at)", "ALL")
        quarantined = sorted(
            (q["source"], q["line"], q["reason"], q["raw"]) for q in self.quarantine()
        )
        listed = {path for (path,) in self.ledger("SELECT path FROM lake_files")}
        present = {
            path.relative_to(self.home.root).as_posix()
            for path in self.home.lake.rglob("*")
            if path.is_file()
        }
        assert present == listed, "the lake holds a file that nobody knows"
        kept = {path for (path,) in self.ledger("SELECT path FROM quarantine_files")}
        assert kept == {
            path.relative_to(self.home.root).as_posix()
            for path in self.home.quarantine.rglob("*")
            if path.is_file()
        }
        hours = self.ledger("SELECT DISTINCT site, hour_start FROM landed_hours ORDER BY ALL")
        return rows, quarantined, hours


@pytest.fixture
def landing(tmp_path: Path) -> Landing:
    return Landing(Home(tmp_path / "home"))


def outcome(report: LandingReport) -> tuple[int, int, int]:
    return report.rows, report.skipped, report.quarantined


def reasons(report: LandingReport) -> dict[str, int]:
    total: Counter[str] = Counter()
    for source in report.sources.values():
        total += source.skipped
        total += source.quarantined
    return dict(total)


@pytest.fixture(params=["staged", "straight"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways into the lake: through the staging table, and straight into Parquet."""
    if request.param == "straight":
        monkeypatch.setattr(streaming, "STREAM_FROM", 0)
    return str(request.param)
