"""What people are shown when they are asked: Markdown for Airflow's form."""

from __future__ import annotations

import json
from typing import Any

import duckdb

from target_health.decisions.questions import Question
from target_health.incidents.evidence import canaries_of
from target_health.times import stamp
from target_health.warehouse.rows import rows_of


def question_texts(con: duckdb.DuckDBPyConnection, question: Question) -> dict[str, str]:
    """``subject`` and ``body`` of a question, with the incident's evidence."""
    (row,) = rows_of(con, "SELECT * FROM incidents WHERE incident_id = ?", [question.incident_id])
    row = {**row, "evidence": json.loads(row["evidence"]) if row["evidence"] else {}}
    if question.kind == "review":
        return {
            "subject": f"{row['site'] or 'The fleet'}: was the alarm right?",
            "body": "\n".join(
                [
                    *told(row),
                    f"- Closed {stamp(row['closed_at'])} by {row['closed_by']}"
                    if row["closed_at"]
                    else "- Open again",
                    *done(row),
                    *moved(row),
                ]
            ),
        }
    canaries = canaries_of(con, str(row["site"]), paused_at(row))
    return {
        "subject": f"{row['site']} refuses our crawl and is paused: what next?",
        "body": "\n".join(
            [*told(row), *done(row), *moved(row), *samples(row), *routes(row), *watched(canaries)]
        ),
    }


def told(row: dict[str, Any]) -> list[str]:
    score = "unknown" if row["worst_score"] is None else f"{row['worst_score']:.0f}"
    return [
        f"- What: {row['kind']}, at worst {row['worst_band']}, smoothed score {score}",
        f"- Since: {stamp(row['first_movement_at'])}",
        f"- Why: {', '.join(row['reasons']) or 'no reason now'}",
        f"- Whose: {row['owner']}" + (f", {row['diagnosis']}" if row["diagnosis"] else ""),
    ]


def paused_at(row: dict[str, Any]) -> Any:
    pauses = [action["decided_at"] for action in row["actions"] if action["kind"] == "pause"]
    return pauses[-1] if pauses else row["opened_at"]


def done(row: dict[str, Any]) -> list[str]:
    lines = [
        f"- {stamp(one['decided_at'])} {one['kind']} by {one['decided_by']}: {plain(one['why'])}"
        for one in row["actions"]
    ]
    return ["", "**What was done**", "", *lines] if lines else []


def moved(row: dict[str, Any]) -> list[str]:
    lines = []
    for one in row["reasons_over_time"]:
        score = "–" if one["score"] is None else f"{one['score']:.0f}"
        lines.append(
            f"- {stamp(one['moved_at'])} {one['band']} {score} {', '.join(one['reasons'])}".rstrip()
        )
    return ["", "**How it moved**", "", *lines]


def samples(row: dict[str, Any]) -> list[str]:
    fetches = row["evidence"].get("samples") or []
    if not fetches:
        return []
    head = ["", "**Sample fetches**", "", "| time | status | verdict | URL |", "|---|---|---|---|"]
    return head + [
        f"| {one['ts']} | {one['status'] if one['status'] is not None else one['error'] or '–'} "
        f"| {one['verdict']} | `{plain(one['url'])}` |"
        for one in fetches
    ]


def routes(row: dict[str, Any]) -> list[str]:
    split = row["evidence"].get("routes") or []
    if not split:
        return []
    head = ["", "**By route**", "", "| route | failed | fetches |", "|---|---|---|"]
    return head + [
        f"| {one['dimension']}={plain(one['value'])} | {one['failed']} | {one['fetches']} |"
        for one in split
    ]


def watched(canaries: list[dict[str, Any]]) -> list[str]:
    """What canaries say since the pause."""
    if not canaries:
        return ["", "No canary has looked at it since."]
    lines = [
        "- " + plain(", ".join(f"{key} {value}" for key, value in one.items() if value is not None))
        for one in canaries
    ]
    return ["", "**Canaries since the pause**", "", *lines]


def plain(text: object) -> str:
    """A text from outside, so that it neither breaks a table nor renders."""
    return " ".join(str(text).replace("|", "%7C").replace("`", "%60").replace("<", "%3C").split())
