"""What incidents are and what they are made from: frozen records, times in naive UTC."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from target_health.config.policy import Mode
from target_health.decisions.records import Band, Owner

Kind = Literal["hostility", "deception", "delivery", "route", "parser", "cost", "fuse"]

# In the order in which one of them stands for a site that has several.
SITE_KINDS: tuple[Kind, ...] = ("hostility", "deception", "delivery", "route", "parser", "cost")
OWNERS: dict[Kind, Owner] = {
    "hostility": "crawl",
    "deception": "crawl",
    "delivery": "crawl",
    "route": "route",
    "parser": "parser",
    "cost": "crawl",
    "fuse": "crawl",
}
BAND_RANK: dict[str, int] = {"unscored": 0, "healthy": 1, "degraded": 2, "resisting": 3}
# An incident's id names a run of Airflow too, which allows these characters and 250 of them.
NOT_IN_IDS = re.compile(r"[^A-Za-z0-9_.~:+-]")
LONGEST_NAME = 160


@dataclass(frozen=True, slots=True)
class Standing:
    """What a run sees of one site, for incidents.

    ``delivery_low``, ``parser_low`` and ``cost_high`` are falls that lasted. A None among them, and
    in ``deceived``, says that the run cannot tell. ``is_fresh`` is false where band and delivery
    are low only through windows from before the site's last action or human decision.
    ``moved_at`` is the start of the first window of the present row of windows with a reason.
    """

    site: str
    band: Band
    reasons: tuple[str, ...] = ()
    score: float | None = None
    served_share: float | None = None
    diagnosis: str | None = None
    delivery_low: bool = False
    parser_low: bool | None = None
    cost_high: bool | None = None
    deceived: bool | None = None
    is_fresh: bool = True
    moved_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Movement:
    """Band, smoothed score, reasons and diagnosis as of a run's end."""

    moved_at: datetime
    band: str
    score: float | None
    reasons: tuple[str, ...]
    diagnosis: str | None = None


@dataclass(frozen=True, slots=True)
class Incident:
    """One spell outside healthy; ``site`` is None for a blown fuse.

    ``openings`` counts how often it came back soon after a recovery, plus one. ``closed_by`` is the
    system's name after a recovery, else a person's.
    """

    incident_id: str
    site: str | None
    kind: Kind
    owner: Owner
    mode: Mode
    first_movement_at: datetime
    opened_at: datetime
    band: str
    worst_band: str
    reasons: tuple[str, ...]
    reasons_over_time: tuple[Movement, ...]
    seen_at: datetime
    last_run_end: datetime
    closed_at: datetime | None = None
    closed_by: str | None = None
    close_reason: str | None = None
    openings: int = 1
    score: float | None = None
    worst_score: float | None = None
    worst_served_share: float | None = None
    diagnosis: str | None = None
    quiet_since: datetime | None = None

    @property
    def is_open(self) -> bool:
        return self.closed_at is None


def incident_id(kind: Kind, site: str | None, opened_at: datetime) -> str:
    """``<kind>-<site>-<time>``, unique, and fit to name a run of Airflow."""
    name = site or "fleet"
    plain = NOT_IN_IDS.sub("_", name)[:LONGEST_NAME]
    if plain != name:
        plain += "." + hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{kind}-{plain}-{opened_at:%Y%m%dT%H%M%S}Z"
