"""The control document says what the states mean, and its schema knows when one does not."""

from __future__ import annotations

import copy
from datetime import datetime

import pytest

from target_health.control import build_control, control_rows, validate
from target_health.decisions import Course, SiteState
from target_health.decisions.storage import save_states
from target_health.errors import TargetHealthError

NOON = datetime(2026, 1, 31, 12)
NORMALS = "sites: {shop.example: {concurrency: 6, revisit_interval_s: 90.5}}"


def build(con, configuration, state="active", step=0, *, site="shop.example", reasons=()):
    save_states(con, [SiteState(site, Course(state, step, since=NOON, reasons=reasons))])
    return build_control(con, configuration, datetime(2026, 1, 31, 13, 7, 1, 5000))


@pytest.mark.parametrize(
    ("state", "step", "orders"),
    [
        ("active", 0, (1, 1, 6, 90.5)),
        ("slowed", 1, (0.5, 2, 3, 181)),
        ("slowed", 2, (0.25, 4, 1, 362)),
        ("slowed", 3, (0.125, 8, 1, 724)),
        ("paused", 0, (0, 1, 0, 90.5)),
        ("paused", 3, (0, 8, 0, 724)),
        ("stopped", 1, (0, 2, 0, 181)),
    ],
)
def test_factors_and_numbers_of_each_state(con, configured, state, step, orders):
    factor, revisit_factor, concurrency, interval = orders
    document = build(con, configured(NORMALS), state, step, reasons=("refusal", "latency"))
    assert document == {
        "version": 1,
        "generated_at": "2026-01-31T13:07:01.005000Z",
        "sites": {
            "shop.example": {
                "state": state,
                "step": step,
                "concurrency_factor": factor,
                "revisit_factor": revisit_factor,
                "concurrency": concurrency,
                "revisit_interval_s": interval,
                "effective_cost": None,
                "since": "2026-01-31T12:00:00Z",
                "reasons": ["refusal", "latency"],
                "incident_id": None,
            }
        },
    }
    validate(document)


@pytest.mark.parametrize("state", ["active", "paused"])
def test_without_a_configured_normal_there_are_factors_only(con, configured, state):
    (order,) = build(con, configured(""), state)["sites"].values()
    assert (order["concurrency"], order["revisit_interval_s"]) == (None, None)
    assert order["concurrency_factor"] == (1 if state == "active" else 0)


def test_the_configured_normal_counts_and_not_the_one_stored(con, configured):
    build(con, configured(NORMALS))
    changed = configured("sites: {shop.example: {concurrency: 2}}")
    (order,) = build_control(con, changed, NOON)["sites"].values()
    assert (order["concurrency"], order["revisit_interval_s"]) == (2, None)


def test_no_site_is_a_valid_document(con, configured):
    document = build_control(con, configured(""), NOON)
    assert document["sites"] == {}
    validate(document)


@pytest.mark.parametrize(
    ("change", "at"),
    [
        ({"concurrency_factor": 2}, "concurrency_factor"),
        ({"concurrency_factor": 0.5}, "concurrency_factor"),
        ({"concurrency_factor": 0}, "concurrency_factor"),
        ({"revisit_factor": 0.5}, "revisit_factor"),
        ({"state": "boosted"}, "state"),
        ({"state": "paused"}, "concurrency"),
        ({"state": "slowed"}, "shop.example"),
        ({"step": -1}, "step"),
        ({"step": 1}, "step"),
        ({"concurrency": -1}, "concurrency"),
        ({"concurrency": 1.5}, "concurrency"),
        ({"revisit_interval_s": 0}, "revisit_interval_s"),
        ({"since": "yesterday"}, "since"),
        ({"since": None}, "since"),
        ({"reasons": None}, "reasons"),
        ({"speed": 3}, "shop.example"),
    ],
)
def test_the_schema_refuses_what_no_state_means(con, configured, change, at):
    document = copy.deepcopy(build(con, configured(NORMALS)))
    document["sites"]["shop.example"].update(change)
    with pytest.raises(TargetHealthError) as refusal:
        validate(document)
    assert at in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_every_field_is_required(con, configured):
    document = build(con, configured(NORMALS))
    for field in document["sites"]["shop.example"]:
        part = copy.deepcopy(document)
        del part["sites"]["shop.example"][field]
        with pytest.raises(TargetHealthError, match=field):
            validate(part)


def test_rows_to_show_begin_with_the_sites_that_are_not_crawled(con, configured):
    for site, state, step in [
        ("a.example", "active", 0),
        ("b.example", "slowed", 1),
        ("c.example", "slowed", 3),
        ("d.example", "paused", 0),
        ("e.example", "stopped", 0),
    ]:
        document = build(con, configured(""), state, step, site=site)
    rows = control_rows(document)
    assert [row["site"][0] for row in rows] == ["e", "d", "c", "b", "a"]
    assert rows[2]["revisit_factor"] == 8
