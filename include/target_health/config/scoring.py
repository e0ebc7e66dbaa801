"""``scoring.yaml``: the numbers that windows, baselines, scores and bands are made with."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from target_health.config.files import Section
from target_health.times import to_utc

AUTO_WINDOW_MINUTES = (15, 30, 60, 120, 240, 480, 1440)
FIXED_WINDOW_MINUTES = (5, 10, 15, 20, 30, 60, 120, 240, 480, 1440)


def a_number(value: object) -> object:
    """Numbers only: YAML's ``yes`` and quoted digits are mistakes here, not numbers."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise ValueError("must be a number")
    return value


Number = Annotated[float, BeforeValidator(a_number), Field(allow_inf_nan=False)]
Share = Annotated[float, BeforeValidator(a_number), Field(ge=0, le=1, allow_inf_nan=False)]
Rise = Annotated[float, BeforeValidator(a_number), Field(gt=0, le=1, allow_inf_nan=False)]
Count = Annotated[int, BeforeValidator(a_number), Field(ge=0)]
Positive = Annotated[int, BeforeValidator(a_number), Field(gt=0)]
Points = Annotated[float, BeforeValidator(a_number), Field(ge=0, le=100, allow_inf_nan=False)]


class Weights(Section):
    """Points that each signal costs at full penalty; no score falls below 0."""

    hard_block: Points
    challenge: Points
    soft_block: Points
    latency: Points


class Scoring(Section):
    """The numbers of ``scoring.yaml`` for one site, whole and validated."""

    window_minutes: int | Literal["auto"]
    min_requests: Positive
    baseline_days: Positive
    baseline_gap_days: Count
    baseline_max_days: Positive
    min_baseline_requests: Positive
    min_baseline_days: Positive
    min_ok_for_p95: Count
    flag_rise: Rise
    baseline_from: datetime | None
    weights: Weights
    full_rate_rise: Rise
    full_latency_factor: Annotated[
        float, BeforeValidator(a_number), Field(gt=1, allow_inf_nan=False)
    ]
    mostly_unknown_share: Share
    mostly_unknown_rise: Share
    max_base_denied_share: Share
    delivery_fall: Rise
    reason_points: Points
    smoothing_half_life_minutes: Annotated[
        float, BeforeValidator(a_number), Field(gt=0, allow_inf_nan=False)
    ]
    smoothing_hours: Positive
    healthy_from: Points
    degraded_from: Points
    pause_below_served_share: Share | None
    lasting_hours: Positive
    degraded_after_low_minutes: Count
    resisting_after_low_minutes: Count
    low_windows_in_a_row: Positive
    soft_block_size_share: Share
    soft_block_item_share: Share
    soft_block_same_answer_urls: Positive
    soft_block_small_page_share: Share
    route_exits_kept: Positive
    route_sessions_kept: Positive
    route_minutes: Positive
    route_rise: Rise
    route_min_failures: Count
    route_excess_share: Rise
    route_rest_min_requests: Positive
    route_rest_rise: Share
    route_contrast: Annotated[float, BeforeValidator(a_number), Field(ge=0, allow_inf_nan=False)]
    min_extractions: Positive
    full_invalid_rise: Rise
    parser_min_invalid: Count

    @field_validator("window_minutes", mode="before")
    @classmethod
    def an_allowed_length(cls, value: object) -> object:
        if value == "auto" or (value in FIXED_WINDOW_MINUTES and not isinstance(value, bool)):
            return value
        allowed = ", ".join(map(str, FIXED_WINDOW_MINUTES))
        raise ValueError(f"must be auto or one of {allowed} minutes")

    @field_validator("baseline_from")
    @classmethod
    def in_utc(cls, value: datetime | None) -> datetime | None:
        return to_utc(value) if value else None

    @model_validator(mode="after")
    def periods_and_bands_in_order(self) -> Scoring:
        if not self.baseline_gap_days < self.baseline_days <= self.baseline_max_days:
            raise ValueError(
                "baseline_days: must be baseline_gap_days < baseline_days <= baseline_max_days, "
                f"not {self.baseline_gap_days}, {self.baseline_days}, {self.baseline_max_days}"
            )
        if self.degraded_from > self.healthy_from:
            raise ValueError(
                f"degraded_from: must not be above healthy_from, {self.healthy_from:g} "
                f"(got {self.degraded_from:g})"
            )
        if self.baseline_gap_days < 1:
            raise ValueError(
                "baseline_gap_days: must be at least 1: a window is judged by older days only"
            )
        return self
