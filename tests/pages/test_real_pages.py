"""The labelled real pages and archives, where they lie beside the project."""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from pathlib import Path

import pytest

from target_health.pages import Response, classify
from target_health.pages.command import classify_paths
from target_health.paths import PROJECT_ROOT

REAL = PROJECT_ROOT.parent / "shared" / "real"

pytestmark = pytest.mark.skipif(
    not REAL.is_dir(), reason=f"the real pages are not there: {REAL.name} beside the project"
)


def labelled(kind: str) -> list[tuple[str, str, str]]:
    with open(REAL / "labels.tsv", encoding="utf-8", newline="") as file:
        rows = [
            (
                row["file"],
                row["verdict"],
                classify(Response(200, _read(REAL / row["file"]))).verdict,
            )
            for row in csv.DictReader(file, delimiter="\t")
            if row["file"].startswith(f"pages/{kind}/")
        ]
    assert rows
    return rows


def _read(path: Path) -> bytes:
    body = path.read_bytes()
    return gzip.decompress(body) if path.suffix == ".gz" else body


@pytest.mark.parametrize("kind", ["challenge", "article"])
def test_every_challenge_and_article_gets_its_verdict(kind: str) -> None:
    assert [row for row in labelled(kind) if row[1] != row[2]] == []


def test_soft_404s_are_told_from_normal_pages() -> None:
    counts = Counter(
        (wanted == "soft_404", got == "soft_404") for _, wanted, got in labelled("soft404")
    )
    hits, alarms, misses = counts[True, True], counts[False, True], counts[True, False]
    assert 2 * hits / (2 * hits + alarms + misses) >= 0.95


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("archive_org_2008.warc.gz", {"ok": 214, "not_found": 40, "redirect": 7}),
        ("data_gov_uk.warc.gz", {"ok": 57, "not_found": 3, "hard_block": 1, "redirect": 1}),
        ("iana_chunked.warc", {"ok": 1}),
    ],
)
def test_archives_have_their_verdicts(name: str, counts: dict[str, int]) -> None:
    rows = list(classify_paths([REAL / "warc" / name]))
    assert Counter(row["verdict"] for row in rows) == counts
