"""Common names of columns in home-made logs, and the units that they imply."""

from __future__ import annotations

import re
import statistics
import unicodedata
from collections.abc import Iterable, Mapping, Sequence

from target_health.config.sources import MAPPABLE, UNITS, Source
from target_health.readers import numbers
from target_health.readers.raw import NULL_WORDS, NUMERIC, Column

#: Raw field → names in order of preference, as ``plain`` makes them. Ends of fetches come before
#: their starts: event time is the end of the fetch.
NAMES: dict[str, tuple[str, ...]] = {
    "ts": (
        "ts",
        "timestamp",
        "time_stamp",
        "end_time",
        "ended_at",
        "finished_at",
        "completed_at",
        "crawl_end",
        "fetch_end",
        "fetched_at",
        "crawled_at",
        "crawl_timestamp",
        "crawl_time",
        "fetch_time",
        "event_time",
        "datetime",
        "date_time",
        "logged_at",
        "log_time",
        "time_local",
        "time_iso8601",
        "utc_time",
        "crawl_datetime",
        "crawl_start",
        "start_time",
        "started_at",
        "fetch_start",
        "requested_at",
        "request_timestamp",
        "created_at",
        "scraped_at",
        "last_crawl",
        "crawl_date",
        "fetch_date",
        "time",
        "date",
        "when",
        "timestamp_utc",
        "ts_utc",
        "timestamp_ms",
        "ts_ms",
        "epoch",
        "epoch_ms",
        "unix_time",
        "unixtime",
        "unix",
        "finished",
        "completed",
        "fetched",
        "crawled",
        "started",
        "requested",
        "logged",
        "t",
        "fecha_y_hora",
        "fecha_hora",
        "marca_de_tiempo",
        "fecha",
        "zeitstempel",
        "zeitpunkt",
        "abrufzeit",
        "datum",
        "horodatage",
        "date_heure",
        "date_et_heure",
        "data_hora",
        "data_ora",
        "hora",
        "uhrzeit",
        "heure",
    ),
    "url": (
        "url",
        "address",
        "uri",
        "request_url",
        "requested_url",
        "target_url",
        "page_url",
        "original_url",
        "full_url",
        "crawled_url",
        "link",
        "loc",
        "href",
        "page",
        "request_uri",
        "webpage",
        "web_page",
        "page_address",
        "direccion",
        "enlace",
        "pagina",
        "adresse",
        "webadresse",
        "seite",
        "lien",
        "indirizzo",
        "endereco",
        "url_full",
        "direccion_url",
        "url_effective",
        "effective_url",
        "final_url",
        "response_url",
    ),
    "site": ("site",),
    "page_type": ("page_type", "pagetype"),
    "status": (
        "status_code",
        "http_status_code",
        "http_status",
        "statuscode",
        "response_status_code",
        "response_code",
        "http_code",
        "response_status",
        "status",
        "code",
        "sc_status",
        "rc",
        "http_response_code",
        "http_status_code_text",
        "result_code",
        "http",
        "codigo",
        "codigo_http",
        "codigo_de_estado",
        "codigo_estado",
        "estado",
        "estado_http",
        "statuscode_http",
        "http_statuscode",
        "antwortcode",
        "code_http",
        "code_de_statut",
        "statut",
        "codice",
        "codice_stato",
    ),
    "status_text": ("status_text", "status", "indexability_status"),
    "error": (
        "error",
        "error_type",
        "error_class",
        "exception",
        "exception_class",
        "failure",
        "error_message",
        "err",
        "errors",
        "fehler",
        "erreur",
        "errore",
    ),
    "latency_ms": (
        "latency_ms",
        "elapsed_ms",
        "response_time_ms",
        "duration_ms",
        "load_time_ms",
        "loading_time_ms",
        "time_ms",
        "fetch_ms",
        "took_ms",
        "download_latency",
        "response_time",
        "elapsed",
        "latency",
        "duration",
        "elapsed_s",
        "latency_s",
        "duration_s",
        "response_time_s",
        "elapsed_seconds",
        "duration_seconds",
        "response_time_seconds",
        "elapsed_time",
        "load_time",
        "loading_time",
        "time_taken",
        "request_time",
        "download_time",
        "total_time",
        "time_total",
        "took",
        "response_times",
        "ttfb",
        "time_to_first_byte",
        "tiempo_de_respuesta",
        "tiempo_respuesta",
        "tiempo",
        "duracion",
        "latencia",
        "antwortzeit",
        "ladezeit",
        "dauer",
        "latenz",
        "temps_de_reponse",
        "duree",
        "tempo_di_risposta",
        "tempo",
    ),
    "bytes": (
        "bytes",
        "size_bytes",
        "size",
        "content_length",
        "response_size",
        "response_bytes",
        "body_size",
        "body_bytes",
        "body_bytes_sent",
        "bytes_received",
        "bytes_downloaded",
        "page_size",
        "download_size",
        "size_download",
        "length",
        "content_size",
        "file_size",
        "html_size",
        "transfer_size",
        "transferred",
        "tamano",
        "groesse",
        "grosse",
        "dateigrosse",
        "taille",
        "peso",
        "dimensione",
    ),
    "attempts": ("attempts", "tries", "num_attempts", "attempt_count"),
    "redirects": ("redirects", "redirect_times", "redirect_count", "num_redirects"),
    "credits": ("credits", "credits_used", "api_credits"),
    "route.gateway": ("route_gateway", "gateway", "proxy_provider", "proxy_gateway", "proxy"),
    "route.country": ("route_country", "proxy_country", "exit_country"),
    "route.pool": ("route_pool", "proxy_pool", "pool"),
    "route.session": ("route_session",),
    "route.exit": ("route_exit", "exit_ip", "proxy_ip"),
    "route": ("route",),
    "final_url": (
        "final_url",
        "effective_url",
        "url_effective",
        "url_redirected_to",
        "redirected_to",
        "resolved_url",
        "response_url",
        "redirect_url",
    ),
    "content_hash": (
        "content_hash",
        "body_hash",
        "content_sha1",
        "content_md5",
        "hash",
        "digest",
        "sha1",
        "md5",
        "checksum",
    ),
    "title": ("title", "page_title", "title_1", "titulo", "titel", "titre", "titolo"),
    "text_length": ("text_length", "text_len"),
    "evidence": ("evidence",),
    "item": ("item",),
    "canary": ("canary",),
    "event_id": ("event_id",),
    "body": ("body", "body_html", "html", "raw_html", "page_source", "response_body"),
    "body_path": ("body_path", "body_file", "html_path"),
    "body_text": ("body_text", "page_text"),
    "headers": ("headers", "response_headers", "resp_headers"),
}

#: Latencies whose name says the unit, beside suffixes. Others are told from their size.
SECONDS = frozenset(
    {
        "download_latency",
        "response_time",
        "total_time",
        "time_total",
        "request_time",
        "download_time",
    }
)
SECOND_SUFFIXES = ("_s", "_sec", "_secs", "_sek", "_seconds", "_segundos", "_sekunden", "_secondes")
#: Objects with names of their own inside.
OWN_CONTENT = frozenset(
    {"item", "items", "data", "headers", "response_headers", "resp_headers", "route"}
)
UNIT_SUFFIX = re.compile(
    r"(_in)?_(ms|millis|milliseconds|msec|us|micros|s|sec|secs|sek|seconds|segundos|sekunden|secondes|"
    r"bytes?|octets)$"
)
#: What a column's values look like that is one of the two required fields, whatever its name.
URL_VALUE = re.compile(r"https?://[^\s/]+", re.IGNORECASE)
TIME_VALUE = re.compile(
    r"(\d{4}[-/]\d\d?[-/]\d\d?|\d\d?[-/.]\d\d?[-/.](\d{4}|\d\d)),?[T ]\d\d?:\d\d"
)
#: Columns whose URLs and times are not the fetch's own.
OTHER_URLS = re.compile(r"refer|parent|canonical|source|from|image|proxy|screenshot|location|host")
OTHER_TIMES = re.compile(r"modif|expir|publish|valid|updated|lastmod|birth|due|next")
#: A median of at least this many is taken for milliseconds: no crawler's median fetch takes
#: 30 s, and one of 30 ms is faster than any site far away.
MILLISECONDS_FROM = 30.0

#: The native log's own fields, in which nothing has to be guessed.
NATIVE = {name: Column(tuple(name.split("."))) for name in MAPPABLE if name != "status_text"}


def plain(name: str) -> str:
    """A column's name as it is compared: lower case, no accents, words joined by ``_``."""
    if not name.isascii():
        parts = unicodedata.normalize("NFKD", name.replace("ß", "ss"))
        name = "".join(part for part in parts if not unicodedata.combining(part))
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip().lstrip("\ufeff@"))
    return re.sub(r"[^0-9a-z]+", "_", name.lower()).strip("_")


