"""Numbered migrations, each applied once and in one transaction."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import duckdb

from target_health.errors import TargetHealthError
from target_health.paths import MIGRATIONS

FILE_NAME = re.compile(r"(\d{4})_[a-z0-9_]+\.sql")


@dataclass(frozen=True, slots=True)
class Migration:
    number: int
    path: Path


def known_migrations(directory: Path = MIGRATIONS) -> list[Migration]:
    """The migrations that ship, in order; ``ValueError`` when a number stands twice."""
    found = [
        Migration(int(match[1]), path)
        for path in sorted(directory.glob("*.sql"))
        if (match := FILE_NAME.fullmatch(path.name))
    ]
    if len({migration.number for migration in found}) != len(found):
        raise ValueError(f"a migration number stands twice in {directory}")
    return found


def migrate(connection: duckdb.DuckDBPyConnection, directory: Path = MIGRATIONS) -> None:
    """Bring the schema up to the newest migration; refuse a database that is newer than us."""
    connection.execute(
        "CREATE TABLE IF NOT EXISTS schema_migrations (number INTEGER, name VARCHAR)"
    )
    rows = connection.execute("SELECT number FROM schema_migrations").fetchall()
    applied = {row[0] for row in rows}
    migrations = known_migrations(directory)
    unknown = applied - {migration.number for migration in migrations}
    if unknown:
        raise TargetHealthError(
            f"the warehouse has schema {max(unknown)}, which this program does not know: "
            "install the newer Target Health that wrote it"
        )
    for migration in migrations:
        if migration.number in applied:
            continue
        connection.execute("BEGIN")
        try:
            connection.execute(migration.path.read_text(encoding="utf-8"))
            connection.execute(
                "INSERT INTO schema_migrations VALUES (?, ?)",
                [migration.number, migration.path.stem],
            )
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise
