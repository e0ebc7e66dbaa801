"""Short ways to say what a run saw, and to let runs follow each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from target_health.config.files import read_yaml
from target_health.config.policy import Policy
from target_health.config.sites import SiteEntry, Sites
from target_health.decisions import Decisions, SiteEvidence, SiteState, decide, states_after
from target_health.paths import SHIPPED_CONFIG

START = datetime(2026, 1, 31, 8)
HOUR = timedelta(hours=1)
SHOP = "shop.example"
SHIPPED = read_yaml(SHIPPED_CONFIG / "policy.yaml")


def hour(count: float) -> datetime:
    return START + count * HOUR


def policy(**changes: Any) -> Policy:
    return Policy.model_validate({**SHIPPED, **changes})


def sites(**modes: str) -> Sites:
    """Sites by name with a mode of their own (underscores stand for dots)."""
    return Sites(
        {
            name.replace("_", "."): SiteEntry.model_validate({"mode": m})
            for name, m in modes.items()
        },
        {},
    )


def saw(band: str, fresh: str | None = "same", site: str = SHOP, **more: Any) -> SiteEvidence:
    """Evidence whose fresh windows say the same as all of them, unless told otherwise."""
    if more.get("delivery_low") and "fresh_delivery_low" not in more:
        more["fresh_delivery_low"] = True
    return SiteEvidence(site, band, fresh_band=band if fresh == "same" else fresh, **more)


def one_run(
    states: Mapping[str, SiteState],
    run_end: datetime,
    evidence: Iterable[SiteEvidence],
    rules: Policy | None = None,
    configured: Sites | None = None,
) -> tuple[Decisions, dict[str, SiteState]]:
    """A run decided and carried out: what it decided, and the states after it."""
    decisions = decide(evidence, states, rules or policy(), configured or sites(), run_end)
    return decisions, states_after(decisions)


def hourly(
    bands: Iterable[SiteEvidence],
    rules: Policy | None = None,
    configured: Sites | None = None,
    states: Mapping[str, SiteState] | None = None,
    first: int = 0,
) -> tuple[list[str], dict[str, SiteState]]:
    """One run an hour over one site: what each did (``-`` for nothing), and the states."""
    states, kinds = dict(states or {}), []
    for count, evidence in enumerate(bands, start=first):
        decisions, states = one_run(states, hour(count), [evidence], rules, configured)
        kinds.append(",".join(action.kind for action in decisions.actions) or "-")
    return kinds, states
