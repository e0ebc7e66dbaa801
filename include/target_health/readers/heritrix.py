"""Heritrix ``crawl.log``: one line a URI, columns parted by spaces.

Time of logging, fetch status, size, URI, discovery path, referrer, type, thread, start and
duration (``20160331143534970+139``), digest, source, annotations, JSON or extra info. Statuses
below 100 are Heritrix's own:
https://heritrix.readthedocs.io/en/latest/glossary.html#status-codes
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import duckdb

from target_health.readers.lines import LineChunk
from target_health.readers.raw import RAW_FIELDS, Bad, Outcome, Row, Skip
from target_health.readers.reader import LineReader
from target_health.readers.sql_text import literal

LINE = re.compile(
    r"^\s*(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z?)\s+(-?\d+)\s+(\d+|-)\s+(\S+)"
    r"(?:\s+(\S+)\s+(\S+)\s+(\S+)\s+(\S+)\s+(\S+)\s+(\S+)(?:\s.*)?)?$"
)
START = re.compile(r"(\d{14,17})(?:\+(\d+))?")

#: Statuses of URIs that were never fetched, with the reason that they are skipped under.
NO_FETCH = {
    1: "dns look-up",
    0: "never tried",
    -7: "illegal uri",
    -8: "too many retries of a prerequisite",
    -50: "waiting for a prerequisite",
    -60: "waiting for a prerequisite",
    -61: "robots.txt not fetched",
    -62: "prerequisite failed",
    -63: "prerequisite not scheduled",
    -3000: "crawler's own error",
    -4000: "content type not wanted",
    -5000: "out of scope",
    -5001: "blocked by the user",
    -5002: "blocked by a processor",
    -5003: "quota",
    -5004: "quota",
    -6000: "deleted by the user",
    -7000: "crawler's processing thread was killed",
    -9998: "robots",
}
#: Statuses of fetches that brought no response.
ERRORS = {
    -1: "dns",
    -2: "other",  # no connection
    -3: "connection_reset",  # the connection was lost on the way
    -4: "timeout",
    -5: "other",  # the fetcher's own trouble
    -6: "dns",  # the look-up was a prerequisite and failed
    -404: "other",  # an empty HTTP response read as 404
}


class Heritrix(LineReader):
    def relation(self, connection: duckdb.DuckDBPyConnection, chunk: LineChunk) -> str | None:
        return _SQL

    def straight_relation(self) -> str | None:
        return _SQL.replace("SELECT line, chain,", "SELECT l, line, chain,")

    def row(self, text: str) -> Outcome:
        if not text.strip("\0 \t\r\n\ufeff"):
            return Skip("blank line")
        match = LINE.match(text.lstrip("\ufeff\0"))
        if not match:
            return Bad("not a Heritrix line")
        logged, status_text, size, url, _, _, _, _, started, digest = match.groups()
        status = int(status_text)
        if status in NO_FETCH:
            return Skip(NO_FETCH[status])
        end = _end(started)
        fields: dict[str, str | None] = {
            "ts": end[0] if end else logged,
            "url": url,
            "bytes": None if size == "-" else size,
            "content_hash": None if digest in (None, "-") else digest,
        }
        if end and end[1] is not None:
            fields["latency_ms"] = end[1]
        if status > 0:
            fields["status"] = status_text
        else:
            fields["error"] = ERRORS.get(status, "other")
            fields["bytes"] = None
        return Row(fields)


def _end(started: str | None) -> tuple[str, str | None] | None:
    """The fetch's end as ISO 8601 and its duration in ms, of ``<start>+<ms>``."""
    match = START.fullmatch(started or "")
    if not match:
        return None
    digits = match[1].ljust(17, "0")
    try:
        start = datetime.strptime(digits + "000", "%Y%m%d%H%M%S%f")
        end = start + timedelta(milliseconds=int(match[2] or 0))
    except (ValueError, OverflowError):
        return None
    return end.isoformat() + "Z", match[2]


def _case(codes: dict[int, str]) -> str:
    return " ".join(f"WHEN {code} THEN {literal(word)}" for code, word in codes.items())


def _build() -> str:
    """The common case in SQL; every other line is read again by ``Heritrix.row``."""
    pattern = LINE.pattern.replace("?:", "?:")
    names = "['logged','status','size','url','path','via','kind','thread','started','digest']"
    end = (
        "strftime(try_strptime(substr(p.started, 1, 17), '%Y%m%d%H%M%S%g') "
        "+ to_milliseconds(TRY_CAST(split_part(p.started, '+', 2) AS INTEGER)), "
        "'%Y-%m-%dT%H:%M:%S.%fZ')"
    )
    fields = {
        "ts": end,
        "url": "p.url",
        "status": "CASE WHEN code > 0 THEN p.status END",
        "error": f"CASE WHEN code < 0 THEN CASE code {_case(ERRORS)} ELSE 'other' END END",
        "latency_ms": "split_part(p.started, '+', 2)",
        "bytes": "CASE WHEN code > 0 THEN nullif(p.size, '-') END",
        "content_hash": "nullif(p.digest, '-')",
    }
    columns = ", ".join(f"{fields.get(name, 'NULL::VARCHAR')} AS {name}" for name in RAW_FIELDS)
    codes = ", ".join(map(str, NO_FETCH))
    return (
        f"SELECT line, chain, coalesce(code IN ({codes}) OR NOT regexp_matches(p.started, "
        f"'^[0-9]{{17}}[+][0-9]{{1,9}}$') OR {end} IS NULL, true) AS reread, {columns} "
        f"FROM (SELECT line, chain, p, TRY_CAST(p.status AS INTEGER) AS code FROM "
        f"(SELECT line, chain, regexp_extract(rtrim(l, chr(13) || chr(10)), {literal(pattern)}, "
        f"{names}) AS p FROM chunk))"
    )


_SQL = _build()
