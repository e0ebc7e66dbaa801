"""Other numbers tried on reviewed incidents: a proposal for people to judge, never applied."""

from target_health.tuning.candidates import candidates, weight_choices
from target_health.tuning.judging import Judged, Outcome, Spell, judge
from target_health.tuning.proposal import Proposal, write_proposal
from target_health.tuning.replay import tune

__all__ = [
    "Judged",
    "Outcome",
    "Proposal",
    "Spell",
    "candidates",
    "judge",
    "tune",
    "weight_choices",
    "write_proposal",
]
