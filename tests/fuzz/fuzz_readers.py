"""Fuzzing of every reader: random mutations, and guided by coverage where atheris is installed.

Run by ``make fuzz`` (``python -m tests.fuzz.fuzz_readers [seconds]``); the tests run the same
checks shortly. Whatever bytes a file holds, nothing is raised, and every line is a row, skipped
or quarantined.
"""

from __future__ import annotations

import gzip
import importlib.util
import io
import random
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from target_health.config.marker_files import marker_files
from target_health.config.sites import Sites
from target_health.config.sources import Source, load_sources
from target_health.landing.bodies import Bodies
from target_health.landing.files import read_head
from target_health.landing.normalise import Rules
from target_health.landing.quarantine import Spool
from target_health.landing.redact import Redaction
from target_health.landing.staging import FilePart, Staging
from target_health.paths import SHIPPED_CONFIG
from target_health.readers.lines import Position
from target_health.readers.raw import Refusal
from target_health.readers.recognise import reader_for, recognise
from target_health.readers.streams import open_content
from tests.readers.archives import arc, warc

SEEDS = {
    "native": b'{"ts": "2026-01-31T14:00:00Z", "url": "https://a.example/", "status": 200, '
    b'"route": {"gateway": "g"}, "evidence": ["challenge:x"], "item": {"a": null}}\n'
    b'{"ts": 1769868000, "url": "b.example", "latency_ms": "5", "item": null}\n'
    b'{"ts": 1769868000, "url": "b.example", "body": "<title>Not found</title>"}\n',
    "jsonl": b'{"timestamp": "2026-01-31 14:00:00", "URL": "https://a.example/", "code": "200", '
    b'"response": {"elapsed": 0.5}}\n',
    "csv": b"timestamp,URL,http_status,Response Time,Size (Bytes)\n"
    b'2026-01-31T14:00:00Z,"https://a.example/""x""\ny",200,0.5,"1,000"\n'
    b"2026-01-31T14:00:01Z,https://a.example/,403,0.1,\n",
    "heritrix": b"2016-03-31T14:35:35.634Z   200      24360 http://a.example/x P http://a.example/ "
    b"text/html #473 20160331143534970+139 sha1:AAAA - ip:192.0.2.1\n"
    b"2016-03-31T14:35:35.634Z     1         93 dns:a.example IP - text/dns #1 - - - -\n",
    "scrapy_console": b"2026-01-31 14:00:00 [scrapy.core.engine] DEBUG: Crawled (200) "
    b"<GET https://a.example/> (referer: None)\n"
    b"2026-01-31 14:00:00 [scrapy.downloadermiddlewares.retry] DEBUG: Retrying "
    b"<GET https://a.example/> (failed 1 times): 503 Service Unavailable\n",
    "warc": warc(2) + arc(1),
}
#: More contents to start from, whose format is to be recognised.
MORE_SEEDS = (
    "sep=;\nDatum;Uhrzeit;Adresse;Antwortcode;Antwortzeit (s);Größe\n"
    "31.01.2026;14:00:00;https://a.example/;200;0,53;12,3 KB\n"
    "31.01.2026;14:00:01;https://a.example/x;404;1.234,5;1.024\n".encode(),
    b'{"date": "2026-01-31", "time": "14:00:00", "request": {"target": {"url": "a.example"}}, '
    b'"code": "n/a", "latency": "0,5"}\n' * 3,
)
TOKENS = [
    b"\0", b"\n", b"\r\n", b"\r", b'"', b",", b"{", b"}", b"[", b"]", b":", b"null", b"\xff\xfe",
    b"\xef\xbb\xbf", b"\xe9", b"\\u0000", b"\\ud83d", b"-1", b"1e999", b"NaN", b"99999999999999",
    b"//", b"@", b"#", b";", b"\t", b"+", b"true", b'""', b"'", b"%", b"\\", b"\x1f\x8b",
    b"\x28\xb5\x2f\xfd", b"9223372036854775808", b"[::1]",
]  # fmt: skip


