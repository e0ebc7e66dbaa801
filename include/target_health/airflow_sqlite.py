"""Airflow's metadata on SQLite: transactions that wait for each other instead of failing.

SQLite refuses at once, whatever the time-out, to let a transaction write that began by reading what
another has changed since. ``airflow backfill create`` begins each run that way while the scheduler
is busy with the runs before it. A savepoint outside a transaction therefore takes its turn to write
before it reads.
"""

from __future__ import annotations

import sqlite3

from sqlalchemy import Connection, Engine, event

# Airflow imports a module of this name from `config/` under its home, in each of its processes.
LOCAL_SETTINGS = "airflow_local_settings.py"
LOCAL_SETTINGS_TEXT = """\
from target_health.airflow_sqlite import take_turns

take_turns()
"""


def take_turns() -> None:
    """From now on, in this process; Postgres is left alone."""
    if not event.contains(Engine, "savepoint", begin_by_writing):
        event.listen(Engine, "savepoint", begin_by_writing)


def begin_by_writing(connection: Connection, name: str) -> None:
    """Before SQLAlchemy sets a savepoint."""
    raw = connection.connection.dbapi_connection
    if isinstance(raw, sqlite3.Connection) and not raw.in_transaction:
        raw.execute("BEGIN IMMEDIATE")
