"""The control file on disk: whole or not at all."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from target_health.control.document import validate
from target_health.errors import TargetHealthError
from target_health.paths import Home

MODE = 0o644


def write_control(home: Home, document: dict[str, Any]) -> Path:
    """Put a document of ``build_control`` in place of the control file, atomically.

    A reader sees the old file or the new one, whatever kills the writer. Build and write while
    the warehouse is open for writing, so that an older document never replaces a newer one.
    """
    path = home.control
    path.parent.mkdir(parents=True, exist_ok=True)
    for leftover in path.parent.glob(f".{path.name}.*.tmp"):
        leftover.unlink(missing_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(document, file, ensure_ascii=False, indent=2, allow_nan=False)
            file.write("\n")
            file.flush()
            os.fchmod(file.fileno(), MODE)
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    # The rename itself is durable only once the directory is.
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
    return path


def read_control(home: Home) -> dict[str, Any]:
    """The control file's document, validated; ``TargetHealthError`` when there is none yet."""
    try:
        text = home.control.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise TargetHealthError(
            f"{home.control}: no control file yet; the first run that may act writes it"
        ) from None
    try:
        document = json.loads(text)
    except ValueError:
        raise TargetHealthError(
            f"{home.control}: is no JSON; the next run writes it anew"
        ) from None
    validate(document)
    return document
