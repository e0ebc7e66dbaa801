"""Decisions: what follows from the bands, how each site stands, and what a human decides.

Rows in, frozen records out (``decide``); effects are idempotent by id (``record_plan``,
``apply_planned``, ``pause_sites``, ``resume_sites``).
"""

from target_health.decisions.commands import HumanDecision, pause_sites, resume_sites
from target_health.decisions.courses import states_after
from target_health.decisions.records import (
    Action,
    Course,
    Decisions,
    FuseBlown,
    SiteEvidence,
    SiteState,
)
from target_health.decisions.rules import decide
from target_health.decisions.runs import (
    BRANCHES,
    apply_planned,
    evidence_starts,
    last_acted,
    planned_branches,
    planned_kinds,
    record_plan,
    refuse_if_later,
)
from target_health.decisions.storage import load_states

__all__ = [
    "BRANCHES",
    "Action",
    "Course",
    "Decisions",
    "FuseBlown",
    "HumanDecision",
    "SiteEvidence",
    "SiteState",
    "apply_planned",
    "decide",
    "evidence_starts",
    "last_acted",
    "load_states",
    "pause_sites",
    "planned_branches",
    "planned_kinds",
    "record_plan",
    "refuse_if_later",
    "resume_sites",
    "states_after",
]
