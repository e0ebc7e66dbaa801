"""The copy of a whole file, whatever the system can do by itself."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from target_health.warehouse import publishing

CONTENT = bytes(range(256)) * 1000


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source"
    path.write_bytes(CONTENT)
    return path


def stops_after_a_part(problem: int | None) -> Any:
    """A copy by the system that ends early: with an error, or by saying that nothing is left."""
    system, calls = os.copy_file_range, []

    def copy(original: int, target: int, count: int) -> int:
        calls.append(count)
        if len(calls) == 1:
            return system(original, target, 1000)
        if problem is None:
            return 0
        raise OSError(problem, os.strerror(problem))

    return copy


@pytest.mark.skipif(not hasattr(os, "copy_file_range"), reason="the system has no such call")
@pytest.mark.parametrize("problem", [None, errno.EXDEV, errno.EOPNOTSUPP])
def test_what_the_system_cannot_copy_is_copied_from_the_start(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, problem: int | None
) -> None:
    monkeypatch.setattr(os, "copy_file_range", stops_after_a_part(problem))
    publishing.copy_whole(source, tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == CONTENT


def test_a_file_is_copied_whole_in_several_calls(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publishing, "SYSTEM_BYTES", 4096)
    publishing.copy_whole(source, tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == CONTENT


@pytest.mark.skipif(not hasattr(os, "copy_file_range"), reason="the system has no such call")
def test_a_full_disk_is_told(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "copy_file_range", stops_after_a_part(errno.ENOSPC))
    with pytest.raises(OSError, match="No space"):
        publishing.copy_whole(source, tmp_path / "copy")
