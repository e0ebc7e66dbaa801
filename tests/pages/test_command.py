"""`classify` over files, archives, directories and standard input."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import pytest

from target_health.errors import UsageError
from target_health.pages.command import classify_paths
from tests.pages.test_warc import archive

GATE = b"<title>Just a moment...</title><script>window._cf_chl_opt={}</script>"
KEYS = {"file", "url", "status", "verdict", "evidence", "confidence", "paywall"}


def test_a_directory_in_order(tmp_path: Path) -> None:
    (tmp_path / "b.html").write_bytes(b"<title>Hello</title><p>world</p>")
    (tmp_path / "a.html.gz").write_bytes(gzip.compress(GATE))
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "d.warc.gz").write_bytes(archive(zipped=True))
    (tmp_path / ".hidden").write_bytes(GATE)
    rows = list(classify_paths([tmp_path], status=200, url="http://x.example/"))
    assert [(Path(row["file"]).name, row["status"], row["verdict"]) for row in rows] == [
        ("a.html.gz", 200, "challenge"),
        ("b.html", 200, "ok"),
        ("d.warc.gz", 200, "ok"),
        ("d.warc.gz", 403, "hard_block"),
        ("d.warc.gz", 200, "ok"),
        ("d.warc.gz", 200, "ok"),
    ]
    assert rows[0]["url"] == "http://x.example/"
    assert rows[2]["url"] == "http://a.example/"
    assert all(set(row) >= KEYS for row in rows)
    assert json.loads(json.dumps(rows)) == rows


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stdin:
        buffer = io.BytesIO(gzip.compress(GATE))

    monkeypatch.setattr("sys.stdin", Stdin)
    (row,) = classify_paths(["-"], status=503)
    assert (row["file"], row["status"], row["verdict"]) == ("-", 503, "challenge")
    assert row["why"]


def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        list(classify_paths([tmp_path / "none.html"]))


def test_a_damaged_file_costs_only_itself(tmp_path: Path) -> None:
    (tmp_path / "a.warc").write_bytes(b"WARC/1.0\r\nbroken")
    (tmp_path / "b.html.gz").write_bytes(gzip.compress(GATE)[:20])
    (tmp_path / "c.html").write_bytes(GATE)
    rows = list(classify_paths([tmp_path]))
    assert [row["verdict"] for row in rows if Path(row["file"]).name == "c.html"] == ["challenge"]
    broken = [row for row in rows if Path(row["file"]).name == "b.html.gz"]
    assert broken[0]["verdict"] is None
    assert broken[0]["error"]
