"""Telling how a file is to be read: from its source's entry, else from its content."""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb

from target_health.config.sources import FILE_MTIME, Source
from target_health.readers import heritrix, parquet, scrapy_console, times
from target_health.readers.csv_lines import CsvLines
from target_health.readers.heritrix import Heritrix
from target_health.readers.json_lines import JsonLines
from target_health.readers.names import (
    NATIVE,
    OWN_CONTENT,
    URL_VALUE,
    columns_for,
    has_decimal_commas,
    plain,
)
from target_health.readers.raw import Column, Reading, Refusal
from target_health.readers.reader import LineReader
from target_health.readers.scrapy_console import ScrapyConsole
from target_health.readers.sql_text import literal
from target_health.readers.warc import Archive, is_archive

#: Registered readers of lines by the reading's format.
READERS: dict[str, type[LineReader]] = {
    "native": JsonLines,
    "jsonl": JsonLines,
    "csv": CsvLines,
    "heritrix": Heritrix,
    "scrapy_console": ScrapyConsole,
    "warc": Archive,
}
SAMPLE_LINES = 500
#: Keys below one another at which a field is looked for.
DEPTH = 3
#: Lines that may stand before a CSV's header, as a title or Excel's ``sep=;``.
PREAMBLE_LINES = 5
DELIMITERS = ",;\t|"
COMPRESSED_SUFFIX = re.compile(r"\.(gz|zst|zstd)$", re.IGNORECASE)
TEXT_ONLY = "pages are judged by their text alone: marks in links, forms and scripts cannot be seen"
ISO = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)?")
ACCESS_LOG = re.compile(r'\S+ \S+ \S+ \[\d\d/\w{3}/\d{4}:[\d:]{8} [+-]\d{4}\] "')
NO_TIME = (
    "has no column with a time of day: set ts: to the column that has it in sources.yaml, or "
    "ts: file_mtime to take the file's own time"
)


def recognise(name: str, head: bytes, source: Source) -> Reading | Refusal:
    """How to read a file of lines, from its first decompressed bytes (whole lines)."""
    if is_archive(head) and source.format in (None, "warc"):
        return Reading("warc")
    whole = [_text(line) for line in head.removeprefix(codecs.BOM_UTF8).splitlines()]
    lines = [line for line in whole if line.strip("\0 \t")][:SAMPLE_LINES]
    kind = source.format or _format_of(name, lines)
    if kind in (None, "native", "jsonl") and _is_document(lines):
        return Refusal(
            "is one JSON document, not JSON lines: write one object a line (jq -c '.[]')"
        )
    if kind == "native":
        if source.columns:
            return _json_reading(lines, source)
        bodies = any('"body' in line for line in lines)
        times = [record["ts"] for line in lines if (record := _object(line)) and "ts" in record]
        return Reading(
            "native",
            dict(NATIVE),
            bodies=bodies,
            iso_times=_are_iso(times, source),
        )
    if kind == "jsonl":
        return _json_reading(lines, source)
    if kind == "heritrix":
        return Reading("heritrix", {})
    if kind == "csv":
        return _csv_reading(lines, source, whole)
    if kind == "scrapy_console":
        return scrapy_console.reading(lines)
    if kind in ("parquet", "warc"):
        return Refusal(f"is not read as {kind}: it does not begin like one")
    if lines and sum(bool(ACCESS_LOG.match(line)) for line in lines) * 2 >= len(lines):
        return Refusal(
            "is a web server's access log: it tells who asked that server, not what a crawler was "
            "served; give the crawler's own log"
        )
    return Refusal(
        "is in no format that is known: name format: and columns: in sources.yaml "
        "(native, jsonl, csv, parquet, heritrix, scrapy_console, warc)"
    )


def _is_document(lines: list[str]) -> bool:
    """An array or an object over several lines, none of which is an object by itself."""
    first = lines[0].strip() if lines else ""
    opens = first in ("[", "{") or first.startswith("[{")
    return opens and not any(_object(line) for line in lines if line.strip() != "{}")


def _text(line: bytes) -> str:
    """A line as the landing reads it: UTF-8, else Windows-1252."""
    try:
        return line.decode()
    except UnicodeDecodeError:
        return line.decode("cp1252", "replace")


def reader_for(reading: Reading) -> LineReader:
    return READERS[reading.format](reading)


