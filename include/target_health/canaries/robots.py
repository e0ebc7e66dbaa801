"""robots.txt: which canaries may be fetched, remembered for as long as its standard allows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

from protego import Protego

from target_health.canaries.records import Answer
from target_health.canaries.work_files import write_json
from target_health.times import iso, parse_time

#: Bytes of a robots.txt that are read (RFC 9309, 2.5).
LIMIT = 500 * 1024
FORBIDDEN = "robots.txt forbids it"
UNREADABLE = "robots.txt gave no answer"


@dataclass(frozen=True, slots=True)
class Robots:
    """What an origin's robots.txt said. ``text`` is None where it gave no answer: then nothing may
    be fetched (RFC 9309, 2.3.1.4); it is empty where there is none.
    """

    text: str | None
    read_at: datetime

    def refusal(self, url: str, user_agent: str) -> str | None:
        """Why a URL may not be fetched; None where it may."""
        if self.text is None:
            return UNREADABLE
        if not self.text.strip():
            return None
        rules: Protego = Protego.parse(self.text)
        return None if rules.can_fetch(url, product_token(user_agent)) else FORBIDDEN


def product_token(user_agent: str) -> str:
    """The name that a robots.txt knows a crawler by: that of its first product that is no
    browser's.
    """
    for part in user_agent.replace("(", " ").replace(";", " ").split():
        name = part.partition("/")[0]
        if "/" in part and "://" not in part and name.lower() not in _BROWSERS:
            return name
    return user_agent.partition("/")[0].strip() or "*"


_BROWSERS = frozenset(
    {"mozilla", "applewebkit", "gecko", "chrome", "safari", "firefox", "version", "edg", "mobile"}
)


def origin_of(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def robots_of(answer: Answer, now: datetime) -> Robots:
    """What an answer to robots.txt means (RFC 9309, 2.3.1): a refusal or none at all is no rule."""
    if answer.status is None or answer.status >= 500:
        return Robots(None, now)
    if 200 <= answer.status < 300:
        return Robots(answer.body[:LIMIT].decode("utf-8", "replace"), now)
    return Robots("", now)


def remembered(path: Path, now: datetime, keep_hours: float) -> dict[str, Robots]:
    """What was read lately, by route and origin; nothing where the file is unreadable."""
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
        found = {
            str(key): Robots(row["text"], parse_time(row["read_at"])) for key, row in rows.items()
        }
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}
    oldest = now - timedelta(hours=keep_hours)
    return {key: one for key, one in found.items() if oldest < one.read_at <= now}


def remember(path: Path, known: Mapping[str, Robots]) -> None:
    """Keep what was answered; no answer is asked for again by the next run."""
    rows = {
        key: {"text": one.text, "read_at": iso(one.read_at)}
        for key, one in known.items()
        if one.text is not None
    }
    write_json(path, rows)
