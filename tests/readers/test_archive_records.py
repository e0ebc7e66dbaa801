"""Records are framed the same however the bytes come, and a damaged one costs only itself."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from target_health.readers import archive_records
from target_health.readers.archive_header import kind_of_record
from target_health.readers.archive_record import read_record
from target_health.readers.archive_records import (
    ENDS_EARLY,
    NO_RECORD,
    WRONG_LENGTH,
    RecordChunk,
    record_chunks,
)
from target_health.readers.lines import Position
from target_health.readers.raw import Bad, Row, Skip
from tests.readers.archives import arc, warc


def pieces(data: bytes, size: int) -> Iterator[bytes]:
    return (data[start : start + size] for start in range(0, len(data), size))


def framed(
    data: bytes,
    size: int = 1 << 20,
    position: Position | None = None,
    *,
    finished: bool = True,
    max_record: int = 64 << 20,
) -> list[RecordChunk]:
    return list(
        record_chunks(
            pieces(data, size),
            position or Position(),
            max_record=max_record,
            take_open_end=lambda: finished,
        )
    )


def records(chunks: list[RecordChunk]) -> list[tuple[int, str, str | None]]:
    """Number, digest and problem of each record."""
    return [
        (line, digest, chunk.bad.get(index))
        for chunk in chunks
        for index, (line, digest) in enumerate(
            zip(chunk.table()["line"].to_pylist(), chunk.table()["l"].to_pylist(), strict=True)
        )
    ]


def problems(data: bytes) -> list[str | None]:
    return [problem for _, _, problem in records(framed(data))]


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 3000), st.sampled_from([warc(6), arc(6), arc(6, version=2)]))
def test_the_size_of_blocks_makes_no_difference(size: int, data: bytes) -> None:
    assert records(framed(data, size)) == records(framed(data))
    assert all(problem is None for problem in problems(data))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_grown_archive_goes_on_where_it_was(data: st.DataObject) -> None:
    whole = data.draw(st.sampled_from([warc(5), arc(5)]))
    cut = data.draw(st.integers(0, len(whole)))
    before = framed(whole[:cut], finished=False)
    position = before[-1].after if before else Position()
    after = framed(whole[position.byte_count :], position=position)
    assert records(before) + records(after) == records(framed(whole))
    end, right = (after or before)[-1].after, framed(whole)[-1].after
    assert (end.key, end.first_line) == (right.key, right.first_line)


def test_chunks_end_at_fixed_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive_records, "STRETCH", 1000)
    chunks = framed(warc(8))
    assert len(chunks) > 3
    assert b"".join(chunk.data for chunk in chunks) == warc(8)[: chunks[-1].after.byte_count]
    assert [chunk.first_line for chunk in chunks[1:]] == [c.last_line + 1 for c in chunks[:-1]]


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_any_damage_is_bounded(data: st.DataObject) -> None:
    whole = warc(5)
    at = data.draw(st.integers(0, len(whole) - 1))
    hurt = (
        whole[:at] + data.draw(st.binary(max_size=40)) + whole[at + data.draw(st.integers(0, 40)) :]
    )
    chunks = framed(hurt)
    assert sum(len(chunk.data) for chunk in chunks) >= len(hurt.rstrip(b"\r\n"))
    found = {line[1] for line in records(chunks)}
    lost = {line[1] for line in records(framed(whole))} - found
    assert len(lost) <= 3


def test_what_is_wrong_is_named() -> None:
    three = warc(3)
    second = three.index(b"WARC/1.0", 10)
    assert problems(three[:second] + b"garbage\r\n" + three[second:])[:2] == [None, NO_RECORD]
    assert problems(three[:-60])[-1] == ENDS_EARLY
    length = three.index(b"Content-Length: ", second)
    wrong = three[:length] + b"Content-Length: 7" + three[three.index(b"\r\n", length) :]
    assert problems(wrong).count(WRONG_LENGTH) == 1
    assert len(problems(wrong)) == len(problems(three))


def test_an_unfinished_end_waits() -> None:
    data = warc(3)[:-60]
    assert len(records(framed(data, finished=False))) == len(records(framed(data))) - 1


def test_a_huge_record_is_cut_but_counted() -> None:
    big = warc(1, body=b"<p>" + b"x" * 300_000)
    data = big + warc(2, first=1, info=False)
    chunks = framed(data, 10_000, max_record=100_000)
    assert len(records(chunks)) == 7
    assert all(problem is None for _, _, problem in records(chunks))
    assert chunks[-1].after.hasher.digest() == framed(data)[-1].after.hasher.digest()


@pytest.mark.parametrize("version", [1, 2])
def test_arc_records_become_fetches(version: int) -> None:
    (chunk,) = framed(arc(2, version=version))
    kinds = [kind_of_record(chunk.content(index)) for index in range(len(chunk))]
    assert kinds[0] == Skip("filedesc record")
    assert kinds[-1] == Skip("dns record")
    fetch = read_record(chunk.content(2))
    assert isinstance(fetch, Row)
    assert (fetch.fields["ts"], fetch.fields["url"], fetch.fields["status"]) == (
        "2026-01-31T14:00:01Z",
        "http://a.example/1",
        "200",
    )
    assert fetch.page is not None
    assert b"Some words" in fetch.page.body


def test_a_record_that_warcio_cannot_read_is_bad() -> None:
    assert isinstance(read_record(b"WARC/1.0\r\nWARC-Type: response\r\n\r\n"), Bad | Skip)
