"""What people say of alarms afterwards, and what that adds up to."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from target_health.decisions.questions import (
    ask,
)
from target_health.errors import UsageError
from target_health.incidents.records import Incident, Standing
from target_health.incidents.rules import opened
from target_health.incidents.storage import refresh_incidents, save_incidents
from target_health.reviews import file_review, review_report, reviews_to_ask
from target_health.reviews.questions import question_texts
from target_health.warehouse.rows import rows_of
from tests.decisions.evidence import hour


def closed(con, site: str, reason: str, count: float = 10, acted: bool = True) -> Incident:
    """A closed incident opened at ``hour(count)``, first moved two hours before."""
    standing = Standing(site, "resisting", ("refusal", reason), 40.0, moved_at=hour(count - 2))
    made = opened("hostility", standing, "act", hour(count))
    made = replace(made, closed_at=hour(count + 9), closed_by="target-health", close_reason="x")
    save_incidents(con, [made])
    if acted:
        con.execute(
            "INSERT INTO actions BY NAME SELECT ? AS action_id, ? AS sequence, ? AS site, "
            "? AS decided_at, 'pause' AS kind, [] AS reasons, 'target-health' AS decided_by, "
            "'resisting' AS why, true AS applied, 'act' AS mode, ? AS incident_id",
            [made.incident_id, int(count), site, hour(count), made.incident_id],
        )
        refresh_incidents(con)
    return made


def file(con, incident: Incident, **more):
    given = {"by": "Kim", "now": hour(30), "is_false_alarm": False, **more}
    return file_review(con, incident.incident_id, **given)


def test_report_by_signal(con):
    one = closed(con, "a.example", "challenge")
    other = closed(con, "b.example", "challenge", 12)
    false = closed(con, "c.example", "latency", 14)
    file(con, one, onset_at=hour(7), are_reasons_right=True, was_early_enough=True)
    file(con, other, onset_at=hour(10), are_reasons_right=False, did_action_help=True)
    file(con, false, is_false_alarm=True)
    for day in range(61):
        con.execute(
            "INSERT INTO site_windows BY NAME SELECT 'a.example' AS site, ? AS window_start, ? AS "
            "window_end, 60 AS window_minutes, 9 AS requests, 9 AS judged, 9 AS ok, 0 AS "
            "hard_blocks, 0 AS challenges, 0 AS soft_blocks, 0 AS soft_404s, 0 AS paywalled, 0 AS "
            "unknown, 0 AS server_errors, 0 AS client_errors, 0 AS not_found, 0 AS redirects, "
            "9 AS attempts, 0 AS items",
            [hour(24 * day), hour(24 * day + 1)],
        )
    report = review_report(con)
    assert report.total.reviewed == 3
    assert report.false_alarms_a_site_month == pytest.approx(1 / report.site_months)
    assert report.site_months == pytest.approx(2.0, abs=0.01)
    challenge, latency = report.signals
    assert (challenge.signal, challenge.reviewed, challenge.false_alarms) == ("challenge", 2, 0)
    assert (challenge.reasons_right_share, challenge.action_helped_share) == (0.5, 1.0)
    # Onset to first movement: 60 and 0 minutes; to the pause: 180 and 120.
    assert challenge.onset_to_movement_minutes == 30
    assert challenge.onset_to_action_minutes == 150
    assert (latency.signal, latency.false_alarms, latency.early_enough_share) == (
        "latency",
        1,
        None,
    )


def test_no_review_is_no_report_of_zeros(con):
    report = review_report(con)
    assert (report.total.reviewed, report.false_alarms_a_site_month, report.signals) == (
        0,
        None,
        (),
    )
    assert report.total.reasons_right_share is None


def test_a_review_replaces_an_earlier_one(con):
    incident = closed(con, "a.example", "challenge")
    file(con, incident, is_false_alarm=True, note="tests")
    file(con, incident, by="Ada")
    (row,) = rows_of(con, "SELECT * FROM incident_reviews")
    assert (row["reviewed_by"], row["is_false_alarm"], row["note"]) == ("Ada", False, None)


def test_what_cannot_be_reviewed_is_refused(con):
    incident = closed(con, "a.example", "challenge")
    with pytest.raises(UsageError, match="no such incident"):
        file(con, replace(incident, incident_id="nothing"))
    with pytest.raises(UsageError, match="--by NAME"):
        file(con, incident, by=" ")
    with pytest.raises(UsageError, match="lies after the close"):
        file(con, incident, onset_at=hour(99))
    save_incidents(con, [replace(incident, closed_at=None, closed_by=None)])
    with pytest.raises(UsageError, match="still open"):
        file(con, incident)
    assert rows_of(con, "SELECT * FROM incident_reviews") == []


def test_people_are_asked_once_about_what_acted_and_closed_lately(con):
    acted = closed(con, "a.example", "challenge")
    closed(con, "b.example", "challenge", acted=False)
    (question,) = reviews_to_ask(con, hour(20))
    assert question.run_id == f"review-{acted.incident_id}"
    assert reviews_to_ask(con, hour(20) + timedelta(days=20)) == []
    ask(con, question)
    assert reviews_to_ask(con, hour(20)) == []
    texts = question_texts(con, question)
    assert texts["subject"] == "a.example: was the alarm right?"
    assert "pause by target-health" in texts["body"]
    file(con, acted)
    (row,) = rows_of(con, "SELECT answered_at FROM site_questions")
    assert row["answered_at"] == hour(30)


def test_texts_from_outside_neither_break_the_form_nor_render(con):
    from target_health.incidents.evidence import save_evidence

    incident = closed(con, "a.example", "challenge")
    hostile = "https://a.example/|<img src=x>`x`\n# H"
    sample = {"ts": "t", "status": 403, "error": None, "verdict": "hard_block", "url": hostile}
    save_evidence(con, {incident.incident_id: {"samples": [sample], "routes": []}})
    from target_health.decisions.questions import (
        Question,
    )

    body = question_texts(
        con, Question("r", "decision", incident.incident_id, "a.example", hour(0))
    )["body"]
    (line,) = [line for line in body.splitlines() if "hard_block |" in line]
    assert line.count("|") == 5
    assert "<img" not in body
    assert line.count("`") == 2
