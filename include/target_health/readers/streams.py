"""A file's content as decompressed UTF-8 blocks, with what is wrong with it at its end."""

from __future__ import annotations

import codecs
import queue
import threading
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, TypeVar

import zstandard

GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
UTF16_MARKS = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
BLOCK = 1 << 20
#: Compressed input a step: small, as a kilobyte can unfold into a megabyte.
COMPRESSED_BLOCK = 1 << 16
#: Decompressed blocks that wait for the parser.
PREFETCH = 16

ENDS_EARLY = "compressed data ends early"
DAMAGED = "compressed data is damaged"
GARBAGE = "garbage after the compressed data"


@dataclass
class Content:
    """Decompressed blocks of one open file. ``problem`` is set when they end wrongly."""

    file: BinaryIO
    compressed: bool
    problem: str | None = None

    def blocks(self) -> Iterator[bytes]:
        """The content from the file's position on; only once."""
        raw = _decompressed(self) if self.compressed else _plain(self.file)
        return ahead(_as_utf8(raw), PREFETCH) if self.compressed else _as_utf8(raw)

    def blocks_as_they_are(self) -> Iterator[bytes]:
        """Plain content from the file's position on, without looking for a byte order mark."""
        return _plain(self.file)


def open_content(file: BinaryIO) -> Content:
    """Tell by its first bytes whether an open, seekable file is compressed."""
    magic = file.read(4)
    file.seek(0)
    return Content(file, magic[:2] == GZIP_MAGIC or magic == ZSTD_MAGIC)


def _plain(file: BinaryIO) -> Iterator[bytes]:
    while block := file.read(BLOCK * 4):
        yield block


def _new_decompressor(magic: bytes) -> Any:
    if magic[:2] == GZIP_MAGIC:
        return zlib.decompressobj(wbits=31)
    return zstandard.ZstdDecompressor(max_window_size=1 << 31).decompressobj()


def _decompressed(content: Content) -> Iterator[bytes]:
    """All members or frames, one after the other."""
    pending = content.file.read(COMPRESSED_BLOCK)
    while pending:
        if not (pending[:2] == GZIP_MAGIC or pending[:4] == ZSTD_MAGIC):
            if len(pending) < 4 and (more := content.file.read(COMPRESSED_BLOCK)):
                pending += more
                continue
            if pending.strip(b"\0"):
                content.problem = GARBAGE if len(pending) > 3 else ENDS_EARLY
                return
            pending = content.file.read(COMPRESSED_BLOCK)
            continue
        decompressor = _new_decompressor(pending)
        while True:
            try:
                block = decompressor.decompress(pending)
            except (zlib.error, zstandard.ZstdError):
                content.problem = DAMAGED
                return
            if block:
                yield block
            if decompressor.eof:
                pending = decompressor.unused_data or content.file.read(COMPRESSED_BLOCK)
                break
            pending = content.file.read(COMPRESSED_BLOCK)
            if not pending:
                content.problem = ENDS_EARLY
                return


def _as_utf8(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """UTF-16 with a byte order mark becomes UTF-8; everything else stays as it is."""
    first = b""
    for block in blocks:
        first += block
        if len(first) >= 2:
            break
    encoding = UTF16_MARKS.get(first[:2])
    if encoding is None or first[:4] == codecs.BOM_UTF32_LE:
        if first:
            yield first
        yield from blocks
        return
    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    yield decoder.decode(first[2:]).encode("utf-8", "replace")
    for block in blocks:
        yield decoder.decode(block).encode("utf-8", "replace")
    yield decoder.decode(b"", final=True).encode("utf-8", "replace")


Thing = TypeVar("Thing")


def ahead(things: Iterator[Thing], depth: int) -> Iterator[Thing]:
    """The same things, made in a thread of their own, up to ``depth`` ahead of their use."""
    waiting: queue.Queue[Any] = queue.Queue(maxsize=depth)
    stop = threading.Event()
    end = object()

    def put(thing: Any) -> bool:
        while not stop.is_set():
            try:
                waiting.put(thing, timeout=0.1)
                return True
            except queue.Full:
                continue
        return False

    def work() -> None:
        try:
            for thing in things:
                if not put(thing):
                    return
            put(end)
        except BaseException as problem:  # raised again by the thread that uses the things
            put(_Failed(problem))

    thread = threading.Thread(target=work, name="read-ahead", daemon=True)
    thread.start()
    try:
        while (thing := waiting.get()) is not end:
            if isinstance(thing, _Failed):
                raise thing.problem
            yield thing
    finally:
        stop.set()
        thread.join()


@dataclass(frozen=True, slots=True)
class _Failed:
    problem: BaseException
