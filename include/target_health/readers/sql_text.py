"""Texts inside generated SQL."""

from __future__ import annotations


def literal(text: str) -> str:
    """A SQL string literal."""
    return "'" + text.replace("'", "''") + "'"
