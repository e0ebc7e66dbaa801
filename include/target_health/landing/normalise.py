"""Raw text columns to typed ones, with the reason for every line that does not fit, in SQL."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from target_health.config.sources import Source, Sources
from target_health.landing.hosts import site_key_sql
from target_health.landing.redact import Redaction
from target_health.landing.verdict_sql import has_item_value_sql
from target_health.readers.raw import Reading
from target_health.readers.sql_text import literal
from target_health.times import DAY, floor_day

#: Marks a line that is read again by the exact path; never a reason that anybody sees.
REREAD = "~reread"

#: The staging table: one row a line that is not blank, typed, with what is wrong with it.
STAGED = """
    file_number INTEGER, line BIGINT, chain UBIGINT, reason VARCHAR, is_skip BOOLEAN,
    ts TIMESTAMP, site_key VARCHAR, given_site VARCHAR, url VARCHAR, page_type VARCHAR,
    status SMALLINT, error VARCHAR, latency_ms DOUBLE, bytes BIGINT, attempts BIGINT,
    redirects BIGINT, credits DOUBLE, route_gateway VARCHAR, route_country VARCHAR,
    route_pool VARCHAR, route_session VARCHAR, route_exit VARCHAR, final_url VARCHAR,
    content_hash VARCHAR, title VARCHAR, text_length BIGINT, evidence VARCHAR[], item VARCHAR,
    canary VARCHAR, source VARCHAR, event_id VARCHAR, has_item_value BOOLEAN, text_hash VARCHAR
"""
STAGED_NAMES = tuple(part.split()[0] for part in STAGED.split(","))

#: Times as text that DuckDB's own cast does not read. With and without an offset or zone name.
FORMATS_WITH_ZONE = (
    "%a, %d %b %Y %H:%M:%S %z",
    "%a, %d %b %Y %H:%M:%S %Z",
    "%d %b %Y %H:%M:%S %z",
    "%d %b %Y %H:%M:%S %Z",
    "%d/%b/%Y:%H:%M:%S %z",
    "[%d/%b/%Y:%H:%M:%S %z]",
    "%Y-%m-%dT%H:%M:%S%z",
    "%Y-%m-%dT%H:%M:%S.%f%z",
    "%Y%m%dT%H%M%SZ",
)
FORMATS_WITHOUT_ZONE = (
    "%d.%m.%Y %H:%M:%S",
    "%d.%m.%Y %H:%M:%S.%f",
    "%d.%m.%Y, %H:%M:%S",
    "%d.%m.%Y %H:%M",
    "%Y-%m-%dT%H:%M:%S,%f",
    "%Y-%m-%d %H:%M:%S,%f",
    "%Y%m%dT%H%M%S",
    "%d %b %Y %H:%M:%S",
    "%a %b %d %H:%M:%S %Y",
    "%Y-%m-%dT%H",
    "%d-%b-%Y %H:%M:%S",
    "%b %d, %Y %H:%M:%S",
    "%b %d, %Y %I:%M:%S %p",
    "%Y-%m-%d %I:%M:%S %p",
    "%b %d %Y %H:%M:%S",
    "%B %d, %Y %H:%M:%S",
    "%B %d, %Y %I:%M %p",
    "%B %d, %Y %I:%M:%S %p",
    "%d %B %Y %H:%M:%S",
    "%d %b %Y %H:%M",
    "%Y-%m-%d_%H:%M:%S",
    "%Y-%m-%d_%H-%M-%S",
    "%Y-%m-%d %H-%M-%S",
    "%Y%m%d %H%M%S",
    "%Y%m%d_%H%M%S",
    "%Y%m%d-%H%M%S",
)

ERRORS = ("connection_reset", "timeout", "dns", "tls", "proxy", "aborted", "other")
#: Words in the errors that crawlers and their libraries write, first match wins.
ERROR_WORDS = (
    ("proxy", "proxy|tunnel"),
    ("dns", "dns|resolv|getaddrinfo|name_not|name or service|enotfound|nxdomain|unknown ?host"),
    ("tls", "tls|ssl|certificate|handshake"),
    ("timeout", "time_?d?.?out|etimedout|deadline"),
    ("connection_reset", "reset|econnreset|connection_?lost|remote_?disconnected|broken.?pipe"),
    ("aborted", "abort|cancel"),
)

#: Units that home-made logs write behind a number, in lower case.
LATENCY_UNITS = "us|µs|ms|msecs?|millis|milliseconds?|s|secs?|seconds?|sek|seg|m|min"
SIZE_UNITS = "b|bytes?|[kmg]|[kmg]i?b|[kmg]?o|octets"

#: Larger counts are no sizes but garbage, and no longer exact as a double.
MAX_COUNT = 9_007_199_254_740_992
NO_FETCH_TEXT = "robots|not crawled|excluded|blocked by|skipped|disallow"


@dataclass(frozen=True, slots=True)
class Rules:
    """What decides over a line: the landing's clock and the numbers of ``sources.yaml``."""

    now: datetime
    sources: Sources
    redaction: Redaction

    @property
    def latest(self) -> datetime:
        """The first moment after tomorrow."""
        return floor_day(self.now) + 2 * DAY

    @property
    def future(self) -> datetime:
        """Later than this a fetch cannot have ended."""
        return self.now + timedelta(minutes=self.sources.wrong_clock.tolerance_minutes)


