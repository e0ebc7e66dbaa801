"""`classify` and `try` from outside."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import pytest

from target_health.cli import exit_status
from tests.readers.archives import warc

GATE = b"<title>Just a moment...</title><script>window._cf_chl_opt={}</script>"
KEYS = {"file", "url", "status", "verdict", "evidence", "confidence", "paywall"}


@pytest.fixture(autouse=True)
def nothing_configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TARGET_HEALTH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TARGET_HEALTH_CONFIG", str(tmp_path / "config"))
    (tmp_path / "config").mkdir()


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    directory = tmp_path / "pages"
    directory.mkdir()
    (directory / "gate.html.gz").write_bytes(gzip.compress(GATE))
    (directory / "b.warc.gz").write_bytes(warc(3, zipped=True))
    return directory


def test_json_lines(pages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_status(["classify", str(pages), "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert all(set(row) >= KEYS for row in rows)
    assert [(row["verdict"], row["status"]) for row in rows] == [("ok", 200)] * 3 + [
        ("challenge", 200)
    ]
    assert rows[0]["url"] == "http://a.example/0"
    assert rows[3]["evidence"] == ["challenge:cloudflare"]


def test_few_pages_in_sentences(pages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_status(["classify", str(pages / "gate.html.gz"), "--status", "503"]) == 0
    said = capsys.readouterr().out
    assert "challenge (confidence" in said
    assert "Cloudflare: a challenge is shown in place of the content" in said


def test_many_pages_as_a_table(pages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(12):
        (pages / f"gate{number}.html").write_bytes(GATE)
    assert exit_status(["classify", str(pages)]) == 0
    said = capsys.readouterr().out
    assert "16 pages" in said
    assert "gate11.html" in said
    assert str(pages) not in said
    assert "challenge:cloudflare" in said


def test_an_archive_on_standard_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stdin:
        buffer = io.BytesIO(warc(2, zipped=True))

    monkeypatch.setattr("sys.stdin", Stdin)
    assert exit_status(["classify", "-", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["url"] for row in rows] == ["http://a.example/0", "http://a.example/1"]


def test_an_unreadable_file_is_status_1(pages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (pages / "gate.html.gz").write_bytes(gzip.compress(GATE)[:25])
    assert exit_status(["classify", str(pages)]) == 1
    assert "not read" in capsys.readouterr().out


def test_own_marks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "config" / "markers.yaml").write_text(
        "marks: [{how: ours, verdict: challenge, vendor: V, source: s, proof: {html: [our-gate]}}]"
    )
    (tmp_path / "a.html").write_text("<p id='our-gate'>wait</p>")
    assert exit_status(["classify", str(tmp_path / "a.html"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["evidence"] == ["challenge:ours"]
    (tmp_path / "config" / "markers.yaml").write_text("marks: [{how: ours}]")
    assert exit_status(["classify", str(tmp_path / "a.html")]) == 2
    errors = capsys.readouterr().err
    assert errors.count("\n") == 1
    assert "markers.yaml" in errors


@pytest.mark.parametrize("kind", ["warc", "scrapy", "feed"])
def test_try(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log"
    if kind == "warc":
        log.write_bytes(warc(3, body=GATE))
    elif kind == "scrapy":
        log.write_text(
            "2026-01-31 14:00:00 [scrapy.core.engine] DEBUG: "
            "Crawled (403) <GET https://a.example/> (referer: None)\n"
        )
    else:
        log.write_text(
            json.dumps(
                {
                    "url": "https://a.example/",
                    "title": "Just a moment...",
                    "body_text": "Checking your browser before accessing a.example",
                    "status": 403,
                    "crawl_time": "2026-01-31 14:00:00",
                    "download_latency": 0.5,
                    "size": 100,
                    "resp_headers_Cf-Mitigated": "challenge",
                }
            )
            + "\n"
        )
    assert exit_status(["try", str(log), "--json"]) == 0
    [site] = json.loads(capsys.readouterr().out)["sites"]
    assert site["site"] == "a.example"
    assert site["hard_block" if kind == "scrapy" else "challenge"] == site["fetches"] > 0
    assert not (tmp_path / "home").exists()
