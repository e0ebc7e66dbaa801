"""The writer's database: one process at a time, migrations first, models as SELECT files."""

from target_health.warehouse.connection import open_writer

__all__ = ["open_writer"]
