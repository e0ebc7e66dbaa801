"""Marks that users add, and what a wrong file says."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from target_health.pages import MarkersError, Response, classify, load_markers, shipped_markers
from target_health.pages.markers import SHIPPED

OWN = """
marks:
  - how: ourshield
    verdict: challenge
    vendor: Our Shield
    source: https://example.com/shield
    proof: {html: [ourshield-gate], header: ["x-shield: gate"]}
  - how: house_rules
    verdict: soft_block
    vendor: House rules
    source: https://example.com/rules
    strong: {title: ["= closed to robots"]}
not_found:
  languages:
    tlh:
      page: [navmey]
      gone: [tu'lu'be']
"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    path = tmp_path / "markers.local.yaml"
    path.write_text(OWN, encoding="utf-8")
    return path


def test_a_users_marks_are_added_to_the_shipped_ones(own: Path) -> None:
    markers = load_markers(SHIPPED, own)
    gate = Response(200, b"<div id='ourshield-gate'></div>")
    assert classify(gate).verdict == "ok"
    assert classify(gate, markers).evidence == ("challenge:ourshield",)
    assert classify(Response(200, b"x", {"X-Shield": "gate"}), markers).verdict == "challenge"
    assert classify(Response(200, b"<h1>navmey tu'lu'be'</h1>"), markers).verdict == "soft_404"
    assert (
        classify(Response(200, b"<title>Just a moment...</title>"), markers).verdict == "challenge"
    )


def test_a_whole_phrase_is_no_part_of_a_longer_one(own: Path) -> None:
    markers = load_markers(SHIPPED, own)
    assert (
        classify(Response(200, b"<title>Closed to robots | Shop</title>"), markers).verdict
        == "soft_block"
    )
    assert (
        classify(Response(200, b"<title>A museum closed to robots</title>"), markers).verdict
        == "ok"
    )


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("marks: [{how: x, verdict: blocked, vendor: V, source: s}]", "marks.0.verdict"),
        ("marks: [{how: x, verdict: challenge, vendor: V}]", "marks.0.source"),
        ("marks: [{how: X y, verdict: challenge, vendor: V, source: s}]", "marks.0.how"),
        (
            "marks: [{how: x, verdict: challenge, vendor: V, source: s, proof: {htlm: [abc]}}]",
            "marks.0.proof.htlm",
        ),
        (
            "marks: [{how: x, verdict: challenge, vendor: V, source: s, proof: {html: [[]]}}]",
            "marks.0.proof.html.0",
        ),
        ("makrs: []", "makrs"),
        ("[1, 2]", "top level"),
        ("marks: [", "no valid YAML"),
    ],
)
def test_a_wrong_file_is_refused_with_file_and_key(tmp_path: Path, text: str, key: str) -> None:
    path = tmp_path / "markers.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(MarkersError) as raised:
        load_markers(path)
    assert str(path) in str(raised.value)
    assert key in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MarkersError, match="cannot be read"):
        load_markers(tmp_path / "none.yaml")


def test_an_empty_file_adds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "markers.yaml"
    path.write_text("", encoding="utf-8")
    assert (
        classify(Response(200, b"<title>Page not found</title>"), load_markers(path)).verdict
        == "ok"
    )


def test_every_shipped_mark_names_a_public_source() -> None:
    marks = yaml.safe_load(SHIPPED.read_text(encoding="utf-8"))["marks"]
    assert all(mark["source"].startswith("https://") for mark in marks)


def test_no_shipped_mark_is_so_short_that_it_stands_anywhere() -> None:
    for needle, parts in shipped_markers().html:
        assert sum(map(len, parts)) >= 5 or needle.strength == "hint", needle
