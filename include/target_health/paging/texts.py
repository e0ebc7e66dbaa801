"""What a page says: site, what, since when, why, what was done, what to decide, where."""

from __future__ import annotations

from typing import Any

from target_health.incidents.records import Incident
from target_health.paging.records import Cause
from target_health.times import stamp

WHAT = {
    "hostility": "refuses our crawl",
    "deception": "shows us values that no visitor sees",
    "delivery": "brings far fewer pages than usual",
    "route": "fails on one route",
    "parser": "has records that fail validation",
    "cost": "costs more a valid record than usual",
    "fuse": "many sites refused at once",
}
AGAIN: dict[Cause, str] = {
    "paused again": "Paused again after it was resumed.",
    "worse": "It got worse since the last page.",
    "unanswered": "Nobody has answered the last page.",
    "asked again": "The time for which it was to be kept paused is over.",
}
SAMPLES_SHOWN = 3


def title_of(incident: Incident, cause: Cause) -> str:
    """One line, for a pager's screen."""
    again = "" if cause == "new" else f" ({cause})"
    if incident.kind == "fuse":
        return f"Fuse blown: many sites refused at once{again}"
    if incident.kind == "route":
        return f"{route_of(incident)} is down{again}"
    what = f"{incident.site} {WHAT[incident.kind]}"
    return (
        f"{what}: {pace_words(incident)}{again}" if incident.kind == "hostility" else what + again
    )


def pace_words(incident: Incident) -> str:
    return "paused" if incident.mode == "act" else "would be paused"


def route_of(incident: Incident) -> str:
    return f"Route {(incident.diagnosis or '').removeprefix('route:')}"


def body_of(incident: Incident, cause: Cause, row: dict[str, Any], link: str | None) -> str:
    """Plain text; ``row`` is the incident's of the warehouse, with evidence as a mapping."""
    lines = [AGAIN[cause]] if cause in AGAIN else []
    lines += [
        f"What: {incident.site or 'the fleet'} {WHAT[incident.kind]}, band {incident.band}"
        + ("" if incident.score is None else f", smoothed score {incident.score:.0f}"),
        f"Since: {stamp(incident.first_movement_at)}",
        f"Why: {', '.join(incident.reasons) or 'see the evidence'}"
        + (f"; diagnosis {incident.diagnosis}" if incident.diagnosis else ""),
    ]
    evidence = row.get("evidence") or {}
    if evidence.get("sites"):
        lines.append(f"Sites: {len(evidence['sites'])} of {evidence['fleet']}")
    for fetch in (evidence.get("samples") or [])[:SAMPLES_SHOWN]:
        answer = fetch["status"] if fetch["status"] is not None else fetch["error"]
        lines.append(f"  {fetch['ts']} {answer or 'no answer'} {fetch['verdict']} {fetch['url']}")
    lines += suspect(evidence.get("canary_verdict") or {}) if incident.kind == "deception" else []
    lines.append("Done: " + ("; ".join(map(deed, row.get("actions") or [])) or "nothing"))
    lines += to_decide(incident)
    if link:
        lines.append(f"Answer: {link}")
    lines.append(f"Evidence: target-health incidents show {incident.incident_id}")
    return "\n".join(lines)


def suspect(verdict: dict[str, Any]) -> list[str]:
    """Since when data is suspect, how much of it there is, and which values were wrong."""
    if not verdict:
        return []
    since = verdict["suspect_since"] or "ever: no canary was right before"
    told = f"{verdict['records_since']} records, {verdict['fetches_since']} pages"
    return [f"Suspect: what was collected since {since} ({told})", *verdict["notes"]]


def deed(action: dict[str, Any]) -> str:
    held = "" if action["applied"] else " (observed only)"
    return f"{action['kind']}{held} {stamp(action['decided_at'])}"


def to_decide(incident: Incident) -> list[str]:
    """What is asked of the person, and how it is said on a command line."""
    if incident.kind == "hostility":
        return [
            "Decide: resume slower, keep paused until a date, switch to an official API or feed, "
            "stop, or accept as the new normal.",
            f"Or: target-health decide {incident.site} resume --by NAME --why TEXT",
        ]
    if incident.kind == "fuse":
        return [
            "Decide: look for trouble of our own first (network, proxies, a deployment); the sites "
            "were slowed, none was paused."
        ]
    if incident.kind == "route":
        return ["Decide: repair or replace the route; sites were not slowed for it."]
    if incident.kind == "deception":
        return [
            "Decide: whether to pause the site, and what becomes of what was collected since. If a "
            "value rightly changed:",
            f"Or: target-health canary accept {incident.site} PAGE --by NAME --why TEXT",
        ]
    return ["Decide: whether to pause the site, and whether what was collected can be trusted."]
