"""Who is paged when: pure functions."""

from __future__ import annotations

from datetime import datetime

from target_health.config.policy import PagingRules
from target_health.incidents.records import Incident
from target_health.paging.records import Cause, Situation
from target_health.times import HOUR


def calls_a_person(incident: Incident, situation: Situation) -> bool:
    """Whether an incident is one for a page now: resisting, deception, a route down, the fuse.

    The rest goes into the daily digest. A site that the fuse spared is not paused: the fuse's own
    page stands for it.
    """
    if not incident.is_open:
        return False
    if incident.kind == "hostility":
        return situation.paused_at is not None
    if incident.kind == "route":
        return situation.down
    return incident.kind in ("deception", "fuse")


def cause_to_page(
    incident: Incident, situation: Situation, rules: PagingRules, now: datetime
) -> Cause | None:
    """Why to page about an incident now, or None.

    Once an incident; again only when it gets worse (paused anew, or far below the score of the
    last page), or when nobody answered for ``again_after_hours``.
    """
    if not calls_a_person(incident, situation):
        return None
    if not situation.pages:
        return "new"
    paged_at, paged_score = situation.pages[-1]
    if situation.paused_at is not None and situation.paused_at > paged_at:
        return "paused again"
    if situation.keep_until is not None and now < situation.keep_until:
        return None
    if fell_far(incident.worst_score, paged_score, rules.worse_points):
        return "worse"
    answered = situation.answered_at is not None and situation.answered_at >= paged_at
    if answered and situation.keep_until is not None and paged_at < situation.keep_until <= now:
        return "asked again"
    if not answered and now - paged_at >= rules.again_after_hours * HOUR:
        return "unanswered"
    return None


def fell_far(score: float | None, paged_score: float | None, worse_points: float) -> bool:
    return score is not None and paged_score is not None and score <= paged_score - worse_points
