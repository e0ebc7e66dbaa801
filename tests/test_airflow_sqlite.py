"""Two transactions on SQLite wait for each other where SQLAlchemy alone would let one fail."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine, event, text
from sqlalchemy.exc import OperationalError

from target_health.airflow_sqlite import begin_by_writing, take_turns


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    made = create_engine(f"sqlite:///{tmp_path / 'db.sqlite'}?timeout=20")

    @event.listens_for(made, "connect")
    def as_airflow_does(connection, record) -> None:
        connection.execute("PRAGMA journal_mode=WAL")

    with made.begin() as connection:
        connection.execute(text("CREATE TABLE runs (name TEXT)"))
    yield made
    made.dispose()
    if event.contains(Engine, "savepoint", begin_by_writing):
        event.remove(Engine, "savepoint", begin_by_writing)


def insert(engine: Engine, name: str) -> None:
    with engine.begin() as connection:
        connection.execute(text("INSERT INTO runs VALUES (:name)"), {"name": name})


def names(engine: Engine) -> set[str]:
    with engine.connect() as connection:
        return {name for (name,) in connection.execute(text("SELECT name FROM runs"))}


def create_as_a_backfill_does(engine: Engine, meanwhile) -> None:
    """In a savepoint: read, let another write, write."""
    with engine.connect() as connection:
        with connection.begin_nested():
            connection.execute(text("SELECT count(*) FROM runs")).scalar()
            meanwhile()
            connection.execute(text("INSERT INTO runs VALUES ('backfill')"))
        connection.commit()


def test_savepoint_waits_its_turn(engine: Engine) -> None:
    take_turns()
    take_turns()
    other = threading.Thread(target=insert, args=(engine, "scheduler"))
    create_as_a_backfill_does(engine, other.start)
    other.join(timeout=20)
    assert names(engine) == {"backfill", "scheduler"}


def test_without_it_the_second_writer_fails(engine: Engine) -> None:
    with pytest.raises(OperationalError, match="locked"):
        create_as_a_backfill_does(engine, lambda: insert(engine, "scheduler"))
