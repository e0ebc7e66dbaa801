from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from target_health.config import Configuration, load_configuration


@pytest.fixture
def configured(tmp_path: Path) -> Callable[..., Configuration]:
    """Configurations from the text of ``policy.yaml`` and ``sites.yaml``."""

    def load(policy: str = "", sites: str = "") -> Configuration:
        (tmp_path / "policy.yaml").write_text(policy)
        (tmp_path / "sites.yaml").write_text(sites)
        return load_configuration(tmp_path)

    return load