def columns_for(
    available: Sequence[tuple[str, ...]],
    samples: Mapping[tuple[str, ...], Iterable[object]],
    source: Source,
) -> tuple[dict[str, Column], list[str]]:
    """Which raw field comes from which of the available columns (paths of keys).

    The source's own mapping comes first; common names fill what it leaves. Returns the mapping
    and notes on what was guessed.
    """
    notes: list[str] = []
    taken: dict[str, Column] = {}
    by_label = {".".join(path): path for path in available}
    for name, wanted in source.columns.items():
        path = by_label.get(wanted.column, tuple(wanted.column.split(".")))
        if wanted.column in by_label or path[0] in {known[0] for known in available}:
            factor = UNITS[wanted.unit] if wanted.unit else 1.0
            if name == "latency_ms" and not wanted.unit:
                factor, guess = latency_factor(path, samples.get(path, ()))
                notes += guess
            clock = by_label.get(wanted.time, ()) if wanted.time else ()
            taken[name] = Column(path, factor, clock)
    notes += _by_common_names(taken, available, samples)
    notes += _by_values(taken, available, samples)
    return taken, notes


def _used(taken: Mapping[str, Column]) -> set[tuple[str, ...]]:
    return {path for column in taken.values() for path in (column.path, column.clock)}


def _by_common_names(
    taken: dict[str, Column],
    available: Sequence[tuple[str, ...]],
    samples: Mapping[tuple[str, ...], Iterable[object]],
) -> list[str]:
    """Add what is recognised by its name; returns notes on guesses."""
    notes: list[str] = []
    used = _used(taken)
    by_name: dict[str, tuple[str, ...]] = {}
    for path in available:
        by_name.setdefault(plain("_".join(path)), path)
    for path in available:  # a name may stand deeper: http.response.status_code
        if len(path) > 1 and plain(path[0]) not in OWN_CONTENT:
            for start in (-2, -1):
                by_name.setdefault(plain("_".join(path[start:])), path)
    for path in available:  # a name may end with its unit: "Antwortzeit (ms)"
        by_name.setdefault(UNIT_SUFFIX.sub("", plain("_".join(path))), path)
    for name, names in NAMES.items():
        if name in taken:
            continue
        for candidate in names:
            path = by_name.get(candidate, ())
            if not path or path in used or not _can_be(name, samples.get(path, ())):
                continue
            factor = 1.0
            if name == "latency_ms":
                factor, guess = latency_factor(path, samples.get(path, ()))
                notes += guess
            taken[name] = Column(path, factor)
            used.add(path)
            break
    return notes


def _by_values(
    taken: dict[str, Column],
    available: Sequence[tuple[str, ...]],
    samples: Mapping[tuple[str, ...], Iterable[object]],
) -> list[str]:
    """Add a required field that only one column's values look like; returns notes on guesses."""
    notes: list[str] = []
    for name, looks, other in (("url", URL_VALUE, OTHER_URLS), ("ts", TIME_VALUE, OTHER_TIMES)):
        if name in taken:
            continue
        alike = [
            path
            for path in available
            if path not in _used(taken)
            and not other.search(plain(path[-1]))
            and _all(looks, samples, path)
        ]
        if len(alike) == 1:
            taken[name] = Column(alike[0])
            notes.append(f"took {taken[name].label!r} for {name}, by what is in it")
    return notes


def _can_be(name: str, values: Iterable[object]) -> bool:
    """Whether a column of this name can hold the field: a status has three digits somewhere."""
    if name != "status":
        return True
    texts = [str(value) for value in values if str(value).strip().lower() not in NULL_WORDS]
    return not texts or any(re.search(r"\d", text) for text in texts)


def _all(
    looks: re.Pattern[str],
    samples: Mapping[tuple[str, ...], Iterable[object]],
    path: tuple[str, ...],
) -> bool:
    texts = [str(value).strip() for value in samples.get(path, ())]
    return bool(texts) and all(looks.match(text) for text in texts)


def latency_factor(path: tuple[str, ...], values: Iterable[object]) -> tuple[float, list[str]]:
    """What makes milliseconds of a latency column, by its name, else by its values' size."""
    name = plain(path[-1])
    if name.endswith(("_ms", "_millis", "_milliseconds", "_msec")) or name == "ms":
        return 1.0, []
    if name.endswith(("_us", "_micros")):
        return 0.001, []
    if name in SECONDS or name.endswith(SECOND_SUFFIXES):
        return 1000.0, []
    found = [number for value in values if (number := as_number(value)) is not None]
    if not found:
        return 1.0, []
    median = statistics.median(found)
    unit, factor = ("ms", 1.0) if median >= MILLISECONDS_FROM else ("s", 1000.0)
    return factor, [f"took {path[-1]!r} for {unit} (median {median:g}); unit: in sources.yaml"]


def as_number(value: object) -> float | None:
    text = str(value).strip()
    return None if text.lower() in NULL_WORDS else numbers.as_number(text)


def has_decimal_commas(
    columns: Mapping[str, Column], samples: Mapping[tuple[str, ...], Iterable[object]]
) -> bool:
    """Whether the log writes its numbers with decimal commas."""
    return numbers.are_decimal_commas(
        value
        for name in NUMERIC
        if name in columns
        for value in samples.get(columns[name].path, ())
    )
