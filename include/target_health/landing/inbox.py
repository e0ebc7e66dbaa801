"""The files of an inbox, local or behind fsspec, with what tells whether one has changed."""

from __future__ import annotations

import os
import posixpath
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Protocol, cast

from target_health.errors import TargetHealthError, UsageError
from target_health.times import to_utc

IGNORED_SUFFIXES = (".tmp", ".part", ".crdownload", ".swp", "~")
IGNORED_NAMES = frozenset({"truth.json"})
#: The source of files that lie in the inbox itself.
NO_DIRECTORY = "inbox"


@dataclass(frozen=True, slots=True)
class InboxFile:
    """One file: ``path`` names it for people and the ledger, ``name`` is relative to the inbox.

    ``opener`` opens what ``path`` alone cannot: a remote file, or one whose name is no text.
    """

    path: str
    name: str
    size: int
    modified: datetime
    version: str
    opener: Any = None

    @property
    def source(self) -> str:
        first, _, rest = self.name.partition("/")
        return first if rest else NO_DIRECTORY

    @property
    def local(self) -> bool:
        return self.opener is None

    def open(self) -> BinaryIO:
        """The content, seekable. Raises ``OSError``."""
        if self.opener is None:
            return open(self.path, "rb", buffering=0)
        return cast(BinaryIO, self.opener(self.path, "rb"))


class FileSystem(Protocol):
    """The part of fsspec that an inbox needs."""

    def find(self, path: str, *, detail: bool) -> Any: ...

    def open(self, path: str, mode: str) -> Any: ...


def wanted(name: str) -> bool:
    """Whether a file is a log: no hidden, unfinished or foreign one."""
    parts = name.split("/")
    if any(part.startswith((".", "_")) and part != "_" for part in parts):
        return False
    return parts[-1] not in IGNORED_NAMES and not parts[-1].endswith(IGNORED_SUFFIXES)


def list_inbox(inbox: str | Path) -> list[InboxFile]:
    """Every log in an inbox, in the order of names. ``UsageError`` when there is no such place.

    A directory, or any fsspec URL (``s3://bucket/prefix``, ``memory://logs``).
    """
    text = str(inbox)
    if "://" not in text:
        return sorted(_local(Path(text).expanduser()), key=lambda file: file.name)
    try:
        system, root = open_file_system(text)
        return sorted(_remote(system, root, text), key=lambda file: file.name)
    except (ImportError, ValueError) as problem:
        raise UsageError(f"{text}: cannot be read as an inbox: {problem}") from None
    except OSError as problem:
        raise TargetHealthError(f"{text}: cannot be listed: {problem}") from None


def open_file_system(url: str) -> tuple[FileSystem, str]:
    """The file system of a URL and the path inside it."""
    authority = url.partition("://")[2].partition("/")[0]
    if "@" in authority:
        from target_health.airflow_bridge import object_storage

        return cast(tuple[FileSystem, str], object_storage(url))
    import fsspec

    system, root = fsspec.core.url_to_fs(url)
    system.invalidate_cache()
    return system, root


def _local(inbox: Path) -> Iterator[InboxFile]:
    if not inbox.is_dir():
        raise UsageError(f"{inbox}: no such directory; name the inbox with --inbox DIR")
    for directory, below, names in os.walk(inbox):
        below.sort()
        for name in names:
            path = Path(directory) / name
            relative = path.relative_to(inbox).as_posix()
            if not wanted(relative):
                continue
            try:
                if stat.S_ISREG(path.stat().st_mode):
                    yield local_file(path, relative)
            except OSError:  # gone meanwhile, or a link to nowhere
                continue


def local_file(path: Path, name: str) -> InboxFile:
    """A file of this machine, under its name in the inbox."""
    status = path.stat()
    shown, shown_name = printable(str(path)), printable(name)
    return InboxFile(
        shown,
        shown_name,
        status.st_size,
        datetime.fromtimestamp(status.st_mtime, UTC).replace(tzinfo=None),
        f"{status.st_size}:{status.st_mtime_ns}:{status.st_ino}",
        None if shown == str(path) else lambda _path, _mode: open(path, "rb", buffering=0),
    )


def printable(name: str) -> str:
    """A file's name as text; bytes that are not UTF-8 as ``\\xff``."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _remote(system: FileSystem, root: str, url: str) -> Iterator[InboxFile]:
    root = root.rstrip("/")
    scheme = url.partition("://")[0]
    for path, about in system.find(root, detail=True).items():
        relative = posixpath.relpath(path, root) if root else path.lstrip("/")
        if about.get("type") != "file" or not wanted(relative):
            continue
        modified = _moment(about)
        tag = about.get("ETag") or about.get("etag") or about.get("md5Hash") or modified
        yield InboxFile(
            path,
            relative,
            int(about.get("size") or 0),
            modified,
            f"{scheme}:{about.get('size')}:{tag}",
            system.open,
        )


def _moment(about: dict[str, Any]) -> datetime:
    """When an object changed last; the epoch when its store does not say."""
    for key in ("LastModified", "last_modified", "mtime", "updated", "created"):
        value = about.get(key)
        if isinstance(value, datetime):
            return to_utc(value)
        if isinstance(value, int | float):
            return datetime.fromtimestamp(value, UTC).replace(tzinfo=None)
        if isinstance(value, str):
            try:
                return to_utc(datetime.fromisoformat(value))
            except ValueError:
                continue
    return datetime(1970, 1, 1)
