"""Where things lie: the project's own files, and all that the system writes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

PROJECT_ROOT = Path(__file__).resolve().parents[2]
SHIPPED_CONFIG = PROJECT_ROOT / "include" / "config"
SHIPPED_EXPECTATIONS = PROJECT_ROOT / "include" / "expectations"
MODELS = PROJECT_ROOT / "sql" / "models"
MIGRATIONS = PROJECT_ROOT / "sql" / "migrations"
REPORTS = PROJECT_ROOT / "sql" / "reports"


@dataclass(frozen=True, slots=True)
class Home:
    """The tree under ``TARGET_HEALTH_HOME``; nothing is written outside of it."""

    root: Path

    @classmethod
    def from_environment(cls) -> Home:
        """``TARGET_HEALTH_HOME``, or ``var/`` under the project root."""
        configured = os.environ.get("TARGET_HEALTH_HOME")
        return cls(Path(configured).expanduser().resolve() if configured else PROJECT_ROOT / "var")

    @property
    def inbox(self) -> Path:
        return self.root / "inbox"

    @property
    def lake(self) -> Path:
        """Landed fetches: ``date=YYYY-MM-DD/hour=HH/*.parquet`` by event time."""
        return self.root / "lake" / "crawl_log"

    @property
    def quarantine(self) -> Path:
        return self.root / "quarantine"

    @property
    def work(self) -> Path:
        return self.root / "work"

    @property
    def warehouse(self) -> Path:
        """The writer's database; nobody else opens it."""
        return self.work / "warehouse.duckdb"

    @property
    def writer_lock(self) -> Path:
        return self.work / "writer.lock"

    @property
    def published(self) -> Path:
        """The database for everyone, replaced atomically."""
        return self.root / "health.duckdb"

    @property
    def control(self) -> Path:
        return self.root / "control" / "crawl_control.json"

    @property
    def data_docs(self) -> Path:
        """Great Expectations' pages on the last validations of items."""
        return self.root / "data_docs"

    @property
    def data_docs_store(self) -> Path:
        """What those pages are made of."""
        return self.work / "data_docs"


def expectations_directory() -> Path:
    """``TARGET_HEALTH_EXPECTATIONS``, or the shipped ``include/expectations``."""
    configured = os.environ.get("TARGET_HEALTH_EXPECTATIONS")
    return Path(configured).expanduser().resolve() if configured else SHIPPED_EXPECTATIONS


def config_directory() -> Path:
    """``TARGET_HEALTH_CONFIG``, or the shipped ``include/config``."""
    configured = os.environ.get("TARGET_HEALTH_CONFIG")
    return Path(configured).expanduser().resolve() if configured else SHIPPED_CONFIG


def configured_inbox() -> str | None:
    """``TARGET_HEALTH_INBOX``: a directory or fsspec URL in place of the home's inbox."""
    return os.environ.get("TARGET_HEALTH_INBOX") or None
