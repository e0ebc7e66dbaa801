"""Archives through whole landings."""

from __future__ import annotations

import gzip
from datetime import datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from warcio.warcwriter import WARCWriter

from target_health.paths import PROJECT_ROOT, Home
from tests.landing.conftest import Landing, outcome, reasons
from tests.readers.archives import arc, warc

REAL = PROJECT_ROOT.parent / "shared" / "real" / "warc"
YOUNG = timedelta(minutes=1)


@pytest.mark.skipif(not REAL.exists(), reason="../shared/real is not there")
@pytest.mark.parametrize(
    ("name", "records", "statuses"),
    [
        ("archive_org_2008.warc.gz", 822, {200: 214, 404: 40, 302: 5, 301: 2}),
        ("data_gov_uk.warc.gz", 190, {200: 57, 404: 3, 403: 1, 302: 1}),
        ("iana_chunked.warc", 3, {200: 1}),
    ],
)
def test_real_archives(landing: Landing, name: str, records: int, statuses: dict[int, int]) -> None:
    landing.put(f"w/{name}", (REAL / name).read_bytes())
    report = landing.land()
    assert report.sources["w"].format == "warc"
    assert sum(outcome(report)) == records
    assert report.quarantined == 0
    found = [status for (status,) in landing.rows("status")]
    assert {status: found.count(status) for status in set(found)} == statuses
    assert all(
        verdict == {200: "ok", 404: "not_found", 403: "hard_block"}.get(status, "redirect")
        for status, verdict in landing.rows("status, verdict")
    )
    before = landing.state()
    data = (REAL / name).read_bytes()
    other = gzip.decompress(data) if name.endswith("gz") else gzip.compress(data)
    landing.put(f"elsewhere/{name}.2", other)
    assert outcome(landing.land()) == (0, 0, 0)
    assert landing.state() == before


def test_a_fetch(landing: Landing) -> None:
    landing.put("w/a.warc.gz", warc(1, zipped=True, status="503 Busy"))
    assert outcome(landing.land()) == (1, 2, 0)
    [row] = landing.rows(
        "ts, site, url, status, latency_ms, attempts, title, verdict, bytes, content_hash, source"
    )
    assert row[:8] == (
        datetime(2026, 1, 31, 14), "a.example", "http://a.example/0", 503, None, None, "Hi",
        "server_error",
    )  # fmt: skip
    assert row[9].startswith("sha1:")
    assert row[10] == "w"


def test_a_challenge_in_an_archive(landing: Landing) -> None:
    gate = b"<title>Just a moment...</title><script>window._cf_chl_opt={}</script>"
    landing.put("w/a.warc", warc(2, body=gate))
    landing.land()
    assert landing.rows("DISTINCT verdict", "1") == [("challenge",)]


def test_a_revisit_has_a_status_and_no_body(landing: Landing) -> None:
    import io

    from warcio.statusandheaders import StatusAndHeaders

    stream = io.BytesIO()
    writer = WARCWriter(stream, gzip=True)
    writer.write_record(
        writer.create_revisit_record(
            "http://a.example/", "sha1:ABC", "http://a.example/", "2026-01-30T14:00:00Z",
            http_headers=StatusAndHeaders("200 OK", [], protocol="HTTP/1.1"),
            warc_headers_dict={"WARC-Date": "2026-01-31T14:00:00Z"},
        )
    )  # fmt: skip
    landing.put("w/a.warc.gz", stream.getvalue())
    assert outcome(landing.land()) == (1, 0, 0)
    assert landing.rows("status, verdict, bytes, text_length, content_hash, evidence") == [
        (200, "ok", None, None, "sha1:ABC", [])
    ]


def test_arc(landing: Landing) -> None:
    landing.put("w/a.arc.gz", gzip.compress(arc(3)))
    landing.put("v/b.arc", arc(2, version=2))
    report = landing.land()
    assert outcome(report) == (5, 4, 0)
    assert reasons(report) == {"filedesc record": 2, "dns record": 2}
    assert {title for (title,) in landing.rows("title")} == {"Hi"}


def test_a_broken_end_is_quarantined_with_its_reason(landing: Landing) -> None:
    whole = warc(3, zipped=True)
    landing.put("w/a.warc.gz", whole[:-40])
    report = landing.land()
    assert outcome(report) == (2, 4, 1)
    [bad] = landing.quarantine()
    assert bad["reason"] == "compressed data ends early"
    assert bad["line"] == 7
    assert "WARC-Type: response" in bad["raw"]
    assert outcome(landing.land()) == (0, 0, 0)
    landing.put("w/a.warc.gz", whole)
    assert outcome(landing.land()) == (1, 0, 0)
    assert not landing.quarantine()
    assert len(set(landing.rows("event_id"))) == 3


def test_an_archive_that_is_being_written(landing: Landing) -> None:
    for count, cut in ((1, 30), (2, 5), (3, 0)):
        data = warc(count)
        landing.put("w/a.warc", data[: len(data) - cut], age=YOUNG)
        landing.land()
    assert [url for (url,) in landing.rows("url", "ts")] == [
        f"http://a.example/{number}" for number in range(3)
    ]
    assert not landing.quarantine()


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> Landing:
    """Five pages landed at once."""
    landing = Landing(Home(tmp_path_factory.mktemp("straight") / "home"))
    landing.put("w/a.warc", warc(5))
    landing.land()
    return landing


@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(cut=st.integers(0, len(warc(5))), zipped=st.booleans())
def test_growth_at_any_byte(
    tmp_path_factory: pytest.TempPathFactory, straight: Landing, cut: int, zipped: bool
) -> None:
    landing = Landing(Home(tmp_path_factory.mktemp("grown") / "home"))
    whole = warc(5)
    landing.put("w/a.warc", whole[:cut], age=YOUNG)
    landing.land()
    if zipped:
        (landing.home.inbox / "w" / "a.warc").unlink()
        landing.put("w/a.warc.gz", gzip.compress(whole))
    else:
        landing.put("w/a.warc", whole)
    landing.land()
    assert landing.state() == straight.state()


def test_damage_in_the_middle_costs_one_record(landing: Landing) -> None:
    whole = warc(5)
    at = whole.index(b"<p>Some words", whole.index(b"a.example/2"))
    landing.put("w/a.warc", whole[:at] + whole[at + 7 :])
    report = landing.land()
    assert report.quarantined == 1
    assert len(landing.rows("url")) == 4
    assert sum(outcome(report)) == 11


def test_a_source_that_is_no_archive(landing: Landing) -> None:
    landing.configure("sources: {w: {format: warc}}\n")
    landing.put("w/a.warc", "hello\n")
    report = landing.land()
    assert report.quarantined == 1
    assert "does not begin like one" in " ".join(report.sources["w"].all_notes)
