"""When incidents open, go on, come back and close."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from target_health.decisions import SiteState
from target_health.decisions.records import Course, FuseBlown
from target_health.incidents import Incident, Standing, follow_incidents
from target_health.incidents.records import incident_id
from tests.decisions.evidence import SHOP, hour, policy, sites

Latest = dict[tuple[str | None, str], Incident]


def stands(band: str, **more: Any) -> Standing:
    return Standing(more.pop("site", SHOP), band, **more)


def follow(
    latest: Latest,
    count: float,
    *standings: Standing,
    states: Mapping[str, SiteState] | None = None,
    fuse: FuseBlown | None = None,
    **rules: Any,
) -> Latest:
    changed = follow_incidents(
        standings, latest, states or {}, policy(**rules), sites(), hour(count), fuse
    )
    return {**latest, **{(one.site, one.kind): one for one in changed}}


def hourly(standings: Iterable[Standing], states: Any = None) -> Latest:
    latest: Latest = {}
    for count, standing in enumerate(standings):
        latest = follow(latest, count, standing, states=states)
    return latest


def slowed(step: int = 1, state: str = "slowed") -> dict[str, SiteState]:
    return {SHOP: SiteState(SHOP, Course(state, step))}


def test_leaving_healthy_opens_an_incident_with_its_first_movement() -> None:
    seen = [
        stands("healthy"),
        stands("degraded", score=70.0, reasons=("challenge",), moved_at=hour(-2)),
        stands("resisting", score=30.0, served_share=0.2, reasons=("refusal", "challenge")),
        stands("degraded", score=60.0, reasons=("challenge",)),
    ]
    (incident,) = hourly(seen).values()
    assert (incident.kind, incident.owner, incident.is_open) == ("hostility", "crawl", True)
    assert (incident.first_movement_at, incident.opened_at) == (hour(-2), hour(1))
    assert (incident.band, incident.worst_band) == ("degraded", "resisting")
    assert (incident.score, incident.worst_score, incident.worst_served_share) == (60, 30, 0.2)
    assert [one.band for one in incident.reasons_over_time] == ["degraded", "resisting", "degraded"]
    assert [one.moved_at for one in incident.reasons_over_time] == [hour(1), hour(2), hour(3)]


def test_it_closes_after_two_healthy_runs_and_not_before() -> None:
    falls = [stands("degraded"), stands("healthy")]
    assert hourly(falls)[SHOP, "hostility"].is_open
    closed = hourly([*falls, stands("healthy")])[SHOP, "hostility"]
    assert (closed.closed_at, closed.closed_by) == (hour(2), "target-health")


@pytest.mark.parametrize("state", ["slowed", "paused"])
def test_it_stays_open_while_the_site_is_not_back_at_its_pace(state: str) -> None:
    seen = [stands("degraded")] + [stands("healthy")] * 5
    assert hourly(seen, slowed(state=state))[SHOP, "hostility"].is_open


def test_a_site_without_a_score_neither_opens_nor_closes() -> None:
    assert hourly([stands("unscored")]) == {}
    assert hourly([stands("degraded"), *[stands("unscored")] * 9])[SHOP, "hostility"].is_open


def test_flapping_goes_on_in_the_same_incident() -> None:
    latest = hourly([stands("degraded"), stands("healthy"), stands("healthy")])
    first = latest[SHOP, "hostility"]
    again = follow(latest, 2 + 24, stands("resisting"))[SHOP, "hostility"]
    assert (again.incident_id, again.openings, again.is_open) == (first.incident_id, 2, True)
    assert again.first_movement_at == first.first_movement_at
    later = follow(latest, 2 + 25, stands("resisting"))[SHOP, "hostility"]
    assert later.incident_id != first.incident_id


def test_what_a_human_closed_does_not_come_back() -> None:
    latest = hourly([stands("degraded")])
    (key,) = latest
    latest[key] = replace(latest[key], closed_at=hour(0.5), closed_by="Kim")
    assert follow(latest, 1, stands("degraded")) == latest
    for again in (follow(latest, 1, stands("resisting")), follow(latest, 30, stands("degraded"))):
        assert again[key].incident_id != latest[key].incident_id
    # Nobody is left untold of a pause, whatever was closed before.
    latest = hourly([stands("resisting")])
    latest[key] = replace(latest[key], closed_at=hour(0.5), closed_by="Kim")
    assert follow(latest, 1, stands("resisting"))[key].is_open


def test_what_was_known_before_the_last_decision_is_no_news() -> None:
    old = stands("resisting", is_fresh=False)
    assert follow({}, 0, old) == {}
    latest = hourly([stands("degraded")])
    assert follow(latest, 1, old) == latest


def test_a_run_followed_again_changes_nothing_and_an_older_one_is_left() -> None:
    seen = stands("degraded", reasons=("challenge",), score=70.0)
    latest = hourly([stands("healthy"), seen])
    assert follow(latest, 1, seen) == latest
    # Acted on meanwhile, the same run sees nothing any more: that is no recovery.
    assert follow(latest, 1, stands("healthy")) == latest
    assert follow(latest, 0, stands("resisting")) == latest


@pytest.mark.parametrize(
    ("standing", "kind", "owner"),
    [
        (stands("healthy", delivery_low=True), "delivery", "crawl"),
        (stands("healthy", parser_low=True), "parser", "parser"),
        (stands("healthy", cost_high=True), "cost", "crawl"),
        (stands("healthy", diagnosis="route:pool=b"), "route", "route"),
        (stands("unscored", diagnosis="route:pool=b"), "route", "route"),
        (stands("unscored", deceived=True), "deception", "crawl"),
    ],
)
def test_each_kind_opens_for_its_own_trouble(standing: Standing, kind: str, owner: str) -> None:
    (incident,) = follow({}, 0, standing).values()
    assert (incident.kind, incident.owner) == (kind, owner)


def test_a_refusal_hides_what_follows_from_it() -> None:
    seen = stands("resisting", delivery_low=True, parser_low=True, cost_high=True)
    assert [kind for _, kind in follow({}, 0, seen)] == ["hostility"]


def test_two_kinds_at_one_site_are_two_incidents() -> None:
    seen = stands("degraded", diagnosis="route:pool=b")
    assert sorted(kind for _, kind in follow({}, 0, seen)) == ["hostility", "route"]


def test_the_fuse_is_the_fleets() -> None:
    blown = FuseBlown(hour(0), ("a.example", "b.example"), 6, applied=True)
    latest = follow({}, 0, fuse=blown)
    incident = latest[None, "fuse"]
    assert (incident.site, incident.incident_id) == (None, "fuse-fleet-20260131T080000Z")
    assert follow(latest, 0, fuse=None) == latest
    for count in (1, 2):
        latest = follow(latest, count)
    assert latest[None, "fuse"].closed_at == hour(2)


@given(st.text(min_size=1), st.text(min_size=1))
def test_ids_are_fit_for_airflow_and_tell_sites_apart(one: str, other: str) -> None:
    ids = [incident_id("hostility", site, hour(0)) for site in (one, other)]
    assert all(re.fullmatch(r"[A-Za-z0-9_.~:+-]{1,250}", name) for name in ids)
    assert (ids[0] == ids[1]) == (one == other)


looks = st.builds(
    Standing,
    st.just(SHOP),
    st.sampled_from(["healthy", "healthy", "degraded", "resisting", "unscored"]),
    delivery_low=st.booleans(),
    parser_low=st.sampled_from([None, True, False]),
    diagnosis=st.sampled_from([None, None, "site", "route:pool=b"]),
)


@given(st.lists(st.tuples(st.sampled_from([0, 1, 1, 1, 5, 30, -3]), looks), max_size=30))
@settings(deadline=None)
def test_one_open_incident_a_site_and_kind_whatever_happens(history: Any) -> None:
    every: dict[str, Incident] = {}
    latest: Latest = {}
    now = 0.0
    for ahead, seen in history:
        now += ahead
        latest = follow(latest, now, seen)
        for incident in latest.values():
            every[incident.incident_id] = incident
            assert incident.first_movement_at <= incident.opened_at <= incident.last_run_end
            assert incident.closed_at is None or incident.closed_at >= incident.opened_at
            times = [one.moved_at for one in incident.reasons_over_time]
            assert times == sorted(times)
    open_kinds = [one.kind for one in every.values() if one.is_open]
    assert len(open_kinds) == len(set(open_kinds))
    spans = sorted(
        (one.opened_at, one.closed_at or hour(10**4), one.kind) for one in every.values()
    )
    for kind in {kind for *_, kind in spans}:
        own = [span for span in spans if span[2] == kind]
        assert all(b[0] - a[1] > timedelta(hours=24) for a, b in pairwise(own))
