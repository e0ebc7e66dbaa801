"""No room: a clear stop before harm, and nothing half done afterwards."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from target_health.errors import DiskFull
from target_health.landing import batch, lake, quarantine, staging
from tests.landing.conftest import Landing, fetch

TEXT = "".join(fetch(second) + "\n" for second in range(300)) + "{bad\n"


def test_stops_before_harm(landing: Landing, monkeypatch: pytest.MonkeyPatch) -> None:
    landing.put("x/log.jsonl", TEXT)
    usage = SimpleNamespace(total=1 << 30, used=1 << 30, free=1 << 20)
    monkeypatch.setattr(lake.shutil, "disk_usage", lambda _: usage)
    with pytest.raises(DiskFull, match="1 MiB are free, landing needs"):
        landing.land()
    monkeypatch.undo()
    assert landing.state()[0] == []
    assert landing.land().rows == 300


def failing(number: int) -> Callable[..., Any]:
    def fail(*args: Any, **kwargs: Any) -> Any:
        raise OSError(number, os.strerror(number))

    return fail


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
@pytest.mark.parametrize(
    ("module", "name"),
    [
        (batch, "announce"),
        (batch, "publish"),
        (batch, "sync_directory"),
        (batch, "_enter"),
        (quarantine.os, "fsync"),
        (staging.Staging, "query"),
    ],
)
def test_a_write_that_fails_leaves_nothing_behind(
    landing: Landing, monkeypatch: pytest.MonkeyPatch, module: Any, name: str, number: int
) -> None:
    landing.put("x/log.jsonl", TEXT)
    monkeypatch.setattr(module, name, failing(number))
    with pytest.raises(DiskFull, match="disk is full"):
        landing.land()
    monkeypatch.undo()
    assert landing.state() == ([], [], [])
    report = landing.land()
    assert (report.rows, report.quarantined) == (300, 1)


def test_a_really_full_file_system(landing: Landing) -> None:
    """On a small tmpfs, where one can be mounted (CI runs as root)."""
    import subprocess

    root = landing.home.root
    root.mkdir(parents=True)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(root)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode != 0 or shutil.disk_usage(root).total > 30 << 20:
        pytest.skip("no small file system can be mounted here")
    try:
        landing.put("x/log.jsonl", TEXT)
        (root / "ballast").write_bytes(b"x" * (23 << 20))
        with pytest.raises(DiskFull):
            landing.land()
        (root / "ballast").unlink()
        assert landing.land().rows == 300
    finally:
        subprocess.run(["umount", str(root)], check=True)
