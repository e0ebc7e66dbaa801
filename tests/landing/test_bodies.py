"""Bodies are looked at once, at landing, and judged as ``classify`` judges them."""

from __future__ import annotations

import csv
import gzip
import json
import os
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.parquet
import pytest

from target_health.landing import bodies as landing_bodies
from target_health.pages import Response, classify
from target_health.paths import PROJECT_ROOT
from tests.landing.conftest import Landing, fetch, outcome

REAL = PROJECT_ROOT.parent / "shared" / "real"
GATE = "<title>Just a moment...</title><script>window._cf_chl_opt={}</script>"
PAGE = "<html><title>A page</title><body><h1>Hello</h1><p>Some words to read.</p></body></html>"


def labels() -> list[tuple[str, str, bytes]]:
    """File, right verdict, body."""
    with (REAL / "labels.tsv").open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    found = []
    for row in rows:
        body = (REAL / row["file"]).read_bytes()
        found.append(
            (
                row["file"],
                row["verdict"],
                gzip.decompress(body) if row["file"].endswith(".gz") else body,
            )
        )
    return found


@pytest.mark.skipif(not REAL.exists(), reason="../shared/real is not there")
@pytest.mark.parametrize("how", ["body", "body_path"])
def test_real_pages(landing: Landing, how: str) -> None:
    """Through a log, a page has the verdict that it has alone."""
    pages = labels()
    lines = []
    for number, (name, _, body) in enumerate(pages):
        if how == "body":
            about = {"body": body.decode("utf-8", "replace")}
        else:
            landing.put(f"shop/pages/{number}.html", body)
            about = {"body_path": f"pages/{number}.html"}
        lines.append(fetch(number, final_url=f"https://a.example/{name}", **about))
    landing.put("shop/log.jsonl", "\n".join(lines) + "\n")
    report = landing.land()
    assert outcome(report) == (len(pages), 0, 0)
    landed = dict(landing.rows("final_url, verdict"))
    for name, right, body in pages:
        url = f"https://a.example/{name}"
        seen = body.decode("utf-8", "replace").encode() if how == "body" else body
        assert landed[url] == classify(Response(200, seen, url=url)).verdict, name
        if right == "challenge" or "/article/" in name:
            assert landed[url] == right, name
    found = [
        (right, landed[f"https://a.example/{name}"])
        for name, right, _ in pages
        if "soft404" in name
    ]
    hits = sum(right == verdict == "soft_404" for right, verdict in found)
    wrong = sum((right == "soft_404") != (verdict == "soft_404") for right, verdict in found)
    assert 2 * hits / (2 * hits + wrong) >= 0.95


def test_what_is_kept_of_a_body(landing: Landing) -> None:
    landing.put("x/a.jsonl", fetch(1, body=PAGE) + "\n" + fetch(2) + "\n")
    landing.land()
    [(one, two)] = [
        landing.rows(
            "title, text_length, content_hash IS NOT NULL, text_hash IS NOT NULL, bytes", "ts"
        )
    ]
    assert one == ("A page", len("HelloSome words to read."), True, True, len(PAGE))
    assert two == (None, None, False, False, None)
    text = b"".join(path.read_bytes() for path in landing.home.root.rglob("*.parquet"))
    assert b"Some words" not in text


def test_what_the_log_says_stays(landing: Landing) -> None:
    given = {"title": "Mine", "text_length": 7, "content_hash": "abc", "bytes": 9}
    landing.put("x/a.jsonl", fetch(1, body=GATE, evidence=["paywalled:own"], **given) + "\n")
    landing.land()
    [row] = landing.rows("title, text_length, content_hash, bytes, verdict, evidence")
    assert row[:5] == ("Mine", 7, "abc", 9, "challenge")
    assert row[5][0] == "paywalled:own"
    assert "challenge:cloudflare" in row[5]


