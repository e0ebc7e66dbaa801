"""Logs as people write them: languages, units, clocks, dates in two columns."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from target_health.landing import read_log
from tests.landing.conftest import NOW, Landing, outcome

URL = "https://a.example/x"
TS = "2026-01-31T14:00:00Z"
AT = datetime(2026, 1, 31, 14)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"Fecha y hora;Dirección;Código;Tiempo de respuesta (ms);Tamaño\n"
         f"31/01/2026 14:00:00;{URL};200;530;12.595\n", (AT, 200, 530.0, None)),
        (f"Zeitstempel;Adresse;Antwortcode;Antwortzeit (s);Größe (Bytes)\n"
         f"05.01.2026 14:00:00;{URL};200;0,53;12595\n",
         (datetime(2026, 1, 5, 14), 200, 530.0, 12595)),
        (f"Datum;Uhrzeit;URL;Status;Dauer\n31.01.2026;14:00:00;{URL};404;0,53 s\n",
         (AT, 404, 530.0, None)),
        (f"date\ttime\turl\tstatus\tresponse_time\n2026-01-31\t14:00:00\t{URL}\t200\t530ms\n",
         (AT, 200, 530.0, None)),
        (f"time,date,url,code,took\n2:00:00 PM,01/31/2026,{URL},200,0.53s\n",
         (AT, 200, 530.0, None)),
        (f"when,page,http,size\n01/31/2026 02:00 PM,{URL},200,12.3 KB\n", (AT, 200, None, 12595)),
        (f"epoch,url,status_code,size\n\"1769868000\",{URL},200 OK,\"1,5 MB\"\n",
         (AT, 200, None, 1572864)),
        (f"timestamp,url,status,load_time\n2026-01-31 15:00:00 +0100,{URL},200,00:00:00.53\n",
         (AT, 200, 530.0, None)),
        (f"timestamp,url,status,elapsed\n2026-01-31 14:00 UTC,{URL},200,1 min\n",
         (AT, 200, 60000.0, None)),
        (f"timestamp,url,status,elapsed_us\n31/01/26 14:00,{URL},200,530000\n",
         (AT, 200, 530.0, None)),
    ],
)  # fmt: skip
def test_one_fetch(landing: Landing, text: str, expected: tuple[Any, ...]) -> None:
    path = landing.put("x/log.csv", text)
    assert outcome(landing.land()) == (1, 0, 0)
    ts, status, latency, size = landing.rows("ts, status, latency_ms, bytes")[0]
    assert (ts, status, latency) == expected[:3]
    assert expected[3] is None or size == expected[3]
    with read_log([path], now=NOW) as (connection, report):
        assert outcome(report) == (1, 0, 0)
        tried = connection.execute("SELECT ts, status, latency_ms, bytes FROM crawl_log")
        assert tried.fetchall() == [(ts, status, latency, size)]


def test_date_and_time_in_two_fields_of_json_lines(landing: Landing) -> None:
    landing.put(
        "x/log.jsonl",
        f'{{"date": "2026-01-31", "time": "14:00:00", "address": "{URL}", "code": "200"}}\n'
        f'{{"date": "2026-01-31", "time": "14:00:05", "address": "{URL}", "code": "n/a"}}\n',
    )
    report = landing.land()
    assert outcome(report) == (2, 0, 0)
    assert report.sources["x"].columns["ts"] == "date and time"
    assert landing.rows("ts", "ts") == [(AT,), (datetime(2026, 1, 31, 14, 0, 5),)]


def test_date_and_time_columns_can_be_named(landing: Landing) -> None:
    landing.put("x/log.csv", f"d,t,url\n2026-01-31,14:00:00,{URL}\n")
    assert "time of day" in landing.land().sources["x"].notes[0]
    landing.configure("sources: {x: {columns: {ts: {column: d, time: t}}}}\n")
    assert outcome(landing.land()) == (1, 0, 0)
    assert landing.rows("ts") == [(AT,)]
    landing.configure("sources: {y: {columns: {ts: {column: d, time: nowhere}}}}\n")
    landing.put("y/log.csv", f"d,t,url\n2026-01-31,14:00:00,{URL}/y\n")
    assert "'nowhere'" in landing.land().sources["y"].notes[0]


def test_dates_only_say_how_a_column_of_times_is_named(landing: Landing) -> None:
    landing.put("x/log.csv", f"date,at,url\n2026-01-31,14:00:00,{URL}\n")
    report = landing.land()
    assert outcome(report) == (0, 0, 1)
    assert "{column: …, time: …}" in report.sources["x"].notes[0]


def test_an_access_log_is_refused_with_its_name(landing: Landing) -> None:
    landing.put(
        "x/access.log",
        '192.0.2.1 - - [31/Jan/2026:14:00:00 +0000] "GET /x HTTP/1.1" 200 5120 "-" "agent"\n' * 3,
    )
    report = landing.land()
    assert outcome(report) == (0, 0, 3)
    assert "access log" in report.sources["x"].notes[0]


def test_a_refused_file_counts_its_records(landing: Landing) -> None:
    """As a landed one does: no header, and a record over two lines is one."""
    rows = f'{URL},"a\nb"\n' + f"{URL},c\n" * 3
    landing.put("x/log.csv", "url,title\n" + rows)
    assert outcome(landing.land()) == (0, 0, 4)


def test_a_name_that_is_no_text_costs_nothing(landing: Landing) -> None:
    landing.put("x/good.jsonl", f'{{"ts": "{TS}", "url": "{URL}"}}\n')
    odd = landing.home.inbox / "x" / "log\udcff.jsonl"
    odd.write_text(f'{{"ts": "{TS}", "url": "{URL}/2"}}\nbad\n')
    with read_log([landing.home.inbox], now=NOW) as (_, report):
        assert outcome(report) == (2, 0, 0) or report.rows == 2
    landing.put("x/zlast.jsonl", f'{{"ts": "{TS}", "url": "{URL}/3"}}\n')
    assert landing.land(now=datetime(2036, 1, 31)).rows == 3
    assert landing.quarantine()[0]["file"].endswith("log\\xff.jsonl")
    assert landing.land().files == 0


def test_copies_are_named(landing: Landing) -> None:
    text = f'{{"ts": "{TS}", "url": "{URL}"}}\n'
    landing.put("x/a.jsonl", text)
    landing.land()
    landing.put("x/b.jsonl", text)
    report = landing.land()
    assert (report.files, outcome(report)) == (0, (0, 0, 0))
    assert report.sources["x"].all_notes == ["landed before, nothing new in it: x/b.jsonl"]
    assert "x/b.jsonl" in "\n".join(report.lines())


def test_one_event_in_two_sources_lands_once(landing: Landing) -> None:
    line = f'{{"ts": "{TS}", "url": "{URL}", "event_id": "%s"}}\n'
    landing.put("a/1.jsonl", line % "e1" + line % "e2")
    landing.put("b/1.jsonl", line % "e1")
    assert outcome(landing.land()) == (2, 1, 0)
    landing.put("c/1.jsonl", line % "e2" + line % "e3")
    assert outcome(landing.land()) == (1, 1, 0)
    landing.put("d/1.jsonl", (line % "e1").replace("/x", "/another"))
    assert outcome(landing.land()) == (1, 0, 0)


@pytest.mark.parametrize(
    "text",
    [
        f"sep=;\nTimestamp;URL;Status Code\n2026-01-31T14:00:00;{URL};200\n",
        f'"Internal - All"\n\n"Address","Status Code","Crawl Timestamp"\n"{URL}","200","{TS}"\n',
        f"URL,HTTP Status Code,HTTP Status,Crawl Date\n{URL},200,Success,2026-01-31 14:00\n",
        f"Date Crawled,Target,HTTP Status,HTTP Status Code,Referer\n{TS},{URL},OK,200,{URL}\n",
        f"Zeitstempel;Größe;URL;HTTP-Status\n31.01.2026 14:00;1.024;{URL};200\n".encode("cp1252"),
        f'{{"@timestamp": "{TS}", "url": {{"full": "{URL}"}}, '
        '"http": {"response": {"status_code": 200}}, "referer": "https://other.example/"}\n',
        f'{{"at": "{TS}", "req": {{"target": "{URL}"}}, "res": {{"code": 200}}}}\n',
    ],
)
def test_a_title_odd_names_and_deep_fields(landing: Landing, text: str | bytes) -> None:
    landing.put("x/log.csv", text)
    assert outcome(landing.land()) == (1, 0, 0)
    assert landing.rows("ts, url, status") == [(AT, URL, 200)]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f'[{{"ts": "{TS}", "url": "{URL}"}}]', "jq -c"),
        (f'[\n  {{\n    "ts": "{TS}",\n    "url": "{URL}"\n  }}\n]\n', "jq -c"),
        (f'{{"ts": "{TS}", "path": "/x", "referer": "{URL}", "lastModified": 1}}\n', "url"),
        (f'{{"url": "{URL}", "last_modified": "{TS}", "status": 200}}\n', "time of day"),
    ],
)
def test_refused_in_one_line_that_says_why(landing: Landing, text: str, says: str) -> None:
    landing.put("x/log.json", text)
    report = landing.land()
    assert report.rows == 0
    assert report.quarantined == len(text.splitlines())
    shown = " ".join([*report.sources["x"].all_notes, *report.sources["x"].quarantined])
    assert says in shown


def test_an_array_of_an_object_a_line(landing: Landing) -> None:
    """Scrapy's JSON feed."""
    rows = [f'{{"timestamp": "{TS}", "url": "{URL}/{n}", "status": 200}}' for n in range(3)]
    landing.put("x/feed.json", "[\n" + ",\n".join(rows) + "\n]")
    assert outcome(landing.land()) == (3, 2, 0)


@pytest.mark.parametrize(
    "text",
    [
        "Jan 31 2026 14:00:00",
        "January 31, 2026 2:00 PM",
        "31 January 2026 14:00:00",
        "2026-01-31_14-00-00",
        "20260131 140000",
        "2026-01-31 15:00:00 +01:00",
        "2026-01-31 15:00:00.000 +0100",
    ],
)
def test_times_in_words_and_without_marks(landing: Landing, text: str) -> None:
    landing.put("x/log.csv", f'time;url;status\n"{text}";{URL};HTTP 200\n')
    assert outcome(landing.land()) == (1, 0, 0)
    assert landing.rows("ts, status") == [(AT, 200)]
