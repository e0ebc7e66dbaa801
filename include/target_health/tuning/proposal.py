"""A proposal: today's numbers against others, and the ``scoring.yaml`` that would hold them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from target_health.config.files import merged, read_yaml
from target_health.config.scoring import Scoring
from target_health.times import iso
from target_health.tuning.candidates import changes
from target_health.tuning.judging import Outcome


@dataclass(frozen=True, slots=True)
class Proposal:
    """``best`` is None where nothing tried was better than today's numbers."""

    reviews: int
    tried: int
    today: Outcome
    today_scoring: Scoring
    best: Outcome | None = None
    best_scoring: Scoring | None = None

    @property
    def changes(self) -> dict[str, Any]:
        """The keys of ``scoring.yaml`` that the proposal changes."""
        if self.best_scoring is None:
            return {}
        return changes(self.best_scoring, self.today_scoring)


def write_proposal(proposal: Proposal, directory: Path, path: Path, now: datetime) -> Path:
    """A ``scoring.yaml`` that holds what the one in ``directory`` does, and the changes.

    It is a proposal: nothing reads it until a person puts it in place.
    """
    before = proposal.today_scoring.model_dump()
    content = merged(read_yaml(directory / "scoring.yaml"), proposal.changes)
    lines = [
        f"# Proposed by `target-health tune` at {iso(now.replace(microsecond=0))}, from "
        f"{proposal.reviews} reviewed incidents and {proposal.tried} sets of numbers tried.",
        "# Nothing reads this file until you put it in place of scoring.yaml. Changed:",
        *(f"#   {key}: {before[key]} -> {value}" for key, value in proposal.changes.items()),
        "",
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
    path.write_text("\n".join(lines) + text, encoding="utf-8")
    return path
