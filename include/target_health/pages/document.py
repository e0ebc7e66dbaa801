"""A response body read once: kind, visible text, title, headings.

Everything here costs time linear in at most `PARSE_LIMIT` bytes, whatever the page is.
"""

from __future__ import annotations

import hashlib
import re
from functools import cached_property
from itertools import islice

from lxml import etree

from target_health.pages.charset import to_utf8, wide_charset
from target_health.pages.layout import Layout, lay_out
from target_health.pages.markers import Markers
from target_health.pages.plain_text import collapsed, count_letters

#: Bytes of a body that are parsed and searched. Challenge, error and block pages say what they
#: are in the first tenth of this; an article page is rarely longer than its half.
PARSE_LIMIT = 2_000_000

#: Characters of visible text that are looked at to tell a long page from a short one, and the
#: letters among them and the length beyond which a page counts as long. The longest challenge
#: and error pages with a whole shop's navigation around them stay below.
_LONG_SAMPLE = 4_000
_LONG_LETTERS = 2_000
_LONG_TEXT = 4_500

#: Bytes of an answer that is no markup which are laid out.
_TEXT_LIMIT = 50_000

#: Headings that are looked at.
_HEADINGS = 300

#: Elements whose content nobody sees.
_UNSEEN = ("script", "style", "template", "svg", "math", "object", "audio", "video", "canvas")

_BINARY_MAGIC = (
    (b"%PDF", "pdf"),
    (b"\x89PNG", "image"),
    (b"GIF8", "image"),
    (b"\xff\xd8\xff", "image"),
    (b"RIFF", "image"),
    (b"BM", "image"),
    (b"\x00\x00\x01\x00", "image"),
    (b"PK\x03\x04", "archive"),
    (b"\x1f\x8b", "archive"),
    (b"OggS", "media"),
    (b"ID3", "media"),
)
_BINARY_TYPES = (
    ("image/svg", "xml"),
    ("image/", "image"),
    ("application/pdf", "pdf"),
    ("video/", "media"),
    ("audio/", "media"),
    ("font/", "font"),
    ("application/zip", "archive"),
    ("application/gzip", "archive"),
)

_TAG = re.compile(rb"<[a-zA-Z!/?]")


def kind_of(body: bytes, content_type: str) -> str:
    """`empty`, `html`, `json`, `xml`, `text`, `pdf`, `image`, `media`, `archive` or `font`.

    The bytes count for more than the header: error pages are served under any content type.
    """
    head = body[:1024].lstrip(b"\xef\xbb\xbf \t\r\n")
    if not head:
        return "empty"
    for magic, kind in _BINARY_MAGIC:
        if head.startswith(magic) and (magic != b"BM" or b"\x00" in head[:32]):
            return kind
    lowered = head[:512].lower()
    if lowered.startswith((b"<!doctype html", b"<html", b"<head", b"<body")):
        return "html"
    if head[:1] in b"{[" and (b'"' in head or head[:2] in (b"[]", b"{}", b"[{", b"[[")):
        return "json"
    if lowered.startswith((b"<?xml", b"<rss", b"<feed", b"<urlset", b"<sitemapindex", b"<error>")):
        return "html" if b"<html" in lowered else "xml"
    media = content_type.partition(";")[0].strip().lower()
    if not _TAG.search(head):
        for prefix, kind in _BINARY_TYPES:
            if media.startswith(prefix):
                return kind
        if _unprintable(head):
            return "media"
        if media.endswith("json"):
            return "json"
        return "html" if _TAG.search(body[:65_536]) else "text"
    return "html"


def _is_link(heading: etree._Element, text: str) -> bool:
    """Whether a heading is that of another page."""
    inner = next(heading.iter("a"), None)
    if inner is None:
        inner = next(heading.iterancestors("a"), None)
        return inner is not None and inner.get("href") is not None
    linked = " ".join("".join(inner.itertext()).split())
    return inner.get("href") is not None and linked == text


def _unprintable(head: bytes) -> bool:
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return False
    control = sum(byte < 9 or 13 < byte < 27 for byte in head)
    return b"\x00" in head or control * 10 > len(head)