def _format_of(name: str, lines: list[str]) -> str | None:
    """The format that most of the first lines have; the file's name where none has any."""
    records = [record for line in lines if (record := _object(line)) is not None]
    if records and len(records) * 2 >= len(lines):
        return "native" if _is_native(records) else "jsonl"
    matching = sum(1 for line in lines if heritrix.LINE.match(line))
    if matching and matching * 2 >= len(lines):
        return "heritrix"
    if scrapy_console.recognised(lines):
        return "scrapy_console"
    if lines and not records and _csv_header(lines, DELIMITERS) is not None:
        return "csv"
    if records:
        return "native" if _is_native(records) else "jsonl"
    if matching:
        return "heritrix"
    bare = COMPRESSED_SUFFIX.sub("", name).lower()
    if bare.endswith((".jsonl", ".ndjson", ".json", ".jl")):
        return "native"
    return None


def _object(line: str) -> dict[str, Any] | None:
    if not line.lstrip("\ufeff\0 \t").startswith("{"):
        return None
    try:
        record = json.loads(line.replace("\0", "").strip().removesuffix(","))
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _is_native(records: list[dict[str, Any]]) -> bool:
    """``ts`` and ``url`` by name, or one of them and no column that could stand for the other."""
    keys = {key for record in records for key in record}
    if {"ts", "url"} <= keys:
        return True
    if not keys & {"ts", "url"}:
        return not keys - set(NATIVE) - {"route"}
    found, _ = columns_for([(key,) for key in sorted(keys)], {}, Source())
    return not ({"ts", "url"} <= set(found)) and not keys - set(NATIVE) - {
        "route",
        "body",
        "body_path",
        "screenshot_path",
    }


def _paths(
    record: dict[str, Any], above: tuple[str, ...] = ()
) -> Iterable[tuple[tuple[str, ...], Any]]:
    for key, value in record.items():
        if not key:
            continue
        if not isinstance(value, dict) or plain(key) in OWN_CONTENT:
            yield (*above, key), value
        if isinstance(value, dict) and len(above) < DEPTH - 1:
            yield from _paths(value, (*above, key))


def _json_reading(lines: list[str], source: Source) -> Reading | Refusal:
    samples: dict[tuple[str, ...], list[Any]] = {}
    for line in lines:
        for path, value in _paths(_object(line) or {}):
            samples.setdefault(path, []).append(value)
    available = sorted(samples, key=lambda path: (len(path), path))
    columns, notes = columns_for(available, samples, source)
    reading = _checked("jsonl", columns, notes, samples, source)
    if isinstance(reading, Refusal):
        return reading
    used = {column.path for column in reading.columns.values()}
    later = {  # fields that the first lines happen not to have
        name: column
        for name, column in NATIVE.items()
        if name not in reading.columns and column.path not in used and name not in ("ts", "url")
    }
    bodies = any(
        value is not None
        for name in ("body", "body_path", "body_text")
        if name in columns
        for value in samples.get(columns[name].path, ())
    )
    by_text = bodies and "body_text" in columns and "body" not in columns
    return replace(
        reading,
        columns={**reading.columns, **later},
        bodies=bodies,
        notes=(*reading.notes, TEXT_ONLY) if by_text else reading.notes,
    )


@dataclass(frozen=True, slots=True)
class _Header:
    """A CSV's header: its place among the lines, its delimiter and names."""

    place: int
    delimiter: str
    names: list[str]


def _csv_header(lines: list[str], delimiters: str) -> _Header | None:
    """The first of the first lines that is a header with a column of URLs, by name or values."""
    for place in range(min(len(lines), PREAMBLE_LINES + 1)):
        for delimiter in delimiters:
            rows = _rows(lines[place : place + 20], delimiter)
            if not rows or len(rows[0]) < 2 or any(URL_VALUE.match(cell) for cell in rows[0]):
                continue
            names = [(name,) for name in rows[0]]
            samples = _samples(rows[0], rows[1:])
            found, _ = columns_for(names, samples if all(rows[0]) else {}, Source())
            if "url" in found:
                return _Header(place, delimiter, rows[0])
    return None


def _rows(lines: list[str], delimiter: str) -> list[list[str]]:
    try:
        return list(csv.reader(io.StringIO("\n".join(lines)), delimiter=delimiter))
    except csv.Error:
        return []


def _samples(header: list[str], rows: list[list[str]]) -> dict[tuple[str, ...], list[Any]]:
    samples: dict[tuple[str, ...], list[Any]] = {(name,): [] for name in header}
    for values in rows:
        if len(values) == len(header):
            for name, value in zip(header, values, strict=True):
                samples[(name,)].append(value)
    return samples


