"""A directory a running process, held by a lock that ends with the process.

What a killed process left is told from what a running one still writes by trying its lock, so
neither process ids nor ages of files are asked, and several processes may share a place.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import filelock


@dataclass(frozen=True, slots=True)
class Claim:
    """A directory that is ours until ``release`` or the end of the process."""

    directory: Path
    lock: filelock.BaseFileLock

    def release(self) -> None:
        """Let it go; an empty directory is removed."""
        with suppress(OSError):
            self.directory.rmdir()
        if not self.directory.exists():
            with suppress(OSError):
                _lock_path(self.directory).unlink(missing_ok=True)
        self.lock.release()


def new_run() -> str:
    """A name that no other process has."""
    return f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{secrets.token_hex(4)}"


def claim(parent: Path, run: str) -> Claim:
    """A directory under ``parent`` for this run. Raises ``OSError``."""
    parent.mkdir(parents=True, exist_ok=True)
    directory = parent / run
    # The directory appears once its lock is held, so nobody takes it for a dead process's.
    lock = _locked(directory)
    if lock is None:
        raise FileExistsError(f"{directory} is held by another process")
    try:
        directory.mkdir(exist_ok=True)
    except OSError:
        lock.release()
        raise
    return Claim(directory, lock)


def abandoned(parent: Path) -> Iterator[Claim]:
    """What dead processes left under ``parent``, each claimed; the caller releases it."""
    try:
        names = sorted(path.name for path in parent.iterdir() if path.is_dir())
    except OSError:
        return
    for name in names:
        directory = parent / name
        try:
            lock = _locked(directory)
        except OSError:
            continue
        if lock is None:
            continue
        if not directory.is_dir():  # another process was quicker
            with suppress(OSError):
                _lock_path(directory).unlink(missing_ok=True)
            lock.release()
            continue
        yield Claim(directory, lock)


def _lock_path(directory: Path) -> Path:
    return directory.with_name(f"{directory.name}.lock")


def _locked(directory: Path) -> filelock.BaseFileLock | None:
    lock = filelock.FileLock(_lock_path(directory), thread_local=False)
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        return None
    return lock
