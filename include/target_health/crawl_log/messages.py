"""What a crawler hands to the process that writes its log, and how it crosses the pipe."""

from __future__ import annotations

import pickle
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from target_health.crawl_log.files import Limits

_SIZE = struct.Struct(">Q")


@dataclass(frozen=True, slots=True)
class Page:
    """A response's body as it was received, its headers, and its content encodings in order."""

    body: bytes
    headers: tuple[tuple[str | bytes, str | bytes], ...] = ()
    encodings: tuple[str, ...] = ()


class Message(NamedTuple):
    """One row: its fields, its item as JSON text (None: not attempted), and its page, if any."""

    row: dict[str, Any]
    item: str | None
    has_item: bool
    page: Page | None


@dataclass(frozen=True, slots=True)
class Order:
    """What the crawler asks of its log: places, names, limits, and the marks to look for."""

    destination: str
    spool: Path
    source: str
    run: str
    limits: Limits
    marker_files: tuple[Path, ...]


def send(pipe: BinaryIO, content: object) -> None:
    """Raises ``OSError`` where the other side has gone."""
    data = pickle.dumps(content, protocol=pickle.HIGHEST_PROTOCOL)
    pipe.write(_SIZE.pack(len(data)))
    pipe.write(data)
    pipe.flush()


def receive(pipe: BinaryIO) -> Any:
    """Raises ``EOFError`` where the other side has gone, in the midst of a message too."""
    (size,) = _SIZE.unpack(_exactly(pipe, _SIZE.size))
    return pickle.loads(_exactly(pipe, size))


def _exactly(pipe: BinaryIO, size: int) -> bytes:
    data = pipe.read(size)
    if data is None or len(data) < size:
        raise EOFError
    return data