@pytest.mark.parametrize(
    ("fields", "verdict"),
    [
        ({"body": GATE}, "challenge"),
        ({"body": GATE, "item": {"price": 1}}, "ok"),
        ({"body": GATE, "item": {"price": None}}, "challenge"),
        ({"body": GATE, "item": None}, "challenge"),
        ({"body": GATE, "status": 403}, "challenge"),
        ({"body": PAGE, "status": 403}, "hard_block"),
        ({"body": PAGE, "status": None, "error": "timeout"}, "unknown"),
        ({"body": GATE, "status": 200, "error": "proxy"}, "unknown"),
        ({"body": PAGE, "headers": {"cf-mitigated": "challenge"}, "status": 403}, "challenge"),
        ({"body": ""}, "ok"),
        ({"body": None}, "ok"),
        ({"body": {"a": [1]}}, "ok"),
        ({"body": "a\u0000b \ud800"}, "ok"),
    ],
)
def test_verdicts(landing: Landing, fields: dict[str, Any], verdict: str) -> None:
    landing.put("x/a.jsonl", fetch(1, **fields) + "\n")
    assert outcome(landing.land()) == (1, 0, 0)
    assert landing.rows("verdict") == [(verdict,)]


def test_only_inside_the_inbox(landing: Landing, tmp_path: Path) -> None:
    (tmp_path / "secret.html").write_text(GATE)
    inside = landing.put("x/pages/in.html", GATE)
    (inside.parent / "link.html").symlink_to(tmp_path / "secret.html")
    (inside.parent / "sub").mkdir()
    os.mkfifo(inside.parent / "pipe")
    zipped = landing.put("x/pages/z.html.gz", gzip.compress(GATE.encode()))
    named = {
        "pages/in.html": "challenge",
        "x/pages/in.html": "challenge",
        str(inside): "challenge",
        "pages/z.html.gz": "challenge",
        str(tmp_path / "secret.html"): "ok",
        "../../../secret.html": "ok",
        "pages/link.html": "ok",
        "pages/sub": "ok",
        "pages/pipe": "ok",
        "pages/none.html": "ok",
        "/etc/passwd": "ok",
        "a\u0000b": "ok",
        "https://a.example/page.html": "ok",
        "x" * 5000: "ok",
    }
    assert zipped.exists()
    lines = [fetch(n, body_path=name) for n, name in enumerate(named)]
    landing.put("x/log.jsonl", "\n".join(lines) + "\n")
    report = landing.land()
    assert outcome(report) == (len(named), 0, 0)
    assert [v for (v,) in landing.rows("verdict", "ts")] == list(named.values())
    notes = " ".join(report.sources["x"].all_notes)
    assert landing_bodies.OUTSIDE in notes
    assert landing_bodies.NOT_THERE in notes


def test_pages_are_no_logs(landing: Landing) -> None:
    """Files that a log names are neither landed nor quarantined, whatever they hold."""
    landing.put("x/pages/1.html", PAGE)
    landing.put("x/a-page-without-suffix", "no format at all\nreally\n")
    landing.put("x/z.jsonl", fetch(1, body_path="a-page-without-suffix") + "\n")
    report = landing.land()
    assert outcome(report) == (1, 0, 0)
    assert not landing.quarantine()
    assert outcome(landing.land()) == (0, 0, 0)


def test_a_body_that_came_before_its_log(landing: Landing) -> None:
    landing.put("x/page", "no format at all\n")
    assert landing.land().quarantined == 1
    landing.put("x/z.jsonl", fetch(1, body_path="page") + "\n")
    assert outcome(landing.land()) == (1, 0, 0)
    assert not landing.quarantine()


