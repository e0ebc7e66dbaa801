"""Growing, renamed, compressed, copied files: nothing is lost and nothing doubled."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from datetime import timedelta

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from target_health.landing import streaming
from target_health.paths import Home
from target_health.readers import lines
from tests.landing.conftest import NOW, Landing, fetch, outcome, reasons

LINES = [fetch(second) for second in range(60)]
YOUNG = timedelta(minutes=1)


def text(count: int, end: str = "\n") -> str:
    return end.join(LINES[:count]) + end


@pytest.mark.parametrize("name", ["log.jsonl", "log.jsonl.1", "other/log"])
def test_same_content_under_another_name(landing: Landing, way: str, name: str) -> None:
    landing.put("x/log.jsonl", text(10))
    landing.land()
    before = landing.state()
    landing.put("x/" + name, text(10))
    landing.put("y/again.jsonl", text(10))
    landing.put("x/log.jsonl.gz", gzip.compress(text(10).encode()))
    landing.put("x/log.jsonl.zst", zstandard.compress(text(10).encode()))
    report = landing.land()
    assert (report.files, *outcome(report)) == (0, 0, 0, 0)
    assert landing.state() == before


def test_growing_file(landing: Landing, way: str) -> None:
    for count in (3, 4, 4, 30, 60):
        landing.put("x/log.jsonl", text(count))
        landing.land()
    whole = Landing(Home(landing.home.root / "whole"))
    whole.put("x/log.jsonl", text(60))
    whole.land()
    assert landing.state() == whole.state()


def test_grown_then_rotated_and_compressed(landing: Landing, way: str) -> None:
    path = landing.put("x/log.jsonl", text(20))
    assert landing.land().rows == 20
    landing.put("x/log.jsonl", text(35))
    os.replace(path, path.with_suffix(".jsonl.1"))
    landing.put("x/log.jsonl", "\n".join(LINES[40:50]) + "\n")
    assert landing.land().rows == 15 + 10
    landing.put("x/log.jsonl.1.gz", gzip.compress(text(40).encode()))
    path.with_suffix(".jsonl.1").unlink()
    assert landing.land().rows == 5
    assert len(landing.rows("url")) == len(set(landing.rows("url"))) == 50


def test_shorter_copy_of_a_landed_log(landing: Landing, way: str) -> None:
    landing.put("x/log.jsonl", text(30))
    landing.land()
    landing.put("x/copy.jsonl", text(12))
    report = landing.land()
    assert (outcome(report), reasons(report)) == ((0, 12, 0), {"landed before": 12})


def test_two_logs_that_begin_alike_are_two_logs(landing: Landing, way: str) -> None:
    landing.put("x/a.jsonl", text(2) + fetch(100) + "\n")
    landing.put("x/b.jsonl", text(2) + fetch(101) + "\n")
    assert landing.land().rows == 6
    assert len(set(landing.rows("event_id"))) == 6


def test_unfinished_line_waits_while_the_file_is_young(landing: Landing, way: str) -> None:
    landing.put("x/log.jsonl", text(3) + LINES[3][:20], age=YOUNG)
    assert outcome(landing.land()) == (3, 0, 0)
    assert outcome(landing.land()) == (0, 0, 0)
    landing.put("x/log.jsonl", text(5) + LINES[5], age=YOUNG)
    assert outcome(landing.land()) == (2, 0, 0)
    assert outcome(landing.land(NOW + timedelta(minutes=20))) == (1, 0, 0)
    landing.put("x/log.jsonl", text(7), age=YOUNG)
    assert outcome(landing.land()) == (1, 0, 0)
    assert len(landing.rows("url")) == len(set(landing.rows("url"))) == 7


def test_unfinished_first_line_waits(landing: Landing, way: str) -> None:
    landing.put("x/log.jsonl", LINES[0][:30], age=YOUNG)
    assert landing.land().as_json()["files"] == 0
    landing.put("x/log.jsonl", text(1), age=YOUNG)
    assert landing.land().rows == 1


def test_unfinished_line_of_an_old_file_is_taken_and_later_replaced(
    landing: Landing, way: str
) -> None:
    landing.put("x/log.jsonl", text(3) + LINES[3][:20])
    assert outcome(landing.land()) == (3, 0, 1)
    assert [kept["line"] for kept in landing.quarantine()] == [4]
    landing.put("x/log.jsonl", text(6))
    assert outcome(landing.land()) == (3, 0, 0)
    assert landing.quarantine() == []
    whole = Landing(Home(landing.home.root / "whole"))
    whole.put("x/log.jsonl", text(6))
    whole.land()
    assert landing.state() == whole.state()


def test_content_cut_back_and_written_anew(landing: Landing, way: str) -> None:
    landing.put("x/log.jsonl", text(10))
    landing.land()
    landing.put("x/log.jsonl", "\n".join(LINES[30:33]) + "\n")
    assert outcome(landing.land()) == (3, 0, 0)


def test_rows_out_of_order_and_over_many_hours(landing: Landing, way: str) -> None:
    late = [fetch(3600 * hour + 7) for hour in (0, -5, -30, -1, 0, -5)]
    landing.put("x/log.jsonl", "\n".join(late) + "\n")
    assert landing.land().rows == 6
    assert landing.ledger("SELECT count(DISTINCT hour_start), sum(row_count) FROM lake_files") == [
        (4, 6)
    ]


COMPRESSIONS: list[Callable[[bytes], bytes]] = [bytes, gzip.compress, zstandard.compress]


@settings(
    max_examples=6,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@pytest.mark.parametrize("stream_from", [0, 1 << 30], ids=["straight", "staged"])
@given(
    steps=st.lists(
        st.tuples(
            st.integers(0, 60),
            st.sampled_from([0, 1, 20, 10_000]),
            st.sampled_from(COMPRESSIONS),
            st.sampled_from(["a", "b"]),
            st.sampled_from([YOUNG, timedelta(hours=2)]),
        ),
        max_size=5,
    )
)
def test_any_way_of_growing_ends_like_one_clean_pass(
    tmp_path_factory: pytest.TempPathFactory,
    stream_from: int,
    steps: list[tuple[int, int, Callable[[bytes], bytes], str, timedelta]],
) -> None:
    """Whatever states, names and compressions a log is seen in, the lake ends the same."""
    old = lines.STRETCH, streaming.STREAM_FROM
    lines.STRETCH, streaming.STREAM_FROM = 700, stream_from
    try:
        grown = Landing(Home(tmp_path_factory.mktemp("grown")))
        whole = Landing(Home(tmp_path_factory.mktemp("whole")))
        mixed = [
            f"{{bad {index}" if index % 7 == 3 else "" if index % 11 == 5 else line
            for index, line in enumerate(LINES)
        ]
        full = "\n".join(mixed) + "\n"
        for count, cut, compress, name, age in sorted(steps, key=lambda step: step[0]):
            part = "\n".join(mixed[:count]) + "\n"
            part = part[: max(len(part) - cut, 0)]
            grown.put(f"x/{name}", compress(part.encode()), age=age)
            grown.land()
        for landing in (grown, whole):
            landing.put("x/log.jsonl", full)
            landing.land()
            assert landing.land().files == 0
        # a state that ends earlier than one before is skipped line by line, never landed
        assert grown.state()[0] == whole.state()[0]
    finally:
        lines.STRETCH, streaming.STREAM_FROM = old


def test_copies_and_continuations_in_one_landing(landing: Landing, way: str) -> None:
    landing.put("x/a.jsonl", text(20))
    landing.put("x/b.jsonl", text(20))
    landing.put("x/c.jsonl.gz", gzip.compress(text(33).encode()))
    landing.put("x/d.jsonl", text(35) + LINES[35][:9])
    landing.put("x/e.jsonl", text(40))
    report = landing.land()
    assert outcome(report) == (40, 0, 1)
    assert landing.quarantine() == []
    assert len(set(landing.rows("url"))) == len(landing.rows("url")) == 40
