"""What landing asks of whoever watches canaries; landing itself knows no canaries."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

import duckdb

from target_health.readers.raw import Row


class Watcher(Protocol):
    """``begin`` comes first, under the writer's lock; ``save`` runs in each batch's transaction."""

    def begin(self, warehouse: duckdb.DuckDBPyConnection) -> None:
        """Read what is known."""

    def see(self, event_id: str, row: Row) -> str | None:
        """A row whose body is at hand; a remark for the report, if there is one to make."""

    def evidence(self, site: str) -> str:
        """SQL of a typed row's evidence; ``site`` is the SQL of its site."""

    def save(self, warehouse: duckdb.DuckDBPyConnection, now: datetime) -> None:
        """Inside the transaction: keep what was seen."""

    def saved(self) -> None:
        """The transaction is committed."""


class NobodyWatches:
    """No canaries: the evidence of a row is its own."""

    def begin(self, warehouse: duckdb.DuckDBPyConnection) -> None:
        return

    def see(self, event_id: str, row: Row) -> str | None:
        return None

    def evidence(self, site: str) -> str:
        return "evidence"

    def save(self, warehouse: duckdb.DuckDBPyConnection, now: datetime) -> None:
        return

    def saved(self) -> None:
        return
