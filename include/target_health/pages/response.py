"""What a crawler received, as the classifier takes it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from target_health.verdicts import has_item_value

Paywall = Literal["PAYWALLED", "FREE", "UNKNOWN"]


class NotAttempted:
    """The type of `NOT_ATTEMPTED`: no extraction ran, which differs from one without result."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "NOT_ATTEMPTED"

    def __bool__(self) -> bool:
        return False


NOT_ATTEMPTED: Final = NotAttempted()


@dataclass(frozen=True, slots=True)
class Response:
    """One response. `status` is None when there was none; `error` says why.

    `body` is decoded of transfer and content encodings. `headers` are looked up without regard
    to case; a value may be a list where a header came several times. `url` is the final URL.
    """

    status: int | None
    body: bytes = b""
    headers: Mapping[str, str | Iterable[str]] = field(default_factory=dict)
    url: str = ""
    item: object = NOT_ATTEMPTED
    error: str | None = None
    content_type: str | None = None

    def lowered_headers(self) -> dict[str, str]:
        """Header names in lower case; several values joined by a line feed."""
        lowered: dict[str, str] = {}
        for name, value in self.headers.items():
            text = value if isinstance(value, str) else "\n".join(map(str, value))
            key = str(name).lower()
            lowered[key] = f"{lowered[key]}\n{text}" if key in lowered else text
        return lowered

    def has_item(self) -> bool:
        return self.item is not NOT_ATTEMPTED and has_item_value(self.item)


@dataclass(frozen=True, slots=True)
class PageVerdict:
    """What the site really served, why, and what landing stores of the body.

    `evidence` holds words `<verdict>:<how>` and `why` one sentence for each of them.
    `content_hash` is the SHA-256 (hex) of the body, `text_hash` that of its visible text without
    digits, so that pages that differ in a date or a request number count as the same answer;
    None where there is no text.
    """

    verdict: str
    evidence: tuple[str, ...]
    confidence: float
    paywall: Paywall
    why: tuple[str, ...]
    title: str | None
    text_length: int
    content_hash: str | None
    text_hash: str | None
