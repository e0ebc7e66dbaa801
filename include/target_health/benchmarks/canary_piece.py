"""A round of canaries against a server of local sites, of which some pages hang."""

from __future__ import annotations

import time
from pathlib import Path

from target_health.benchmarks.measuring import Report
from target_health.canaries.runs import look
from target_health.config import load_configuration
from target_health.paths import Home


def round_of_canaries(home: str, config: str) -> Report:
    """Fetch and judge every canary; how many of each outcome, and how long the round took."""
    began = time.monotonic()
    observations = look(Home(Path(home)), load_configuration(Path(config)))
    outcomes: dict[str, int] = {}
    for seen in observations:
        outcomes[seen.outcome] = outcomes.get(seen.outcome, 0) + 1
    return {"seconds": time.monotonic() - began, "outcomes": outcomes}