def test_many_pages_by_several_processes(landing: Landing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(landing_bodies, "FEW", 5)
    lines = [fetch(n, body=(GATE if n % 3 else PAGE) + str(n)) for n in range(200)]
    lines[100:100] = ["{bad"] * 3 + [fetch(500)]
    landing.put("x/a.jsonl", "\n".join(lines) + "\n")
    assert outcome(landing.land()) == (201, 0, 3)
    counted = landing.rows("verdict, count(*) OVER (PARTITION BY verdict)", "ALL")
    assert dict(counted) == {"challenge": 133, "ok": 68}
    assert landing.land().rows == 0


def test_own_marks(landing: Landing) -> None:
    landing.configure("{}\n")
    assert landing.config is not None
    (landing.config / "markers.yaml").write_text(
        "marks:\n"
        "  - {how: our_gate, verdict: challenge, vendor: Ours, source: ours,"
        " proof: {html: [our-very-own-gate]}}\n"
    )
    landing.put("x/a.jsonl", fetch(1, body="<p id='our-very-own-gate'>wait</p>") + "\n")
    landing.land()
    assert landing.rows("verdict, evidence") == [("challenge", ["challenge:our_gate"])]


def test_csv_and_parquet(landing: Landing, tmp_path: Path) -> None:
    landing.put("x/p.html", GATE)
    rows = [
        {"ts": f"2026-01-31T14:00:0{n}Z", "url": f"https://a.example/{n}", "status": "200",
         "body": body, "body_path": path}
        for n, (body, path) in enumerate([(PAGE + "\n", ""), (GATE, ""), ("", "p.html"), ("", "")])
    ]  # fmt: skip
    with (tmp_path / "a.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    landing.put("x/a.csv", (tmp_path / "a.csv").read_bytes())
    assert outcome(landing.land()) == (4, 0, 0)
    right = ["ok", "challenge", "challenge", "ok"]
    assert [v for (v,) in landing.rows("verdict", "ts")] == right
    table = pa.table({name: [row[name] or None for row in rows] for name in rows[0]})
    pa.parquet.write_table(table, tmp_path / "a.parquet")
    landing.put("y/a.parquet", (tmp_path / "a.parquet").read_bytes())
    landing.put("y/p.html", GATE)
    assert outcome(landing.land()) == (4, 0, 0)
    assert [v for (v,) in landing.rows("verdict", "source, ts")] == right * 2
    titles = [title for (title,) in landing.rows("title", "source, ts")]
    assert titles[0] == titles[4] == "A page"


def test_other_names(landing: Landing) -> None:
    record = {"timestamp": "2026-01-31T14:00:00Z", "url": "https://a.example/", "html": GATE}
    landing.put("x/a.jsonl", json.dumps({**record, "status_code": 200}) + "\n")
    report = landing.land()
    assert report.sources["x"].columns["body"] == "html"
    assert landing.rows("verdict") == [("challenge",)]


@pytest.mark.parametrize("first", [0, 20_000])
def test_bodies_in_a_large_log(landing: Landing, first: int) -> None:
    """Wherever the bodies stand in a log that is large enough to be streamed."""
    lines = [fetch(n % 3600, size="x" * 150) for n in range(25_000)]
    for number in range(first, first + 400):
        lines[number] = fetch(number % 3600, body=GATE if number % 2 else PAGE)
    landing.put("x/a.jsonl", "\n".join(lines) + "\n")
    assert outcome(landing.land()) == (25_000, 0, 0)
    counted = landing.rows("DISTINCT verdict, count(*) OVER (PARTITION BY verdict)", "ALL")
    assert counted == [("challenge", 200), ("ok", 24_800)]
    assert landing.rows("count(title)", "1") == [(400,)]
    assert len(set(landing.rows("event_id"))) == 25_000


def test_bodies_beside_a_log_in_object_storage(landing: Landing) -> None:
    system = fsspec.filesystem("memory")
    system.pipe("/bodies-test/in/x/log.jsonl", "\n".join(
        fetch(n, body_path=path) + "\n" * (n == 3)
        for n, path in enumerate(["pages/1.html", "x/pages/1.html", "../../secret.html", "none"])
    ).encode())  # fmt: skip
    system.pipe("/bodies-test/in/x/pages/1.html", GATE.encode())
    system.pipe("/bodies-test/secret.html", GATE.encode())
    try:
        report = landing.land(inbox="memory://bodies-test/in")
        assert outcome(report) == (4, 0, 0)
        verdicts = [verdict for (verdict,) in landing.rows("verdict", "ts")]
        assert verdicts == ["challenge", "challenge", "ok", "ok"]
        assert landing_bodies.OUTSIDE in " ".join(report.sources["x"].all_notes)
    finally:
        system.rm("/bodies-test", recursive=True)