def _list(texts: tuple[str, ...]) -> str:
    return "[" + ", ".join(literal(text) for text in texts) + "]"


def time_sql(ts: str, reading: Reading) -> str:
    """A time from text: ISO 8601, epoch in s, ms, µs or ns, RFC 2822, common log formats.

    Text without an offset is in the session's time zone. Null for anything else, also for a date
    without a time of day and for ``dd/mm/yyyy`` unless the reading knows its format.
    """
    number = f"TRY_CAST({ts} AS DOUBLE)"
    epoch = (
        f"CASE WHEN abs({number}) < 1e11 THEN to_timestamp({number}) "
        f"WHEN abs({number}) < 1e14 THEN to_timestamp({number} / 1e3) "
        f"WHEN abs({number}) < 1e17 THEN to_timestamp({number} / 1e6) "
        f"WHEN abs({number}) < 1e20 THEN to_timestamp({number} / 1e9) END"
    )
    compact = (
        f"CASE WHEN regexp_matches({ts}, '^(19|20)\\d{{12}}$') THEN "
        f"CAST(try_strptime({ts}, '%Y%m%d%H%M%S') AS TIMESTAMPTZ) "
        f"WHEN regexp_matches({ts}, '^(19|20)\\d{{15}}$') THEN "
        f"CAST(try_strptime({ts}, '%Y%m%d%H%M%S%g') AS TIMESTAMPTZ) END"
    )
    others = (
        f"TRY_CAST(regexp_replace(regexp_replace({ts}, ',(\\d+)', '.\\1'), "
        f"' ?([+-]\\d\\d):?(\\d\\d)$', '\\1:\\2') AS TIMESTAMPTZ), "
        f"CAST(try_strptime({ts}, {_list(FORMATS_WITH_ZONE)}) AS TIMESTAMPTZ), "
        f"CAST(try_strptime({ts}, {_list(FORMATS_WITHOUT_ZONE)}) AS TIMESTAMPTZ)"
    )
    own = (
        f"CAST(try_strptime({ts}, {literal(reading.ts_format)}) AS TIMESTAMPTZ), "
        if reading.ts_format
        else ""
    )
    text = (
        f"coalesce({own}CASE WHEN length({ts}) > 10 THEN TRY_CAST({ts} AS TIMESTAMPTZ) END, "
        f"{compact}, TRY({epoch}), CASE WHEN length({ts}) > 10 THEN coalesce({others}) END)"
    )
    return f"timezone('UTC', {text})"


def number_sql(value: str) -> str:
    """A number, also with thousands' commas; null for what is none."""
    return (
        f"coalesce(TRY_CAST({value} AS DOUBLE), CASE WHEN regexp_matches({value}::VARCHAR, "
        f"'^\\s*\\d{{1,3}}(,\\d{{3}})+(\\.\\d+)?\\s*$') "
        f"THEN TRY_CAST(replace({value}::VARCHAR, ',', '') AS DOUBLE) END)"
    )


def latency_sql(value: str) -> str:
    """Milliseconds; a unit written behind the number counts, and ``0:00:01.5`` is a duration."""
    parts = _with_unit(value, LATENCY_UNITS)
    return (
        f"coalesce({number_sql(value)}, CASE WHEN {value} IS NOT NULL THEN coalesce("
        f"TRY_CAST({parts}.n AS DOUBLE) * CASE WHEN {parts}.unit IN ('us', 'µs') THEN 0.001 "
        f"WHEN starts_with({parts}.unit, 'm') AND {parts}.unit NOT IN ('m', 'min') THEN 1 "
        f"WHEN starts_with({parts}.unit, 'm') THEN 60000 ELSE 1000 END, "
        f"CASE WHEN regexp_full_match(trim({value}::VARCHAR), "
        f"'\\d{{1,2}}:\\d\\d:\\d\\d(\\.\\d+)?') "
        f"THEN epoch(TRY_CAST(trim({value}::VARCHAR) AS INTERVAL)) * 1000 END) END)"
    )


