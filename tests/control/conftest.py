from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from target_health.config import Configuration, load_configuration
from target_health.paths import Home


@pytest.fixture
def configured(tmp_path: Path) -> Callable[[str], Configuration]:
    """A configuration from the text of ``sites.yaml``."""

    def load(sites: str = "") -> Configuration:
        (tmp_path / "sites.yaml").write_text(sites)
        return load_configuration(tmp_path)

    return load


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "var")
