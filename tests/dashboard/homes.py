"""Homes with a small published history, made by the job itself."""

from __future__ import annotations

import json
import shutil
from datetime import datetime, timedelta
from pathlib import Path

import duckdb

from target_health import job
from target_health.config import load_configuration
from target_health.paths import SHIPPED_CONFIG, Home
from target_health.times import HOUR
from target_health.warehouse import open_writer

END = datetime(2026, 3, 10, 12)
DAYS = 6
NOW = END + timedelta(minutes=5)

CALM, REFUSING, SILENT = "calm.example", "refusing.example", "silent.example"
HOSTILE = "<img src=x onerror=alert(1)>"
HOSTILE_URL = "https://calm.example/\"><script>alert(2)</script>?a='b'"
FORMULA = "=hyperlink('x')"
KOREAN_WHY = "사이트가 차단함: <b>확인 필요</b>"


def log_lines() -> list[dict[str, object]]:
    """Sixty fetches an hour for two sites, one of which answers 403 in the last four hours."""
    lines: list[dict[str, object]] = []
    moment = END - timedelta(days=DAYS)
    while moment < END:
        for minute in range(0, 60, 2):
            ts = (moment + timedelta(minutes=minute, seconds=7)).isoformat() + "Z"
            refuses = moment >= END - 4 * HOUR
            for site, status in ((CALM, 200), (REFUSING, 403 if refuses else 200)):
                url = f"https://{site}/p/{minute}"
                lines.append({"ts": ts, "url": url, "status": status, "latency_ms": 300})
        moment += HOUR
    last = (END - timedelta(minutes=1)).isoformat() + "Z"
    lines.append({"ts": last, "url": HOSTILE_URL, "status": 403})
    for site in (HOSTILE, FORMULA):
        lines.append({"ts": last, "url": "https://odd.example/p", "site": site, "status": 403})
    return lines


def make_home(root: Path) -> Home:
    """A home as hourly runs leave it: one site refuses and is paused, a person paused another."""
    home = Home(root)
    inbox = home.inbox / "crawler"
    inbox.mkdir(parents=True)
    text = "".join(json.dumps(line) + "\n" for line in log_lines())
    (inbox / "log.jsonl").write_text(text, encoding="utf-8")
    configuration = load_configuration(SHIPPED_CONFIG)
    start = END - timedelta(days=DAYS)
    job.run(home, configuration, start, END, now=NOW, act=True)
    with open_writer(home) as connection:
        connection.execute("INSERT INTO known_sites VALUES (?, NULL)", [SILENT])
    job.pause(home, configuration, [HOSTILE], now=NOW, by="김철수", why=KOREAN_WHY)
    return home


def changed_copy(home: Home, root: Path, *statements: str) -> Home:
    """Another home whose published database is this one's after some statements."""
    other = Home(root)
    root.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(home.published, other.published)
    with duckdb.connect(str(other.published)) as connection:
        for statement in statements:
            connection.execute(statement)
    return other


#: What a database of before those parts were there lacks.
LATER_TABLES = (
    "incidents",
    "incident_reviews",
    "site_questions",
    "route_windows",
    "extraction_checks",
    "canary_results",
    "canary_verdicts",
)


def older_copy(home: Home, root: Path) -> Home:
    """Another home whose published database has none of ``LATER_TABLES``."""
    return changed_copy(home, root, *(f"DROP TABLE {name}" for name in LATER_TABLES))


