"""Bytes to UTF-8 bytes, whatever the page says of its charset."""

from __future__ import annotations

import re

from charset_normalizer import from_bytes
from w3lib.encoding import (
    html_body_declared_encoding,
    http_content_type_encoding,
    read_bom,
    resolve_encoding,
)

#: How much is looked at to tell whether a declared charset can be right.
_SAMPLE_BYTES = 65_536
#: How much the detector reads where nothing usable is declared; it costs milliseconds a kilobyte.
_DETECT_BYTES = 4_096

_WIDE_STARTS = (
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
    (b"<\x00\x00\x00", "utf-32-le"),
    (b"<\x00", "utf-16-le"),
    (b"\x00<", "utf-16-be"),
)

#: Charsets that a detector takes for one another, and the Windows one of a page's language, where
#: there are few letters to tell by.
_OTHER_LATIN = re.compile(
    r"(?:cp125[0478]|iso8859_(?:2|3|4|9|10|13|14|16)|mac_\w+|cp(?:437|85\d|86\d|775))$"
)
_LANGUAGE = re.compile(rb"<html[^>]*\blang=[\"']?([a-z]{2})\b", re.I)
_BY_LANGUAGE = {
    **dict.fromkeys(("pl", "cs", "sk", "hu", "ro", "hr", "sl", "sr", "bs", "sq"), "cp1250"),
    **dict.fromkeys(("et", "lv", "lt"), "cp1257"),
    "tr": "cp1254",
    "vi": "cp1258",
}
_FEW_LETTERS = 40

_HIGH_BYTE = re.compile(rb"[\x80-\xff]")


def to_utf8(body: bytes, content_type: str | None) -> tuple[bytes, str]:
    """`body` as UTF-8, and the name of the charset it was read as.

    Bytes that are valid UTF-8 are UTF-8 whatever they declare: text in another charset is so by
    chance practically never. A declaration that the bytes contradict is not believed.
    """
    if body.isascii() and b"\x00" not in body[:64]:
        return body, "utf-8"
    bom_encoding, bom = read_bom(body)
    if bom_encoding is not None and bom is not None:
        if bom_encoding == "utf-8":
            return body[len(bom) :], "utf-8"
        return _recode(body[len(bom) :], bom_encoding), bom_encoding
    if _is_utf8(body):
        return body, "utf-8"
    declared = _declared(body, content_type)
    if declared is not None and declared != "utf-8" and _plausible(body, declared):
        return _recode(body, declared), declared
    # One broken byte in a long page does not make it another charset.
    sample = body[:_SAMPLE_BYTES]
    broken = sample.decode("utf-8", "replace").count("�")
    if broken and broken * 20 < len(_HIGH_BYTE.findall(sample)):
        return _recode(body, "utf-8"), "utf-8"
    detected = _detect(body)
    return _recode(body, detected), detected


def wide_charset(body: bytes) -> str | None:
    """UTF-16 or UTF-32 where a page begins with their mark, or with markup in them."""
    for start, name in _WIDE_STARTS:
        if body.startswith(start):
            return name
    return None


def _declared(body: bytes, content_type: str | None) -> str | None:
    for name in (
        http_content_type_encoding(content_type) if content_type else None,
        html_body_declared_encoding(body[:8192]),
    ):
        resolved = resolve_encoding(name) if name else None
        if resolved:
            return resolved
    return None


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError as error:
        # A character cut at the end of a capped body is no fault of its charset.
        return error.end == len(body) and error.reason == "unexpected end of data"
    return True


def _plausible(body: bytes, encoding: str) -> bool:
    """A multi-byte charset shows by itself when it is wrong; a single-byte one never does."""
    try:
        text = body[:_SAMPLE_BYTES].decode(encoding, "replace")
    except (LookupError, UnicodeError):
        return False
    return text.count("�") * 50 < max(len(text), 1)


def _recode(body: bytes, encoding: str) -> bytes:
    return body.decode(encoding, "replace").encode("utf-8", "replace")


def _detect(body: bytes) -> str:
    first = _HIGH_BYTE.search(body)
    start = max(0, first.start() - 256) if first else 0
    best = from_bytes(body[start : start + _DETECT_BYTES]).best()
    found = best.encoding if best is not None else "cp1252"
    few = len(_HIGH_BYTE.findall(body[:_SAMPLE_BYTES])) < _FEW_LETTERS
    if few and _OTHER_LATIN.match(found):
        language = _LANGUAGE.search(body[:2_048])
        return _BY_LANGUAGE.get(language[1].decode().lower() if language else "", "cp1252")
    return found
