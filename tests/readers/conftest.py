"""Readers are tried through whole landings too."""

from __future__ import annotations

from tests.landing.conftest import landing

__all__ = ["landing"]