# Tables as the parts of the system that fill them make them.
OTHER_TABLES = (
    """
    CREATE OR REPLACE TABLE incidents (
        incident_id VARCHAR, site VARCHAR, kind VARCHAR, owner VARCHAR, mode VARCHAR,
        first_movement_at TIMESTAMP, opened_at TIMESTAMP, closed_at TIMESTAMP,
        closed_by VARCHAR, close_reason VARCHAR, openings INTEGER, band VARCHAR,
        worst_band VARCHAR, score DOUBLE, worst_score DOUBLE, worst_served_share DOUBLE,
        reasons VARCHAR[],
        reasons_over_time STRUCT(
            moved_at TIMESTAMP, band VARCHAR, score DOUBLE, reasons VARCHAR[], diagnosis VARCHAR
        )[],
        diagnosis VARCHAR, seen_at TIMESTAMP, quiet_since TIMESTAMP, last_run_end TIMESTAMP,
        evidence JSON,
        actions STRUCT(
            decided_at TIMESTAMP, kind VARCHAR, to_state VARCHAR, to_step INTEGER,
            decided_by VARCHAR, why VARCHAR, applied BOOLEAN
        )[]
    )
    """,
    f"""
    INSERT INTO incidents VALUES
    (
        'hostility-refusing', '{REFUSING}', 'hostility', 'crawl', 'act',
        '2026-03-10 09:00', '2026-03-10 11:00', NULL, NULL, NULL, 1, 'resisting', 'resisting',
        65, 64, 0.1, ['refusal', 'hard_block'],
        [{{
            'moved_at': TIMESTAMP '2026-03-10 11:00', 'band': 'resisting', 'score': 65.0,
            'reasons': ['refusal'], 'diagnosis': NULL
        }}],
        NULL, '2026-03-10 12:00', NULL, '2026-03-10 12:00',
        '{{"samples": [{{"ts": "2026-03-10T10:00:00Z", "status": 403, "verdict": "hard_block",
          "url": "javascript:alert(3)"}}]}}',
        [{{
            'decided_at': TIMESTAMP '2026-03-10 12:00', 'kind': 'pause', 'to_state': 'paused',
            'to_step': 0, 'decided_by': 'target-health', 'why': 'resisting', 'applied': true
        }}]
    ),
    (
        'parser-calm', '{CALM}', 'parser', 'parser', 'act',
        '2026-03-08 09:00', '2026-03-08 11:00', '2026-03-09 11:00', 'target-health', 'recovered',
        2, 'healthy', 'healthy', 99, 97, 1, ['parser'], [], NULL, '2026-03-08 12:00', NULL,
        '2026-03-10 12:00', NULL, []
    )
    """,
    """
    CREATE OR REPLACE TABLE incident_reviews (
        incident_id VARCHAR PRIMARY KEY, site VARCHAR, kind VARCHAR, reviewed_by VARCHAR,
        reviewed_at TIMESTAMP, is_false_alarm BOOLEAN, was_early_enough BOOLEAN,
        are_reasons_right BOOLEAN, did_action_help BOOLEAN, onset_at TIMESTAMP, note VARCHAR
    )
    """,
    f"""
    INSERT INTO incident_reviews VALUES (
        'parser-calm', '{CALM}', 'parser', 'Kim', '2026-03-09 12:00', false, true, true, false,
        '2026-03-08 13:30', 'the shop was redesigned'
    )
    """,
    "CREATE OR REPLACE TABLE site_questions (run_id VARCHAR, incident_id VARCHAR, site VARCHAR, "
    "asked_at TIMESTAMP, answered_at TIMESTAMP)",
    f"INSERT INTO site_questions VALUES ('hostility-refusing', 'hostility-refusing', "
    f"'{REFUSING}', '2026-03-10 12:00', NULL)",
    "CREATE OR REPLACE TABLE route_windows AS "
    "SELECT site, window_start, window_end, window_minutes, "
    "'gateway' AS dimension, 'dc-1' AS value, requests, judged, ok, hard_blocks, challenges, "
    "soft_blocks, unknown, server_errors, redirects FROM site_windows",
    "CREATE OR REPLACE TABLE extraction_checks AS "
    "SELECT site, window_start, 'product' AS page_type, "
    "'price' AS field, 'not_null' AS expectation, ok AS checked, 1::BIGINT AS failed "
    "FROM site_windows",
    "CREATE OR REPLACE TABLE canary_results (site VARCHAR, page VARCHAR, check_name VARCHAR, "
    "outcome VARCHAR, observed_at TIMESTAMP, expected VARCHAR, got VARCHAR, route VARCHAR, "
    "url VARCHAR)",
    f"INSERT INTO canary_results VALUES ('{REFUSING}', 'front', 'price', 'wrong_value', "
    "'2026-03-10 11:00', '9.50', '<i>0.00</i>', 'direct', 'https://x/')",
    "CREATE OR REPLACE TABLE canary_verdicts AS SELECT DISTINCT site, 'deceived' AS verdict "
    "FROM canary_results",
)
