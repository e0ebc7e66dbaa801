"""The sidecars of the models, as they are written."""

from __future__ import annotations

from functools import cache
from typing import Any

import yaml

from target_health.paths import MODELS


@cache
def sidecar(model: str) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((MODELS / f"{model}.yml").read_text(encoding="utf-8"))
    return content
