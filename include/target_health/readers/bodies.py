"""Rows with a page become rows with what the page says: evidence, title, lengths, hashes."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

from target_health.pages import (
    NOT_ATTEMPTED,
    Markers,
    PageVerdict,
    Response,
    classify,
    load_markers,
)
from target_health.pages.text_only import as_page
from target_health.readers.archive_record import read_record
from target_health.readers.raw import Outcome, Page, Row

#: The type of a page that ``body_of`` made of its text.
TEXT_AS_PAGE = "text/html; charset=utf-8"
_STATUS = re.compile(r"\s*(?:HTTP(?:/[0-9.]+)?\s+)?(\d{3})(?:\.0+)?\b")
_BETWEEN_MARKS = re.compile(r"[;|,\s]+")


def load(paths: Sequence[Path]) -> tuple[Markers]:
    """What a process that looks at rows needs besides them."""
    return (load_markers(*paths),)


def look(row: Row, markers: Markers) -> Outcome:
    """The row without its page, and with what the page's verdict rests on.

    What the log itself says stays: its evidence is added to, its title, length and hashes are
    kept. An archive's record may turn out to be no fetch at all.
    """
    page = row.page
    if page is not None and page.record is not None:
        outcome = read_record(page.record)
        if not isinstance(outcome, Row):
            return outcome
        row, page = outcome, outcome.page
    if page is None:
        return row
    body = body_of(page, row)
    found = classify(
        Response(
            status=_status(row.fields.get("status")),
            body=body,
            headers=page.headers,
            url=row.fields.get("final_url") or row.fields.get("url") or "",
            item=item_of(row.fields.get("item")),
            error=row.fields.get("error"),
            content_type=TEXT_AS_PAGE if page.text is not None else None,
        ),
        markers,
    )
    return Row(row.fields | _told(row, found, body, whole=page.text is None))


def _told(row: Row, found: PageVerdict, body: bytes, *, whole: bool) -> dict[str, str | None]:
    told: dict[str, str | None] = {
        "title": found.title,
        "text_length": str(found.text_length),
        "text_hash": found.text_hash,
    }
    if whole:
        told |= {"content_hash": found.content_hash, "bytes": str(len(body))}
    kept = {name: value for name, value in row.fields.items() if value not in (None, "")}
    told = {name: value for name, value in told.items() if name not in kept}
    return told | {"evidence": merged(row.fields.get("evidence"), found.evidence)}


def body_of(page: Page, row: Row) -> bytes:
    """A row's page as bytes; where the log has only its text, as a page of that text."""
    if page.text is not None:
        return as_page(page.text, row.fields.get("title"))
    if isinstance(page.body, str):
        return page.body.encode("utf-8", "replace")
    return page.body or b""


def _status(text: str | None) -> int | None:
    match = _STATUS.match(text or "")
    return int(match[1]) if match else None


def item_of(text: str | None) -> object:
    """What extraction produced, by the log."""
    if text is None:
        return NOT_ATTEMPTED
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def merged(text: str | None, found: Sequence[str]) -> str | None:
    """The log's marks and then ours, as JSON; a log's text that is no list of marks as it is."""
    stripped = (text or "").strip()
    marks: object = []
    if stripped.startswith(("[", "{")):
        try:
            marks = json.loads(stripped)
        except (ValueError, RecursionError):
            return text
    elif stripped:
        marks = [mark for mark in _BETWEEN_MARKS.split(stripped.strip('" ')) if mark]
    if not isinstance(marks, list) or not all(isinstance(mark, str) for mark in marks):
        return text
    return json.dumps(list(dict.fromkeys([*marks, *found])), ensure_ascii=False)
