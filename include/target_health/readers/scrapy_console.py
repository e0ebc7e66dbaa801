"""Scrapy's console log: what its engine and its downloader middlewares say of each request.

A fetch is a ``Crawled`` line, a redirect that was followed (Scrapy logs its answer nowhere else),
each failed attempt that is retried, and the last one that it gave up on. All else is skipped by
reason: filtered and forbidden requests, answers out of Scrapy's own cache, items, other chatter.
Messages as of Scrapy 1.0 to 2.13:
https://docs.scrapy.org/en/latest/_modules/scrapy/logformatter.html
"""

from __future__ import annotations

import re

from target_health.readers.raw import Outcome, Reading, Row, Skip
from target_health.readers.reader import LineReader

STAMP = re.compile(
    r"\[?(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d{1,6})?(?:Z|[+-]\d\d:?\d\d)?)\]?"
    r" \[([^\]\s]*)\] (DEBUG|INFO|WARNING|ERROR|CRITICAL): (.*)",
    re.DOTALL,
)
#: A log is Scrapy's when one of its first lines is by a module of it.
SCRAPY = re.compile(STAMP.pattern.partition(r" \[([^\]\s]*)\]")[0] + r" \[scrapy[.\w]*\] [A-Z]+: ")

_REQUEST = r"<[A-Z]+ (\S.*?)>"
_CRAWLED = re.compile(rf"Crawled \((\d{{3}})\) {_REQUEST}(.*? )?\(referer: .*\)(.*)")
_REDIRECTING = re.compile(rf"Redirecting \((.*?)\) to {_REQUEST} from {_REQUEST}\s*")
_FAILED = re.compile(rf"(Retrying|Gave up retrying) {_REQUEST} \(failed \d+ times?\): (.*)")
_DOWNLOAD = re.compile(rf"Error downloading {_REQUEST}(.*)")
_STATUS = re.compile(r"(\d{3})\b")

#: How messages begin that tell of no fetch, and what they are counted as.
_NO_FETCH = (
    ("Forbidden by robots.txt", "robots"),
    ("Filtered offsite request", "filtered request"),
    ("Filtered duplicate request", "filtered request"),
    ("Scraped from ", "item"),
    ("Ignoring response", "told by its Crawled line"),
)
CHATTER = "log message"
CONTINUED = "part of a message"
CACHED = "from Scrapy's cache"
TOLD = "told by its last attempt"


class ScrapyConsole(LineReader):
    def row(self, text: str) -> Outcome:
        text = text.lstrip("\ufeff\0").rstrip()
        if not text.strip("\0 \t"):
            return Skip("blank line")
        stamped = STAMP.match(text)
        if not stamped:
            return Skip(CONTINUED)
        ts, _, _, message = stamped.groups()
        found = _fetch(message, retries=self.reading.retries_told)
        return found if isinstance(found, Skip) else Row({"ts": ts, **found})


def _fetch(message: str, *, retries: bool) -> dict[str, str | None] | Skip:
    """The fetch that a message tells of."""
    if crawled := _CRAWLED.match(message):
        status, url, before, after = crawled.groups()
        if "'cached'" in f"{before or ''}{after}":
            return Skip(CACHED)
        return {"url": url, "status": status}
    if moved := _REDIRECTING.match(message):
        status, target, url = moved.groups()
        if not _STATUS.fullmatch(status):  # the page itself came, and is no answer of its own
            return Skip(f"{status} redirect")
        return {"url": url, "status": status, "final_url": target}
    if failed := _FAILED.match(message):
        what, url, reason = failed.groups()
        status = _STATUS.match(reason)
        if status and what != "Retrying":  # the answer itself is logged as Crawled too
            return Skip("told by its Crawled line")
        return {"url": url, "status": status[1]} if status else {"url": url, "error": reason}
    if lost := _DOWNLOAD.match(message):
        if retries:
            return Skip(TOLD)
        return {"url": lost[1], "error": lost[2].lstrip(": ") or "other"}
    return Skip(next((why for begin, why in _NO_FETCH if message.startswith(begin)), CHATTER))


def recognised(lines: list[str]) -> bool:
    return any(SCRAPY.match(line) for line in lines)


def reading(lines: list[str]) -> Reading:
    """Where retries are switched off, a lost download is told by its error alone."""
    listed = any("Enabled downloader middlewares" in line for line in lines)
    retries = any("RetryMiddleware" in line for line in lines)
    return Reading("scrapy_console", retries_told=retries or not listed)
