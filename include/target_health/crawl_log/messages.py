"""What a crawler hands to the process that writes its log, and how it crosses the pipe."""

from __future__ import annotations

import itertools
import os
import pickle
import struct
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from target_health.crawl_log.files import Limits

_SIZE = struct.Struct(">Q")
#: Below every system's limit for one call.
MOST_PARTS = 500


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


def send(descriptor: int, content: object) -> None:
    """Write one message: its size, then its pickle. Raises ``OSError`` where nobody reads."""
    data = pickle.dumps(content, protocol=pickle.HIGHEST_PROTOCOL)
    _write(descriptor, [_SIZE.pack(len(data)), data])


def send_batch(descriptor: int, number: int, batch: list[Message]) -> None:
    """Write rows, and their bodies as they lie in memory: these are most of all bytes, and each
    copy of them would be paid by the crawl."""
    heads: list[tuple[Any, ...]] = []
    bodies: list[bytes] = []
    for message in batch:
        page = message.page
        if page is None:
            heads.append((message.row, message.item, message.has_item, None))
        else:
            about = (len(page.body), page.headers, page.encodings)
            heads.append((message.row, message.item, message.has_item, about))
            if page.body:
                bodies.append(page.body)
    data = pickle.dumps((number, heads), protocol=pickle.HIGHEST_PROTOCOL)
    _write(descriptor, [_SIZE.pack(len(data)), data, *bodies])


def receive(pipe: BinaryIO) -> Any:
    """One message. Raises ``EOFError`` where the other side has gone, in its midst too."""
    (size,) = _SIZE.unpack(_exactly(pipe, _SIZE.size))
    return pickle.loads(_exactly(pipe, size))


def receive_batch(pipe: BinaryIO) -> tuple[int, list[Message]]:
    """What ``send_batch`` wrote: its number and rows. Raises ``EOFError`` as ``receive``."""
    number, heads = receive(pipe)
    batch = []
    for row, item, has_item, about in heads:
        page = None
        if about is not None:
            size, headers, encodings = about
            page = Page(_exactly(pipe, size), headers, encodings)
        batch.append(Message(row, item, has_item, page))
    return number, batch


def _write(descriptor: int, parts: list[bytes]) -> None:
    """All parts in few calls; each call gives other threads the chance to take over."""
    waiting = deque(memoryview(part) for part in parts)
    while waiting:
        if hasattr(os, "writev"):
            done = os.writev(descriptor, list(itertools.islice(waiting, MOST_PARTS)))
        else:  # Windows
            done = os.write(descriptor, waiting[0])
        while waiting and done >= len(waiting[0]):
            done -= len(waiting.popleft())
        if done:
            waiting[0] = waiting[0][done:]


def _exactly(pipe: BinaryIO, size: int) -> bytes:
    data = pipe.read(size)
    if data is None or len(data) < size:
        raise EOFError
    return data
