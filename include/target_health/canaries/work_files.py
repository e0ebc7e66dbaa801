"""What one task or run leaves for the next, whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def write_json(path: Path, content: Any) -> None:
    """Put the content in place of the file, so that a reader sees the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".tmp")
    draft.write_text(json.dumps(content), encoding="utf-8")
    draft.replace(path)
