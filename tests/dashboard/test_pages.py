"""What the pages show, to people and to programs."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path

import pytest
from parsel import Selector

from target_health.paths import Home
from tests.dashboard.conftest import Open
from tests.dashboard.homes import (
    CALM,
    FORMULA,
    HOSTILE,
    KOREAN_WHY,
    REFUSING,
    SILENT,
    changed_copy,
    older_copy,
)


def shown(text: str) -> str:
    """The text of a page, spaces made one."""
    return " ".join(" ".join(Selector(text).css("main ::text").getall()).split())


def names(text: str) -> list[str]:
    return Selector(text).css("table.fleet tbody th a::text").getall()


def test_fleet_shows_worst_first_with_bands_reasons_and_states(
    open_dashboard: Open, home: Home
) -> None:
    page = open_dashboard(home).get("")
    assert page.status_code == 200
    assert names(page.text)[0] == REFUSING
    assert set(names(page.text)) == {CALM, REFUSING, SILENT, HOSTILE, FORMULA}
    (first,) = Selector(page.text).xpath("//table[contains(@class, 'fleet')]/tbody/tr[1]")
    cells = " ".join(" ".join(first.css("::text").getall()).split())
    assert "resisting" in cells
    assert "serves less than half, more refusals" in cells
    assert "paused" in cells
    assert first.css("td.spark svg path:last-child::attr(d)").get("").startswith("M")
    assert "from 100" in first.css("td.spark svg::attr(aria-label)").get("")


def test_band_is_shown_with_its_age(open_dashboard: Open, home: Home) -> None:
    client = open_dashboard(home)
    sites = {site["site"]: site for site in client.get("api/fleet").json()["sites"]}
    # The window before the refusing one ended four hours before the last.
    assert sites[REFUSING]["band_since"] == "2026-03-10T08:00:00Z"
    assert sites[SILENT]["band_since"] is None
    row = Selector(client.get("").text).css("table.fleet tbody tr")[0]
    assert row.css(".band-age time::attr(datetime)").get() == "2026-03-10T08:00:00Z"
    assert "for" in shown(client.get(f"site?name={REFUSING}").text).split("paused")[0]


def test_what_is_switched_off_stands_on_every_page(open_dashboard: Open, home: Home) -> None:
    client = open_dashboard(home)
    for place in ("", "site?name=calm.example", "incidents", "heat-map"):
        aside = Selector(client.get(place).text).css("aside.off")
        text = " ".join(" ".join(aside.css("::text").getall()).split())
        assert "2 paused 0 slowed 0 stopped 1 overridden" in text, place


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("q=REFUS", {REFUSING}),
        ("q=%25", set()),
        ("band=resisting", {REFUSING}),
        ("state=paused", {REFUSING, HOSTILE}),
        ("state=overridden", {HOSTILE}),
        ("state=off&q=img", {HOSTILE}),
        ("owner=nobody", set()),
    ],
)
def test_fleet_is_filtered(
    open_dashboard: Open, home: Home, query: str, expected: set[str]
) -> None:
    assert set(names(open_dashboard(home).get(f"?{query}").text)) == expected


def test_fleet_is_sorted_and_says_so(open_dashboard: Open, home: Home) -> None:
    client = open_dashboard(home)
    up = client.get("?sort=site").text
    down = client.get("?sort=site&order=desc").text
    assert names(up) == sorted(names(up)) == names(down)[::-1]
    assert Selector(down).css("th[aria-sort=descending] a::text").getall()[0].strip() == "Site"
    # Scores that are none come last, whichever way.
    for order in ("asc", "desc"):
        assert names(client.get(f"?sort=score&order={order}").text)[0] in {REFUSING, CALM}
    assert client.get("?sort=site;DROP TABLE site_health").status_code == 200


def test_fleet_is_paged(open_dashboard: Open, home: Home) -> None:
    client = open_dashboard(home)
    pages = [names(client.get(f"?sort=site&size=2&page={page}").text) for page in (1, 2, 3, 9)]
    assert [len(page) for page in pages] == [2, 2, 1, 1]
    assert [*pages[0], *pages[1], *pages[2]] == names(client.get("?sort=site").text)
    assert pages[3] == pages[2]


def test_site_says_why_with_numbers_and_the_arithmetic(open_dashboard: Open, home: Home) -> None:
    text = shown(open_dashboard(home).get(f"site?name={REFUSING}").text)
    assert "100 % of fetches are refused (403, 429 and the like); its normal is 0 %." in text
    assert "of what it normally serves" in text
    assert "100 − 35.0 = score 65" in text
    assert f"https://{REFUSING}/p/58" in text
    assert "paused target-health" in text
    assert "0 × normal" in text
    assert "Not recorded yet" not in text


def test_site_in_an_older_database_says_what_it_lacks(
    open_dashboard: Open, home: Home, tmp_path: Path
) -> None:
    client = open_dashboard(older_copy(home, tmp_path / "older"))
    text = shown(client.get(f"site?name={REFUSING}").text)
    assert "Not recorded yet: incidents, routes, field coverage, canaries." in text


def test_person_with_the_right_gets_a_form_and_another_none(
    open_dashboard: Open, home: Home
) -> None:
    place = f"site?name={REFUSING}"
    assert Selector(open_dashboard(home).get(place).text).css("form[method=post]")
    guest = open_dashboard(home, "guest").get(place)
    assert guest.status_code == 200
    assert not Selector(guest.text).css("form[method=post]")
    assert "set-cookie" not in guest.headers


def test_reason_in_any_script_is_shown_as_text(open_dashboard: Open, home: Home) -> None:
    page = open_dashboard(home).get("site", params={"name": HOSTILE})
    assert KOREAN_WHY in shown(page.text)
    assert "김철수" in shown(page.text)


def test_damaged_lake_file_costs_its_examples_alone(
    open_dashboard: Open, home: Home, tmp_path: Path
) -> None:
    own = changed_copy(home, tmp_path / "own")
    shutil.copytree(home.root / "lake", own.root / "lake")
    whole = open_dashboard(own).get(f"api/site?name={REFUSING}").json()["evidence"]
    newest = own.lake / "date=2026-03-10" / "hour=11"
    for file in newest.glob("*.parquet"):
        file.write_bytes(b"damaged")
    left = open_dashboard(own).get(f"api/site?name={REFUSING}").json()["evidence"]
    assert len(whole) == 20
    assert {fetch["ts"][:13] for fetch in whole} == {"2026-03-10T11"}
    assert {fetch["ts"][:13] for fetch in left} == {"2026-03-10T10"}


def test_site_without_any_window(open_dashboard: Open, home: Home) -> None:
    client = open_dashboard(home)
    page = client.get(f"site?name={SILENT}")
    assert page.status_code == 200
    assert "No window yet." in shown(page.text)
    history = client.get(f"api/site/history?name={SILENT}").json()
    assert history["scores"]["score"] == []


def test_history_is_columns_of_the_scores(open_dashboard: Open, home: Home) -> None:
    history = open_dashboard(home).get(f"api/site/history?name={REFUSING}&days=1").json()
    scores = history["scores"]
    assert {len(column) for column in scores.values()} == {len(scores["score"])}
    assert scores["score"][-1] == 65
    assert scores["window_end"][-1] == "2026-03-10T12:00:00Z"
    assert [spell["band"] for spell in history["bands"]][-1] == "resisting"
    assert [action["kind"] for action in history["actions"]] == ["pause"]
    assert sum(history["verdicts"]["hard_blocks"]) == 120


def test_long_history_is_thinned_to_its_lows() -> None:
    from target_health.dashboard.history import MOST_POINTS, summed, thinned

    rows = [{"score": float(place % 997), "count": 1} for place in range(4 * MOST_POINTS + 1)]
    few = thinned(rows)
    assert len(few) <= MOST_POINTS
    assert min(row["score"] for row in few) == 0
    windows = [{"window_start": place, "window_end": place + 1, "n": 1} for place in range(2000)]
    bars = summed(windows, ["n"])
    assert len(bars) <= MOST_POINTS // 10
    assert sum(bar["n"] for bar in bars) == 2000


def test_heat_map_shows_each_day(open_dashboard: Open, home: Home) -> None:
    client = open_dashboard(home)
    page = Selector(client.get("heat-map?days=3").text)
    (row,) = [row for row in page.css(".heat tbody tr") if row.css("a::text").get() == REFUSING]
    assert row.css("td .cell::attr(class)").getall()[-1] == "cell resisting"
    assert row.css("td .cell::attr(title)").getall()[0].startswith("2026-03-08: healthy")
    days = client.get(f"api/heat-map?days=3&q={REFUSING}").json()["days"]
    assert [day["day"] for day in days] == ["2026-03-08", "2026-03-09", "2026-03-10"]
    assert days[-1]["band"] == "resisting"


def test_incidents_before_they_were_recorded(
    open_dashboard: Open, home: Home, tmp_path: Path
) -> None:
    client = open_dashboard(older_copy(home, tmp_path / "older"))
    assert "not recorded yet" in shown(client.get("incidents").text)
    assert client.get("incident?id=x").status_code == 404
    assert client.get("api/incidents").json()["is_recorded"] is False


def test_incidents_open_and_past_with_timeline_and_quality(
    open_dashboard: Open, full_home: Home
) -> None:
    client = open_dashboard(full_home)
    page = client.get("incidents")
    assert [
        Selector(page.text).css(f"section[aria-labelledby={name}-title] tbody th a::text").getall()
        for name in ("open", "past")
    ] == [[REFUSING], [CALM]]
    quality = client.get("api/incidents").json()["quality"]
    assert (quality["reviewed"], quality["false_alarms"]) == (1, 0)
    assert quality["lead_hours"] == 2.5
    one = client.get("incident?id=hostility-refusing")
    timeline = [
        " ".join(" ".join(entry.css("::text").getall()).split())
        for entry in Selector(one.text).css(".timeline li")
    ]
    assert [entry[:16] for entry in timeline] == sorted(entry[:16] for entry in timeline)
    assert "first movement" in timeline[0]
    assert "paused by target-health" in timeline[-1]
    # Evidence is text, whatever it says.
    assert "javascript:alert(3)" in shown(one.text)
    assert not Selector(one.text).xpath("//a[contains(@href, 'javascript')]")
    assert "the shop was redesigned" in shown(client.get("incident?id=parser-calm").text)


def test_what_other_parts_record_is_shown(open_dashboard: Open, full_home: Home) -> None:
    client = open_dashboard(full_home)
    text = shown(client.get(f"site?name={REFUSING}").text)
    for expected in (
        "gateway dc-1",
        "price not null",
        "wrong value 9.50 <i>0.00</i>",
        "A decision waits for a person since 2026-03-10 12:00",
    ):
        assert expected in text, expected
    assert "Not recorded yet" not in text
    waiting = Selector(client.get("").text).css("a.waiting")
    assert " ".join("".join(waiting.css("::text").getall()).split()) == "1 decision waits for you"
    assert waiting.attrib["href"] == "../required_actions?response_received=false"
    assert "deceived" in shown(client.get(f"?q={REFUSING}").text)


def test_tables_are_csv_without_formulas(open_dashboard: Open, full_home: Home) -> None:
    client = open_dashboard(full_home)
    tables = ["csv/fleet.csv", "csv/switched-off.csv", "csv/incidents.csv", "csv/heat-map.csv"]
    tables += [
        f"csv/site/{table}.csv?name={REFUSING}"
        for table in ("scores", "windows", "actions", "incidents", "routes", "fields", "canaries")
    ]
    for table in tables:
        answer = client.get(table)
        assert answer.status_code == 200, table
        assert answer.headers["content-type"].startswith("text/csv")
        rows = list(csv.reader(io.StringIO(answer.text.removeprefix("\ufeff"))))
        assert len(rows) > 1, table
        assert len({len(row) for row in rows}) == 1, table
    fleet = list(csv.DictReader(io.StringIO(client.get("csv/fleet.csv").text[1:])))
    assert {row["site"] for row in fleet} == {CALM, REFUSING, SILENT, HOSTILE, f"'{FORMULA}"}
    assert client.get(f"csv/site/nothing.csv?name={CALM}").status_code == 404


def test_cells_become_no_formulas() -> None:
    from target_health.dashboard.exports import csv_text

    hostile = ["=1+1", "+1", "-1", "@x", "\t=1", " =1", "\r=1", "＝1", "|x", "plain", "a=b"]
    text = csv_text([{"cell": value, "number": -1.5, "none": None} for value in hostile])
    cells = [row["cell"] for row in csv.DictReader(io.StringIO(text, newline=""))]
    assert cells == [f"'{value}" for value in hostile[:9]] + ["plain", "a=b"]
    assert text.splitlines()[-1] == "a=b,-1.5,"


def test_every_page_is_json_too_and_documented(open_dashboard: Open, home: Home) -> None:
    client = open_dashboard(home)
    paths = client.get("api/openapi.json").json()["paths"]
    data = {
        "/api/fleet": "",
        "/api/site": f"?name={REFUSING}",
        "/api/site/history": f"?name={REFUSING}",
        "/api/incidents": "",
        "/api/heat-map": "",
        "/api/control": "",
    }
    assert set(data) <= set(paths)
    for path, query in data.items():
        assert client.get(path[1:] + query).status_code == 200, path
    fleet = client.get("api/fleet?band=resisting").json()
    assert [site["site"] for site in fleet["sites"]] == [REFUSING]
    assert fleet["bands"]["resisting"] == 1
    assert fleet["as_of"] == "2026-03-10T12:00:00Z"


def test_control_file_is_served_as_it_is(open_dashboard: Open, home: Home) -> None:
    served = open_dashboard(home).get("api/control").json()
    assert served == json.loads(home.control.read_text())
    assert served["sites"][REFUSING]["concurrency_factor"] == 0


def test_before_the_first_run_a_page_says_what_to_do(
    open_dashboard: Open, empty_home: Home
) -> None:
    client = open_dashboard(empty_home)
    page = client.get("")
    assert "make run" in shown(page.text)
    assert "crawl_health" in shown(page.text)
    data = client.get("api/fleet")
    assert data.status_code == 503
    assert "crawl_health" in data.json()["detail"]
    assert client.get("api/control").status_code == 503


def test_other_schema_says_what_to_do(open_dashboard: Open, home: Home, tmp_path: Path) -> None:
    older = changed_copy(home, tmp_path / "older", "ALTER TABLE site_health DROP COLUMN band")
    answer = open_dashboard(older).get("")
    assert answer.status_code == 503
    assert "let crawl_health run once" in shown(answer.text)
    broken = Home(tmp_path / "broken")
    broken.root.mkdir()
    broken.published.write_bytes(b"no database")
    assert open_dashboard(broken).get("").status_code == 503


@pytest.mark.parametrize(
    ("place", "status"),
    [
        ("site?name=nobody.example", 404),
        ("site", 422),
        ("?page=0", 422),
        ("?page=x", 422),
        ("site?name=calm.example&days=-1", 422),
        ("nothing-here", 404),
    ],
)
def test_wrong_address_gets_a_page_that_says_so(
    open_dashboard: Open, home: Home, place: str, status: int
) -> None:
    answer = open_dashboard(home).get(place)
    assert answer.status_code == status
    assert Selector(answer.text).css("main h1::text").get()
