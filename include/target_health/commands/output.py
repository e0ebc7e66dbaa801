"""What commands print: JSON for programs, tables for people, progress on stderr."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from target_health.times import iso


def console() -> Console:
    """For tables: as wide as the terminal, or wide enough for a file."""
    return Console(width=None if sys.stdout.isatty() else 160, highlight=False)


def plain(value: Any) -> Any:
    """A value as JSON has it: times in ISO 8601 UTC, no NaN."""
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    return value


def print_json(value: Any) -> None:
    """One JSON document on stdout."""
    sys.stdout.write(json.dumps(plain(value), ensure_ascii=False, indent=2) + "\n")


@contextmanager
def progress_shown() -> Iterator[Any]:
    """A function that shows what is being done: a spinner on a terminal, lines elsewhere."""
    errors = Console(stderr=True, highlight=False)
    if errors.is_terminal:
        with errors.status("starting") as status:
            yield status.update
        return
    last = ""

    def show(message: str) -> None:
        nonlocal last
        if message != last:
            errors.print(message, markup=False, soft_wrap=True)
            last = message

    yield show