def size_sql(value: str) -> str:
    """Bytes; a unit written behind the number counts, in steps of 1024."""
    parts = _with_unit(value, SIZE_UNITS)
    return (
        f"coalesce({number_sql(value)}, CASE WHEN {value} IS NOT NULL THEN "
        f"round(TRY_CAST({parts}.n AS DOUBLE) * CASE {parts}.unit[1] WHEN 'k' THEN 1024 "
        f"WHEN 'm' THEN 1048576 WHEN 'g' THEN 1073741824 ELSE 1 END) END)"
    )


def _with_unit(value: str, units: str) -> str:
    """A number ``n`` and its ``unit``; nulls where the value is not made of these two."""
    return (
        f"regexp_extract(replace(lower({value}::VARCHAR), ',', '.'), "
        f"'^\\s*(\\d+(?:\\.\\d+)?)\\s*({units})\\s*$', ['n', 'unit'])"
    )


def status_sql(value: str) -> str:
    """The status code of ``200``, ``"200"``, ``200 OK``, ``HTTP/1.1 200 OK``."""
    return (
        f"coalesce(TRY_CAST({value} AS DOUBLE), TRY_CAST(regexp_extract({value}::VARCHAR, "
        f"'^\\s*(?:HTTP(?:/[0-9.]+)?\\s+)?([0-9]{{3}})\\b', 1) AS DOUBLE))"
    )


def error_sql(error: str, status_text: str) -> str:
    """The design's word for an error; words of libraries are recognised, the rest is ``other``."""
    known = ", ".join(literal(word) for word in ERRORS)
    cases = " ".join(
        f"WHEN regexp_matches(lower({error}), {literal(words)}) THEN {literal(word)}"
        for word, words in ERROR_WORDS
    )
    return (
        f"CASE WHEN {error} IS NULL THEN {status_text} WHEN {error} IN ({known}) THEN {error} "
        f"WHEN lower({error}) IN ('', '-', 'none', 'null', 'nan', 'false', '0', '[]', 'ok', "
        f"'no error') THEN NULL {cases} ELSE 'other' END"
    )


def evidence_sql(value: str) -> str:
    """A list of marks from a JSON list, a JSON string, or marks parted by ``; | ,`` or spaces."""
    return (
        f"CASE WHEN {value} IS NULL THEN []::VARCHAR[] "
        f"WHEN starts_with(ltrim({value}), '[') THEN "
        f"TRY_CAST(TRY_CAST({value} AS JSON) AS VARCHAR[]) "
        f"WHEN starts_with(ltrim({value}), '{{') THEN NULL ELSE list_filter("
        f"regexp_split_to_array(trim({value}, '\" '), '[;|,\\s]+'), lambda mark: mark <> '') END"
    )


def route_sql(part: str, *, whole: bool) -> str:
    """A route's part: its own column, else out of ``route`` as JSON text (``whole``)."""
    if not whole:
        return f"route_{part}"
    return f"nullif(coalesce(route_{part}, TRY(json_extract_string(route, '$.{part}'))), '')"


TIME_REASON = """CASE WHEN regexp_matches(trim(ts), '^\\d{4}[-/]\\d\\d?[-/]\\d\\d?$')
    THEN 'ts has no time of day'
    WHEN regexp_matches(trim(ts), '^\\d\\d?[-/.]\\d\\d?[-/.]\\d{2,4}')
    THEN 'ts could be day/month or month/day: set ts_format in sources.yaml'
    ELSE 'ts is not a time' END"""


def counts_reasons(name: str, raw: str, number: str) -> str:
    return (
        f"WHEN {raw} IS NOT NULL AND {number} IS NULL THEN '{name} is not a number' "
        f"WHEN {number} < 0 THEN '{name} is negative' "
        f"WHEN NOT {number} <= {MAX_COUNT} THEN '{name} is impossible' "
    )


