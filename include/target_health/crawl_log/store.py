"""Where complete files go: a directory, or any fsspec URL. A file appears there whole."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

#: Stores whose upload of an object is atomic by itself; moving would need the right to delete.
ATOMIC = frozenset({"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "oss", "memory"})


class Store(Protocol):
    """A destination of complete files."""

    def take(self, file: Path, name: str) -> None:
        """Move a complete local file there. Raises ``Exception`` of any kind; may be repeated."""
        ...


class Directory:
    """A local directory, made when first needed."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def take(self, file: Path, name: str) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        target = self.path / name
        try:
            os.replace(file, target)
        except OSError:
            if not file.exists() or file.stat().st_dev == self.path.stat().st_dev:
                raise
            # Another file system: copied beside the target, under a name that landing ignores.
            copy = self.path / f".{name}.part"
            try:
                shutil.copyfile(file, copy)
                os.replace(copy, target)
            except BaseException:
                copy.unlink(missing_ok=True)
                raise
            file.unlink()


class Remote:
    """A place behind fsspec, such as ``s3://bucket/inbox/shop``."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.protocol = url.partition("://")[0]

    def take(self, file: Path, name: str) -> None:
        import fsspec

        system: Any
        system, root = fsspec.core.url_to_fs(self.url)
        root = root.rstrip("/")
        target = f"{root}/{name}"
        if self.protocol in ATOMIC:
            system.put_file(str(file), target)
        else:
            system.makedirs(root, exist_ok=True)
            partial = f"{root}/.{name}.part"
            try:
                system.put_file(str(file), partial)
                system.mv(partial, target)
            except BaseException:
                with suppress(Exception):
                    system.rm_file(partial)
                raise
        file.unlink()


def is_url(place: str) -> bool:
    return "://" in place


def open_store(place: str) -> Store:
    """The store of a path or URL; ``file://`` URLs are paths."""
    place = place.removeprefix("file://")
    return Remote(place) if is_url(place) else Directory(Path(place).expanduser())
