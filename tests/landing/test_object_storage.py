"""Inboxes behind fsspec: only what is new is read, and it lands as local files do."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from typing import Any

import fsspec
import pytest

from target_health.errors import TargetHealthError, UsageError
from target_health.landing import inbox as inbox_module
from tests.landing.conftest import NOW, Landing, fetch, outcome

TEXT = "".join(fetch(second) + "\n" for second in range(30))


@pytest.fixture
def memory() -> Iterator[fsspec.AbstractFileSystem]:
    system = fsspec.filesystem("memory")
    system.pipe("/logs/inbox/x/log.jsonl", TEXT.encode())
    system.pipe("/logs/inbox/x/log.jsonl.gz", gzip.compress((TEXT + fetch(50) + "\n").encode()))
    system.pipe("/logs/inbox/x/half.tmp", b"{")
    yield system
    system.rm("/logs", recursive=True)


def test_memory(landing: Landing, memory: Any) -> None:
    report = landing.land(inbox="memory://logs/inbox", now=NOW)
    assert outcome(report) == (31, 0, 0)
    assert list(report.sources) == ["x"]
    assert landing.land(inbox="memory://logs/inbox").files == 0
    memory.pipe("/logs/inbox/y/log.jsonl", (fetch(70) + "\n").encode())
    assert outcome(landing.land(inbox="memory://logs/inbox", now=NOW)) == (1, 0, 0)


def test_file_url(landing: Landing) -> None:
    landing.put("x/log.jsonl", TEXT)
    assert outcome(landing.land(inbox=f"file://{landing.home.inbox}")) == (30, 0, 0)


def test_only_new_files_are_opened(
    landing: Landing, memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    landing.land(inbox="memory://logs/inbox")
    opened = []
    original = inbox_module.InboxFile.open
    monkeypatch.setattr(
        inbox_module.InboxFile, "open", lambda file: opened.append(file.name) or original(file)
    )
    memory.pipe("/logs/inbox/x/new.jsonl", (fetch(80) + "\n").encode())
    landing.land(inbox="memory://logs/inbox")
    assert opened == ["x/new.jsonl"]


def test_places_that_are_not_there(landing: Landing) -> None:
    with pytest.raises(UsageError, match="no such directory"):
        landing.land(inbox=str(landing.home.root / "nowhere"))
    with pytest.raises(UsageError, match="cannot be read as an inbox"):
        landing.land(inbox="nosuchscheme://x")


def test_s3(landing: Landing, s3_endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3_endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    system = fsspec.filesystem("s3", skip_instance_cache=True)
    system.mkdir("crawls")
    system.pipe("crawls/inbox/x/log.jsonl", TEXT.encode())
    system.pipe("crawls/inbox/x/more.jsonl.gz", gzip.compress((fetch(99) + "\n").encode()))
    assert outcome(landing.land(inbox="s3://crawls/inbox")) == (31, 0, 0)
    assert landing.land(inbox="s3://crawls/inbox").files == 0
    system.pipe("crawls/inbox/x/log.jsonl", (TEXT + fetch(77) + "\n").encode())
    assert outcome(landing.land(inbox="s3://crawls/inbox")) == (1, 0, 0)
    with pytest.raises((TargetHealthError, UsageError)):
        landing.land(inbox="s3://no-such-bucket/inbox")