def staged_sql(
    raw: str,
    *,
    reading: Reading,
    source_name: str,
    source: Source,
    rules: Rules,
    file_number: int,
    numbers: frozenset[str] = frozenset(),
    typed_ts: bool = False,
    with_text: bool = False,
) -> str:
    """A SELECT of ``STAGED`` over a relation of raw fields (``raw``: SQL of a SELECT).

    ``with_text`` passes the line itself (``l``) through. Parameters named in it: ``$latest``,
    ``$earliest`` TIMESTAMP, ``$file_time`` TIMESTAMP.
    """
    strict = reading.format == "native"
    constants = source.constants
    if reading.ts_from_file:
        ts, ts_missing = "$file_time", "false"
    elif typed_ts:
        # As timezone('UTC', ts), which asks the calendar for each row
        ts, ts_missing = "make_timestamp(epoch_us(ts))", "ts IS NULL"
    else:
        ts, ts_missing = time_sql("trim(ts)", reading), "nullif(trim(ts), '') IS NULL"
    time_reason = "'ts is not a time'" if typed_ts else TIME_REASON

    def number(name: str) -> str:
        return name if name in numbers else number_sql(name)

    no_response = "" if strict else "WHEN status_number = 0 THEN NULL"
    zero_is_bad = "status_number NOT BETWEEN 100 AND 999" + (
        "" if strict else " AND status_number <> 0"
    )

    def constant(value: str | None, expression: str) -> str:
        return expression if value is None else f"coalesce({expression}, {literal(value)})"

    route = {
        part: constant(
            getattr(constants.route, part), route_sql(part, whole="route" in reading.columns)
        )
        for part in ("gateway", "country", "pool", "session", "exit")
    }
    has_text = "status_text" in reading.columns
    text_error = (
        "CASE WHEN coalesce(status_number, 0) = 0 THEN " + error_sql("status_text", "NULL") + " END"
        if has_text
        else "NULL"
    )
    no_fetch = (
        f"WHEN coalesce(status_number, 0) = 0 AND regexp_matches(lower(status_text), "
        f"'{NO_FETCH_TEXT}') THEN 'no fetch: robots or excluded' "
        if has_text
        else ""
    )
    status_no_fetch = (
        ""
        if strict
        else f"WHEN status IS NOT NULL AND status_number IS NULL AND "
        f"regexp_matches(lower(status::VARCHAR), '{NO_FETCH_TEXT}') "
        "THEN 'no fetch: robots or excluded' "
    )
    skips = (no_fetch + status_no_fetch).strip()
    skip_case = f"CASE {skips} END" if skips else "NULL::VARCHAR"
    return f"""
    SELECT
        {"l, " if with_text else ""}{file_number}::INTEGER AS file_number, line, chain,
        CASE WHEN reread THEN '{REREAD}' WHEN skip IS NOT NULL THEN skip
        WHEN {ts_missing} THEN 'ts is missing'
        WHEN time IS NULL THEN {time_reason}
        WHEN time < $earliest THEN 'ts is impossibly early'
        WHEN time >= $latest THEN 'ts is beyond tomorrow'
        WHEN url IS NULL OR url = '' THEN 'url is missing'
        WHEN status IS NOT NULL AND status_number IS NULL THEN 'status is not a number'
        WHEN {zero_is_bad} OR status_number <> floor(status_number)
            THEN 'status is outside 100-999'
        {counts_reasons("latency_ms", "latency_ms", "latency")}
        {counts_reasons("bytes", "bytes", "byte_count")}
        {counts_reasons("attempts", "attempts", "attempt_count")}
        {counts_reasons("redirects", "redirects", "redirect_count")}
        {counts_reasons("credits", "credits", "credit_count")}
        {counts_reasons("text_length", "text_length", "text_count")}
        WHEN marks IS NULL THEN 'evidence is not a list of strings'
        END AS reason,
        skip IS NOT NULL AND NOT reread AS is_skip,
        time AS ts,
        {site_key_sql("url")} AS site_key,
        {constant(constants.site, "nullif(trim(site), '')")} AS given_site,
        {rules.redaction.sql("url")} AS url,
        {constant(constants.page_type, "nullif(page_type, '')")} AS page_type,
        CASE {no_response} WHEN status_number BETWEEN 100 AND 999
            THEN status_number::SMALLINT END AS status,
        {error_sql("error", text_error)} AS error,
        latency AS latency_ms,
        TRY_CAST(byte_count AS BIGINT) AS bytes,
        TRY_CAST(attempt_count AS BIGINT) AS attempts,
        TRY_CAST(redirect_count AS BIGINT) AS redirects,
        credit_count AS credits,
        {route["gateway"]} AS route_gateway,
        {route["country"]} AS route_country,
        {route["pool"]} AS route_pool,
        {route["session"]} AS route_session,
        {route["exit"]} AS route_exit,
        {rules.redaction.sql("final_url")} AS final_url,
        nullif(content_hash, '') AS content_hash,
        title,
        TRY_CAST(text_count AS BIGINT) AS text_length,
        marks AS evidence,
        item,
        nullif(canary, '') AS canary,
        {literal(source_name)} AS source,
        nullif(event_id, '') AS event_id,
        {has_item_value_sql("item")} AS has_item_value,
        text_hash
    FROM (
        SELECT *,
            {skip_case} AS skip
        FROM (
            SELECT *,
                {ts} AS time,
                {"status" if "status" in numbers else status_sql("status")} AS status_number,
                {"latency_ms" if "latency_ms" in numbers else latency_sql("latency_ms")}
                    AS latency,
                {"bytes" if "bytes" in numbers else size_sql("bytes")} AS byte_count,
                {number("attempts")} AS attempt_count,
                {number("redirects")} AS redirect_count,
                {number("credits")} AS credit_count,
                {number("text_length")} AS text_count,
                {evidence_sql("evidence")} AS marks
            FROM ({raw})
        )
    )
    """