class Document:
    """What the page's parts ask about. Each is worked out at its first use."""

    def __init__(self, body: bytes, content_type: str = "") -> None:
        self.size = len(body)
        self.content_hash = hashlib.sha256(body).hexdigest() if body else None
        capped = body if self.size <= PARSE_LIMIT else body[:PARSE_LIMIT]
        self.truncated = len(capped) < self.size
        wide = wide_charset(capped)
        if wide is not None:
            capped = capped.decode(wide, "replace").encode("utf-8", "replace")
        self.kind = kind_of(capped, content_type)
        self.charset: str | None = None
        self._marks: frozenset[bytes] | None = None
        self.raw = b""
        if self.kind in ("html", "json", "xml", "text"):
            self.raw, self.charset = to_utf8(capped, content_type or None)
            self.charset = wide or self.charset

    @cached_property
    def lowered(self) -> bytes:
        """The page's source in lower case (ASCII), to search marks in."""
        return self.raw.lower()

    def marks(self, markers: Markers) -> frozenset[bytes]:
        """The parts of marks that stand in the source."""
        if self._marks is None:
            self._marks = markers.html_index.found_in(self.lowered)
        return self._marks

    @cached_property
    def tree(self) -> etree._Element | None:
        """The parsed page with nothing removed; None where it is no markup."""
        if self.kind not in ("html", "xml") or not self.raw:
            return None
        # NUL ends a document for libxml2.
        source = self.raw.replace(b"\x00", b"") if b"\x00" in self.raw else self.raw
        parser = etree.HTMLParser(
            encoding="utf-8",
            remove_comments=True,
            remove_pis=True,
            collect_ids=False,
            huge_tree=True,
        )
        try:
            return etree.fromstring(source, parser)
        except (etree.XMLSyntaxError, ValueError, AssertionError):
            return None

    @cached_property
    def structured_data(self) -> list[str]:
        """The text of each JSON-LD script, read before scripts are dropped from the tree."""
        if self.tree is None or b"ld+json" not in self.lowered:
            return []
        return [
            script.text
            for script in self.tree.iter("script")
            if "ld+json" in (script.get("type") or "").lower() and script.text
        ]

    @cached_property
    def seen(self) -> etree._Element | None:
        """The tree without scripts, styles and the like. Changes `tree` itself."""
        if self.tree is None:
            return None
        _ = self.structured_data
        etree.strip_elements(self.tree, *_UNSEEN, with_tail=False)
        return self.tree

    @cached_property
    def title(self) -> str | None:
        if self.seen is None:
            return None
        for element in self.seen.iter("title"):
            text = " ".join("".join(element.itertext()).split())
            return text[:500] or None
        return None

    @cached_property
    def body_element(self) -> etree._Element | None:
        if self.seen is None:
            return None
        return next(self.seen.iter("body"), None)

    @cached_property
    def text(self) -> str:
        """All text that the page carries for a reader, white space collapsed."""
        if self.kind in ("json", "text"):
            return collapsed(self.raw.decode("utf-8", "replace"))
        root = self.body_element if self.body_element is not None else self.seen
        if root is None:
            return ""
        return collapsed(etree.tostring(root, method="text", encoding="unicode", with_tail=False))

    @cached_property
    def text_hash(self) -> str | None:
        """SHA-256 of the text without digits."""
        digitless = self.text.encode("utf-8", "replace").translate(None, b"0123456789")
        return hashlib.sha256(digitless).hexdigest() if digitless.strip() else None

    @cached_property
    def is_long(self) -> bool:
        """Whether the page carries so much running text that it is no interstitial."""
        return len(self.text) >= _LONG_TEXT and self.letters >= _LONG_LETTERS

    @cached_property
    def letters(self) -> int:
        """Letters at the beginning of the text, seen or hidden."""
        return count_letters(self.text[:_LONG_SAMPLE])

    @cached_property
    def headings(self) -> list[str]:
        """The first headings of levels 1 to 3, in the order of the page, but for links to other
        pages; a short answer in plain text is one itself."""
        if self.kind == "text" and len(self.raw) <= 200:
            return [self.text]
        if self.seen is None:
            return []
        found: list[str] = []
        for element in islice(self.seen.iter("h1", "h2", "h3"), _HEADINGS):
            text = " ".join("".join(element.itertext()).split())
            if text and not _is_link(element, text):
                found.append(text[:200])
                if len(found) == 12:
                    break
        return found

    @cached_property
    def body_classes(self) -> str:
        """Class and id of `html` and `body`, lower case, space-separated and padded."""
        parts: list[str] = []
        for element in (self.seen, self.body_element):
            if element is not None:
                parts += [element.get("class") or "", element.get("id") or ""]
        return f" {' '.join(parts).lower()} "

    @cached_property
    def layout(self) -> Layout:
        """The visible page by blocks; costlier than the rest, so asked of short pages only."""
        if self.kind in ("text", "json"):
            return Layout.of_text(self.raw[:_TEXT_LIMIT].decode("utf-8", "replace"))
        return lay_out(self.seen)
