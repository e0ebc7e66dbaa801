"""``policy.yaml``: what the system may do by itself."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from target_health.config.files import Section
from target_health.config.scoring import Count, Points, Positive, Share, a_number

Mode = Literal["act", "observe"]


class IncidentRules(Section):
    """When incidents open besides the bands, come back, and close."""

    close_after_healthy_runs: Positive
    reopen_within_hours: Count
    parser_below: Points
    cost_above: Annotated[float, BeforeValidator(a_number), Field(gt=1, allow_inf_nan=False)]
    low_minutes: Count
    low_within_hours: Positive


class PagingRules(Section):
    """When a person is paged again, and how often a delivery is tried."""

    again_after_hours: Positive
    worse_points: Points
    attempts_a_run: Positive
    seconds_between_attempts: Annotated[float, BeforeValidator(a_number), Field(ge=0, le=60)]


class Policy(Section):
    mode: Mode
    act_within_hours: Annotated[float, BeforeValidator(a_number), Field(gt=0)]
    max_steps: Annotated[int, BeforeValidator(a_number), Field(ge=1, le=3)]
    restore_after_healthy_runs: Positive
    fuse_sites: Positive
    fuse_fleet_share: Share
    delivery_after_low_minutes: Count
    keep_paused_days: Positive
    incidents: IncidentRules
    paging: PagingRules
