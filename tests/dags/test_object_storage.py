"""Inboxes in S3 whose credentials are an Airflow connection's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from target_health.errors import UsageError
from target_health.landing import LandingReport, land
from target_health.paths import Home
from tests.landing.conftest import NOW, fetch, outcome


@pytest.fixture
def endpoint(s3_endpoint: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """An S3 server; the environment has no credentials for it."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    return s3_endpoint


def connect(monkeypatch: pytest.MonkeyPatch, **extra: str) -> None:
    connection = {
        "conn_type": "aws",
        "login": "testing",
        "password": "testing",
        "extra": {"region_name": "eu-west-1", **extra},
    }
    monkeypatch.setenv("AIRFLOW_CONN_CRAWLER_LOGS", json.dumps(connection))


def landed(home: Home, url: str) -> LandingReport:
    return land(home, now=NOW, inbox=url)


def test_credentials_of_a_connection(
    endpoint: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    connect(monkeypatch, endpoint_url=endpoint)
    from target_health.airflow_bridge import object_storage

    system, path = object_storage("s3://crawler_logs@crawls/inbox")
    assert path == "crawls/inbox"
    system.mkdir("crawls")
    system.pipe("crawls/inbox/x/1.jsonl", (fetch(1) + "\n").encode())
    home = Home(tmp_path)
    assert outcome(landed(home, "s3://crawler_logs@crawls/inbox")) == (1, 0, 0)
    system.pipe("crawls/inbox/x/2.jsonl", (fetch(2) + "\n").encode())
    report = landed(home, "s3://crawler_logs@crawls/inbox")
    assert (report.files, outcome(report)) == (1, (1, 0, 0))


def test_what_a_connection_cannot_do_is_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="nobody"):
        landed(Home(tmp_path), "s3://nobody@crawls/inbox")
    connect(monkeypatch, role_arn="arn:aws:iam::1:role/x")
    with pytest.raises(UsageError, match="providers-amazon"):
        landed(Home(tmp_path), "s3://crawler_logs@crawls/inbox")
