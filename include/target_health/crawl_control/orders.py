"""The control file's content as a crawler reads it: one order a site."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

STATES = frozenset({"active", "slowed", "paused", "stopped"})
HALTED = frozenset({"paused", "stopped"})


@dataclass(frozen=True, slots=True)
class Order:
    """What one site may be asked: ``state``, the factors, and absolute numbers where known."""

    state: str = "active"
    concurrency_factor: float = 1.0
    revisit_factor: float = 1.0
    concurrency: int | None = None
    revisit_interval_s: float | None = None

    @property
    def halted(self) -> bool:
        """No new request: paused or stopped."""
        return self.state in HALTED

    @property
    def slows(self) -> bool:
        """New requests, but perhaps fewer at once or less often than the crawler's own."""
        bounds = self.concurrency is not None
        return not self.halted and (
            bounds or self.concurrency_factor < 1 or self.revisit_factor > 1
        )

    def allows(self, *, canary: bool) -> bool:
        """Whether a request may be sent; canaries go on where a site is paused."""
        return not self.halted or (canary and self.state == "paused")


#: Of a site that the control file does not name.
NORMAL = Order()


def parse_orders(text: str | bytes) -> Mapping[str, Order]:
    """Each named site's order. Raises ``ValueError`` with what is wrong.

    Fields that are not known here are left alone, so that a newer control file is obeyed.
    """
    try:
        document = json.loads(text)
    except ValueError as problem:
        raise ValueError(f"is no JSON: {problem}") from None
    if not isinstance(document, dict) or not isinstance(document.get("sites"), dict):
        raise ValueError("holds no sites")
    if document.get("version") != 1:
        raise ValueError(f"has version {document.get('version')!r}, known is 1")
    return {site: _order(site, entry) for site, entry in document["sites"].items()}


def _order(site: str, entry: Any) -> Order:
    if not isinstance(entry, dict) or entry.get("state") not in STATES:
        raise ValueError(f"gives {site} no state that is known")
    concurrency = _number(site, entry, "concurrency", None)
    return Order(
        entry["state"],
        # Never above the crawler's own, whatever a file says.
        min(1.0, _number(site, entry, "concurrency_factor", 1.0) or 0.0),
        max(1.0, _number(site, entry, "revisit_factor", 1.0) or 1.0),
        None if concurrency is None else int(concurrency),
        _number(site, entry, "revisit_interval_s", None),
    )


def _number(site: str, entry: dict[str, Any], name: str, default: float | None) -> float | None:
    value = entry.get(name, default)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e12:
        raise ValueError(f"gives {site} a {name} that is no number")
    return value
