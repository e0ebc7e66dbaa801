"""``markers.yaml``: the files that a configuration's page marks are read from."""

from __future__ import annotations

from pathlib import Path

from target_health.paths import SHIPPED_CONFIG

NAME = "markers.yaml"


def marker_files(directory: Path) -> list[Path]:
    """The shipped file, and the configuration directory's own, whose marks are added to it."""
    shipped, own = SHIPPED_CONFIG / NAME, directory / NAME
    return [shipped, own] if own.exists() and own.resolve() != shipped.resolve() else [shipped]