class Checker:
    """Reads one content after the other with one staging, as a landing does."""

    def __init__(self, directory: Path) -> None:
        sources = load_sources(SHIPPED_CONFIG)
        self.redaction = Redaction(sources.redact_parameters)
        rules = Rules(datetime(2026, 1, 31, 15), sources, self.redaction)
        self.staging = Staging(rules, Sites({}, {}), Bodies(marker_files(SHIPPED_CONFIG), None))
        self.directory = directory
        self.number = 0

    def check(self, data: bytes, format_name: str | None = None) -> None:
        """Raises when anything is raised, lost or doubled."""
        content = open_content(io.BytesIO(data))
        head = read_head(io.BytesIO(data))
        source = Source.model_validate({"format": format_name} if format_name else {})
        reading = recognise("log.jsonl", head.lines, source)
        if isinstance(reading, Refusal):
            assert "\n" not in reading.reason
            return
        reader = reader_for(reading)
        self.number += 1
        part = FilePart(
            self.number, "log", "fuzz", source, reading, datetime(2026, 1, 31),
            Spool(self.directory, self.directory, self.redaction),
        )  # fmt: skip
        headers = reading.header_lines if reader.is_header(1) else 0
        lines = 0
        for chunk in reader.chunks(
            content.blocks(), Position(), max_line=1 << 20, take_open_end=lambda: True
        ):
            self.staging.add_lines(part, reader, chunk)
            lines += len(chunk)
        expected = max(lines - headers, 0)
        if reading.format == "csv":  # a record over several lines counts once
            assert part.lines <= expected
            assert bool(part.lines) == bool(expected)
        else:
            assert part.lines == expected, (part.lines, expected)
        landed = self.staging.query(
            "SELECT count(*) FROM staged LEFT JOIN site_of USING (site_key) "
            "WHERE file_number = ? AND reason IS NULL AND coalesce(given_site, site) IS NOT NULL",
            [self.number],
        )
        assert landed == [(part.rows,)]
        part.spool.drop()
        self.staging.clear()


def mutated(seed: bytes, chance: random.Random) -> bytes:
    data = bytearray(seed * chance.randrange(1, 4))
    for _ in range(chance.randrange(1, 8)):
        place = chance.randrange(len(data) + 1)
        kind = chance.randrange(5)
        if kind == 0:
            data[place:place] = chance.choice(TOKENS)
        elif kind == 1:
            del data[place : place + chance.randrange(1, 20)]
        elif kind == 2 and data:
            data[min(place, len(data) - 1)] = chance.randrange(256)
        elif kind == 3:
            other = chance.choice(list(SEEDS.values()))
            data[place:place] = other[: chance.randrange(len(other))]
        else:
            data[place : place + 4] = chance.choice(TOKENS)
    return gzip.compress(bytes(data))[: chance.choice([None, -5])] if kind == 4 else bytes(data)


def run_random(seconds: float, seed: int = 0, rounds: int | None = None) -> int:
    """Random mutations of the seeds; returns how many contents were read."""
    chance = random.Random(seed)
    with TemporaryDirectory() as directory:
        checker = Checker(Path(directory))
        until = time.monotonic() + seconds
        done = 0
        while time.monotonic() < until and (rounds is None or done < rounds):
            name = chance.choice([*SEEDS, None])
            data = mutated(SEEDS[name] if name else chance.choice(MORE_SEEDS), chance)
            try:
                checker.check(data, name if chance.random() < 0.5 else None)
            except Exception:
                print(f"seed {seed}, round {done}: {name} {data!r}", file=sys.stderr)
                raise
            done += 1
        checker.staging.close()
    return done


def run_guided(seconds: float) -> int:
    """Coverage-guided, in a process of its own; returns its exit status."""
    return subprocess.run(
        [sys.executable, "-m", "tests.fuzz.guided", f"-max_total_time={int(seconds)}"], check=False
    ).returncode


def main(arguments: list[str]) -> int:
    seconds = float(arguments[0]) if arguments else 600.0
    guided = importlib.util.find_spec("atheris") is not None
    if not guided:
        print("atheris is not installed: random mutations only, not guided by coverage")
    done = run_random(seconds / 2 if guided else seconds, seed=int(time.time()))
    print(f"{done} contents read")
    return run_guided(seconds / 2) if guided else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
