"""A fetch with the body at hand to its line of the log: evidence, title, sizes, hash."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from target_health.crawl_log.fields import moment
from target_health.crawl_log.messages import Message, Page

if TYPE_CHECKING:
    from target_health.pages import Markers

#: Bytes of a body that are looked at, decompressed: the limit of a landing.
BODY_LIMIT = 16_000_000


def line_of(message: Message, markers: Markers) -> tuple[bytes, bool]:
    """The row's line, and whether its page could be looked at (true without a page)."""
    row, looked = message.row, True
    if message.page is not None:
        try:
            row = {**row, **seen_in(message.page, row, markers, has_item=message.has_item)}
        except Exception:
            # An odd page costs its evidence, never its row.
            row, looked = {**row, "bytes": len(message.page.body)}, False
    if isinstance(row.get("ts"), float):
        row = {**row, "ts": moment(row["ts"])}
    text = json.dumps(row, ensure_ascii=False, separators=(",", ":"), default=str)
    if message.item is not None:
        text = f'{text[:-1]},"item":{message.item}}}'
    return text.encode("utf-8", "replace") + b"\n", looked


def seen_in(page: Page, row: dict[str, Any], markers: Markers, *, has_item: bool) -> dict[str, Any]:
    """What the project's classifier sees in a page, as fields of the log."""
    from target_health.pages import NOT_ATTEMPTED, Response, classify

    body = decoded(page.body, page.encodings)
    headers: dict[str, list[str]] = {}
    for name, value in page.headers:
        headers.setdefault(text_of(name), []).append(text_of(value))
    seen = classify(
        Response(
            row.get("status"),
            body,
            headers,
            str(row.get("final_url") or row.get("url") or ""),
            item={"item": True} if has_item else NOT_ATTEMPTED,
            error=row.get("error"),
        ),
        markers,
    )
    fields: dict[str, Any] = {"bytes": len(body), "evidence": list(seen.evidence)}
    if seen.content_hash is not None:
        fields |= {"content_hash": seen.content_hash, "text_length": seen.text_length}
    if seen.title is not None:
        fields["title"] = seen.title
    return fields


def text_of(header: str | bytes) -> str:
    return header if isinstance(header, str) else header.decode("latin-1")


def decoded(body: bytes, encodings: Sequence[str]) -> bytes:
    """A body without its content encodings, the last applied first, cut at ``BODY_LIMIT``.

    What cannot be decoded stays as it is: a wrong header is more frequent than a broken body.
    """
    for encoding in reversed(encodings):
        decode = DECODERS.get(encoding)
        if decode is None or not body:
            continue
        try:
            body = decode(body)
        except Exception:
            return body
    return body


def _gzip(body: bytes) -> bytes:
    return zlib.decompressobj(zlib.MAX_WBITS | 32).decompress(body, BODY_LIMIT)


def _deflate(body: bytes) -> bytes:
    try:
        return _gzip(body)
    except zlib.error:  # many servers send it without zlib's header
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(body, BODY_LIMIT)


def _zstd(body: bytes) -> bytes:
    import zstandard

    with zstandard.ZstdDecompressor().stream_reader(body, read_across_frames=True) as stream:
        return bytes(stream.read(BODY_LIMIT))


def _brotli(body: bytes) -> bytes:
    import brotli

    decoder, pieces, size = brotli.Decompressor(), [], 0
    for start in range(0, len(body), 16_384):
        pieces.append(decoder.process(body[start : start + 16_384]))
        size += len(pieces[-1])
        if size > BODY_LIMIT:
            break
    return b"".join(pieces)[:BODY_LIMIT]


DECODERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "zstd": _zstd,
    "br": _brotli,
}