def _csv_reading(lines: list[str], source: Source, whole: list[str]) -> Reading | Refusal:
    if not lines:
        return Refusal("is empty")
    found = _csv_header(lines, source.delimiter or DELIMITERS)
    if found is None:
        delimiter = source.delimiter or _likely_delimiter(lines[0])
        found = _Header(0, delimiter, (_rows(lines[:1], delimiter) or [[]])[0])
    delimiter = found.delimiter
    header_lines = 1
    if found.place:  # blank lines before it count too
        header_lines = 1 + next(
            place for place, line in enumerate(whole) if line == lines[found.place]
        )
    header = _distinct([name.strip() for name in found.names])
    samples = _samples(header, _rows(lines[found.place + 1 :], delimiter))
    columns, notes = columns_for([(name,) for name in header], samples, source)
    reading = _checked("csv", columns, notes, samples, source)
    if isinstance(reading, Refusal):
        as_lines = Reading(
            "csv", header=tuple(header), header_lines=header_lines, delimiter=delimiter
        )
        return Refusal(reading.reason, as_lines)
    return replace(reading, header=tuple(header), header_lines=header_lines, delimiter=delimiter)


def _likely_delimiter(line: str) -> str:
    return max(DELIMITERS, key=line.count)


def _distinct(names: list[str]) -> list[str]:
    """Column names that stand twice get a number, as only the first of them can be meant."""
    seen: Counter[str] = Counter()
    result = []
    for name in names:
        seen[name] += 1
        result.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return result


def _checked(
    kind: str,
    columns: dict[str, Column],
    notes: list[str],
    samples: dict[tuple[str, ...], list[Any]],
    source: Source,
) -> Reading | Refusal:
    """A reading, or why the columns are not enough for one."""
    there = ", ".join(dict.fromkeys(path[0] for path in samples))[:300]
    if "url" not in columns and source.constants.site is None:
        return Refusal(f"has no column for url: set url: in sources.yaml (columns: {there})")
    wanted = source.columns.get("ts")
    if wanted is not None and wanted.column == FILE_MTIME:
        columns = {name: column for name, column in columns.items() if name != "ts"}
        return Reading(kind, columns, ts_from_file=True, notes=tuple(notes))
    if wanted is not None and "ts" not in columns:
        return Refusal(f"has no column {wanted.column!r}, which sources.yaml names for ts")
    if "ts" not in columns:
        return Refusal(f"{NO_TIME} (columns: {there})")
    if wanted is not None and wanted.time and not columns["ts"].clock:
        return Refusal(f"has no column {wanted.time!r}, which sources.yaml names for ts")
    columns = times.with_clock(columns, samples)
    values = times.sampled(columns["ts"], samples)
    if values and not source.ts_format and all(times.DATE_ONLY.fullmatch(v) for v in values):
        return Refusal(
            f"{NO_TIME}; {columns['ts'].label!r} holds dates only (with a column of times beside "
            "it: ts: {column: …, time: …})"
        )
    if values and not source.ts_format and all(times.CLOCK_ONLY.fullmatch(v) for v in values):
        return Refusal(
            f"has no date: {columns['ts'].label!r} holds a time of day only; name both in "
            "sources.yaml: ts: {column: …, time: …}"
        )
    ts_format = source.ts_format or times.day_month_format(values)
    if ts_format and not source.ts_format:
        notes = [*notes, f"took {columns['ts'].label!r} for {ts_format}"]
    commas = kind != "parquet" and has_decimal_commas(columns, samples)
    if commas:
        notes = [*notes, "took the commas in numbers for decimal ones, as in 0,5"]
    return Reading(
        kind,
        columns,
        ts_format=ts_format,
        decimal_comma=commas,
        iso_times=kind == "jsonl"
        and not columns["ts"].clock
        and _are_iso(samples.get(columns["ts"].path, []), source),
        notes=tuple(notes),
    )


def _are_iso(values: list[Any], source: Source) -> bool:
    """Whether DuckDB's JSON reader can read the times by itself."""
    return (
        bool(values)
        and source.timezone == "UTC"
        and source.ts_format is None
        and all(isinstance(value, str) and ISO.fullmatch(value) for value in values)
    )


def records_reading(
    connection: duckdb.DuckDBPyConnection,
    path: Path,
    kinds: list[tuple[str, str]],
    source: Source,
) -> Reading | Refusal:
    """How to read a Parquet file, from its columns and first rows."""
    rows = connection.execute(
        f"SELECT * FROM read_parquet({literal(str(path))}, hive_partitioning = false) "
        f"LIMIT {SAMPLE_LINES}"
    ).fetchall()
    samples: dict[tuple[str, ...], list[Any]] = {
        (name,): [row[place] for row in rows if row[place] is not None]
        for place, (name, _) in enumerate(kinds)
    }
    for name, kind in kinds:
        if kind == "DATE":  # no time of day, whatever it looks like as a timestamp
            samples[(name,)] = [str(value)[:10] for value in samples[(name,)]]
    columns, notes = columns_for(parquet.available(kinds), samples, source)
    return _checked("parquet", columns, notes, samples, source)
