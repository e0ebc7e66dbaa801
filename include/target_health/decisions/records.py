"""What decisions are made from and what they are: frozen records, times in naive UTC."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from target_health.config.policy import Mode

Band = Literal["healthy", "degraded", "resisting", "unscored"]
StateName = Literal["active", "slowed", "paused", "stopped"]
AutomaticKind = Literal["slow_down", "pause", "restore"]
Kind = Literal["slow_down", "pause", "restore", "fuse", "human_pause", "human_resume", "human_stop"]

SYSTEM = "target-health"
# Three halvings, an eighth, is as slow as a site is crawled before it is paused.
LAST_STEP = 3


@dataclass(frozen=True, slots=True)
class SiteEvidence:
    """What the scores say of one site as of a run's end.

    ``band`` is ``unscored`` for a site no longer crawled. ``fresh_band`` and
    ``fresh_delivery_low`` come from the windows alone that started at or after the site's last
    action or human decision; ``fresh_band`` is None when there is no such window, and equals
    ``band`` when there was no action. ``delivery_low`` is a fall of delivery that lasted.
    ``scored_lately``: the site has a scored window in the last 24 hours, and so belongs to the
    fleet that the fuse counts.
    """

    site: str
    band: Band
    reasons: tuple[str, ...] = ()
    smoothed_score: float | None = None
    window_end: datetime | None = None
    delivery_low: bool = False
    fresh_band: Band | None = None
    fresh_delivery_low: bool = False
    scored_lately: bool = True


@dataclass(frozen=True, slots=True)
class Course:
    """How a site stands, and what the next decision needs to remember.

    ``step`` is kept while a site is paused. ``evidence_from`` is the time of the last action or
    human decision, ``healthy_since`` the end of the first healthy run of the present row,
    ``acted_run_end`` the end of the run that last acted, ``refused_run_end`` that of the last run
    that paused the site or would have, but for the fuse.
    """

    state: StateName = "active"
    step: int = 0
    since: datetime | None = None
    reasons: tuple[str, ...] = ()
    evidence_from: datetime | None = None
    healthy_since: datetime | None = None
    acted_run_end: datetime | None = None
    refused_run_end: datetime | None = None
    paused_by_human: bool = False

    @property
    def halted(self) -> bool:
        """Paused or stopped: only a human moves it."""
        return self.state in ("paused", "stopped")


@dataclass(frozen=True, slots=True)
class SiteState:
    """One site: its real course, and in observe mode the course it would have had.

    ``revision`` counts the site's actions; a plan made on another revision is void.
    """

    site: str
    real: Course = Course()
    shadow: Course | None = None
    normal_concurrency: int | None = None
    normal_revisit_interval_s: float | None = None
    last_run_end: datetime | None = None
    incident_id: str | None = None
    revision: int = 0

    def course(self, mode: Mode) -> Course:
        """The course that automatic decisions move in this mode."""
        return self.real if mode == "act" else self.shadow or self.real


@dataclass(frozen=True, slots=True)
class Mandate:
    """The human behind a decision: who, why, and when by the clock.

    ``present`` is that moment as the runs count time: windows from there on are newer evidence.
    """

    by: str
    why: str
    at: datetime
    present: datetime


@dataclass(frozen=True, slots=True)
class Action:
    """One decision, with who took it and why; a row of ``actions``.

    ``decided_at`` is the run's end for an automatic action, the clock for a human one.
    ``applied`` is false for what observe mode only records. A blown fuse has no site, states,
    steps or factors.
    """

    action_id: str
    site: str | None
    decided_at: datetime
    run_end: datetime | None
    kind: Kind
    from_state: StateName | None
    to_state: StateName | None
    from_step: int | None
    to_step: int | None
    concurrency_factor: float | None
    revisit_factor: float | None
    reasons: tuple[str, ...]
    decided_by: str
    why: str
    applied: bool
    mode: Mode
    incident_id: str | None = None


@dataclass(frozen=True, slots=True)
class FuseBlown:
    """Too many sites would have paused in one run: which, and out of how many."""

    run_end: datetime
    sites: tuple[str, ...]
    fleet: int
    applied: bool


@dataclass(frozen=True, slots=True)
class Decisions:
    """What one run decides: actions, the fuse if it blew, and every site's state before them.

    ``states`` hold what the run learned (healthy rows, shadows); ``actions`` are still to be
    carried out on them. ``fleet`` is the number of sites with a scored window in the last day.
    """

    run_end: datetime
    actions: tuple[Action, ...]
    fuse: FuseBlown | None
    states: tuple[SiteState, ...]
    fleet: int
