"""Validating the items of landed fetches: what is counted, and what is left as it was."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from target_health.errors import TargetHealthError
from target_health.extraction import validation
from target_health.extraction.rules import HOLDS_A_VALUE
from target_health.paths import SHIPPED_EXPECTATIONS, Home
from target_health.simulator import (
    Plan,
    Rhythm,
    SitePlan,
    Trouble,
    draw_profile,
    simulate_plan,
)
from tests.extraction.conftest import DAY, HOUR, NOW, Bench, bench_in, fetch, spread

NOT_NULL, TEXT = "expect_column_values_to_not_be_null", "expect_column_values_to_match_regex"
BETWEEN = "expect_column_values_to_be_between"
SUITE = f"""
fields:
  name:
    {NOT_NULL}: {{}}
    {TEXT}: {{regex: '\\S'}}
  price:
    {BETWEEN}: {{min_value: 0}}
  seller.name:
    {NOT_NULL}: {{}}
"""
GOOD = {"name": "lamp", "price": 3, "seller": {"name": "Ada"}}
SHOP, OTHER = "shop.example", "other.example"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    made = bench_in(tmp_path)
    made.suite("product", SUITE)
    return made


def test_failing_items_are_counted_back_to_site_window_field_and_expectation(
    bench: Bench,
) -> None:
    bench.land(
        *spread(DAY, [GOOD, {**GOOD, "price": -1}, {**GOOD, "name": " "}, None]),
        *spread(DAY + HOUR, [GOOD, [GOOD, {**GOOD, "seller": {}}], [], {}]),
        *spread(DAY, [GOOD, {**GOOD, "name": None, "price": -5}], site=OTHER),
        # Not tried, not delivered, and a canary's.
        fetch(DAY),
        fetch(DAY, GOOD, status=404),
        fetch(DAY, GOOD, status=403),
        fetch(DAY, GOOD, canary="c1"),
    )
    report = bench.run(DAY, DAY + 2 * HOUR)
    assert (report.windows, report.extractions, report.valid) == (3, 11, 4)
    assert bench.extractions() == {
        (SHOP, DAY): (4, 1),
        (SHOP, DAY + HOUR): (5, 2),
        (OTHER, DAY): (2, 1),
    }
    assert bench.checks(site=SHOP, window_start=DAY, page_type="product") == {
        ("", HOLDS_A_VALUE): (4, 1),
        ("name", NOT_NULL): (3, 0),
        ("name", TEXT): (3, 1),
        ("price", BETWEEN): (3, 1),
        ("seller.name", NOT_NULL): (3, 0),
    }
    assert bench.checks(site=SHOP, window_start=DAY + HOUR) == {
        ("", HOLDS_A_VALUE): (5, 2),
        ("name", NOT_NULL): (4, 1),
        ("name", TEXT): (3, 0),
        ("price", BETWEEN): (3, 0),
        ("seller.name", NOT_NULL): (4, 2),
    }
    assert bench.checks(site=OTHER)["name", NOT_NULL] == (2, 1)
    assert bench.checks(site=OTHER)["price", BETWEEN] == (2, 1)


def test_items_of_any_shape_cost_themselves_alone(bench: Bench) -> None:
    deep: Any = "x"
    for _ in range(500):
        deep = {"d": deep}
    odd = [
        "a title",
        17,
        [1, "two", None, [GOOD]],
        {"name": ["lamp"], "price": "12,50", "seller": "Ada"},
        {"name": {"first": "lamp"}, "price": [1], "seller": {"name": 7}},
        deep,
        {f"key {n}": n for n in range(10_000)},
        {"seller.name": "dotted", "name": "größe \ud83d", "price": 10**40},
        {"name": "ok", "price": True, "seller": {"name": "\x00"}},
    ]
    bench.land(*spread(DAY, [*odd, GOOD]))
    report = bench.run(DAY, DAY + HOUR)
    assert (report.extractions, report.notes) == (13, ())
    assert bench.extractions() == {(SHOP, DAY): (13, 3)}
    found = bench.checks()
    assert found["", HOLDS_A_VALUE] == (13, 6)
    assert found["price", BETWEEN] == (5, 2)
    assert found["name", NOT_NULL] == (7, 2)
    assert found["seller.name", NOT_NULL] == (7, 3)


def test_a_broken_suite_stops_its_page_type_until_it_is_mended(bench: Bench) -> None:
    bench.suite("listing", "fields: {name: {expect_nothing: {}}}")
    bench.land(
        *spread(DAY, [GOOD, {}]),
        *spread(DAY, [GOOD, [GOOD, {}]], page_type="listing"),
        *spread(DAY, [GOOD], page_type="unheard of"),
    )
    report = bench.run(DAY, DAY + HOUR)
    assert (report.extractions, report.valid, report.unchecked) == (3, 2, 2)
    (note,) = report.notes
    assert note.startswith("Not validated: page type listing (2 items): listing.yaml: fields")
    (left_out,) = bench.rows("SELECT site, window_start, page_type, items FROM unchecked_items")
    assert left_out == {
        "site": SHOP,
        "window_start": DAY,
        "page_type": "listing",
        "items": 2,
    }
    assert bench.validate().windows == 0
    bench.suite("listing", SUITE)
    # A run of a later hour finds what was left out.
    assert bench.validate(start=DAY + 30 * HOUR).windows == 1
    assert bench.extractions() == {(SHOP, DAY): (6, 4)}
    assert bench.rows("FROM unchecked_items") == []


def test_a_suite_that_great_expectations_refuses_is_broken_too(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = validation.expectation_of

    def refuse_price(check: Any, column: str) -> Any:
        if check.field == "price":
            raise validation.CannotValidate("price: not like that")
        return real(check, column)

    bench.suite("listing", "fields: {name: {expect_column_values_to_not_be_null: {}}}")
    bench.land(*spread(DAY, [GOOD, None]), *spread(DAY, [GOOD], page_type="listing"))
    monkeypatch.setattr(validation, "expectation_of", refuse_price)
    report = bench.run(DAY, DAY + HOUR)
    assert (report.extractions, report.unchecked) == (1, 2)
    assert report.notes == (
        "Not validated: page type product (2 items): product: price: not like that",
    )


def test_without_great_expectations_nothing_is_lost(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> Any:
        raise ImportError("no module named great_expectations")

    bench.land(*spread(DAY, [GOOD, GOOD]))
    with monkeypatch.context() as patch:
        patch.setattr(validation, "great_expectations", missing)
        report = bench.run(DAY, DAY + HOUR)
    assert (report.extractions, report.unchecked) == (0, 2)
    report = bench.validate()
    assert (report.extractions, report.unchecked) == (2, 0)


def test_validating_again_changes_nothing_and_late_rows_touch_their_window_only(
    bench: Bench,
) -> None:
    bench.land(*spread(DAY, [GOOD, {}]), *spread(DAY + HOUR, [GOOD]))
    bench.land(*spread(DAY, [GOOD], site=OTHER))
    assert bench.run(DAY, DAY + 2 * HOUR).windows == 3
    before = bench.everything()
    assert bench.run(DAY, DAY + 2 * HOUR).windows == 0
    assert bench.everything() == before
    # Late rows make the site's later windows again as well, but those hold what they held.
    bench.land(fetch(DAY + timedelta(minutes=30), {"name": "late"}))
    report = bench.run(DAY + 2 * HOUR, DAY + 3 * HOUR)
    assert report.windows == 1
    assert bench.extractions() == {
        (SHOP, DAY): (3, 1),
        (SHOP, DAY + HOUR): (1, 1),
        (OTHER, DAY): (1, 1),
    }
    assert bench.checks(site=SHOP, window_start=DAY)["seller.name", NOT_NULL] == (3, 2)


def test_another_window_length_takes_the_place_of_the_last(bench: Bench, tmp_path: Path) -> None:
    items = [GOOD, {}, GOOD]
    for number, item in enumerate(items):
        bench.land(fetch(DAY + timedelta(minutes=25 * number), item))
    bench.run(DAY, DAY + 24 * HOUR)
    assert bench.extractions() == {(SHOP, DAY): (3, 2)}
    for minutes, expected in (
        (20, {0: (1, 1), 20: (1, 0), 40: (1, 1)}),
        (15, {0: (1, 1), 15: (1, 0), 45: (1, 1)}),
        (1440, {0: (3, 2)}),
    ):
        bench.configuration = bench_in(tmp_path / str(minutes), minutes).configuration
        bench.run(DAY, DAY + 24 * HOUR)
        assert bench.extractions() == {
            (SHOP, DAY + timedelta(minutes=start)): counts for start, counts in expected.items()
        }
        assert bench.checks()["", HOLDS_A_VALUE] == (3, 1)


def test_windows_without_checks_are_found_however_old(bench: Bench) -> None:
    """A backfill validates what has no checks; a run over new hours looks at those alone."""
    bench.land(*spread(DAY, [GOOD]), *spread(DAY + 5 * HOUR, [GOOD]))
    bench.make(DAY, DAY + 6 * HOUR)
    # As an older warehouse is when it learns of checks.
    bench.rows("DELETE FROM rescore_sites")
    bench.rows("INSERT INTO model_progress VALUES ('extraction', TIMESTAMP '2026-03-02 06:00:00')")
    assert bench.validate(start=DAY + 6 * HOUR).windows == 0
    assert bench.validate(start=DAY + 4 * HOUR).windows == 1
    assert bench.validate(start=DAY).windows == 1


def test_changed_extractions_of_scored_windows_ask_for_new_scores(bench: Bench) -> None:
    bench.land(*spread(DAY, [GOOD]), *spread(DAY, [GOOD], site=OTHER, page_type="listing"))
    bench.suite("listing", "fields: 3")
    bench.make(DAY, DAY + HOUR)
    bench.rows("INSERT INTO model_progress VALUES ('scores v', TIMESTAMP '2026-03-02 01:00:00')")
    bench.validate()
    assert bench.rows("FROM rescore_sites") == [{"site": SHOP, "since_at": DAY}]
    bench.rows("DELETE FROM rescore_sites")
    bench.suite("listing", SUITE)
    bench.validate()
    assert bench.rows("FROM rescore_sites") == [{"site": OTHER, "since_at": DAY}]


def test_data_docs_keep_the_last_runs(tmp_path: Path) -> None:
    bench = bench_in(tmp_path, data_docs_runs_kept=2)
    bench.suite("product", SUITE)
    for hour in range(4):
        bench.land(*spread(DAY + hour * HOUR, [GOOD, {"name": "<b>&\ud83d"}]))
        bench.make(DAY + hour * HOUR, DAY + (hour + 1) * HOUR)
        report = bench.validate(now=NOW + hour * HOUR)
    docs = bench.home.data_docs
    assert report.data_docs == docs / "index.html"
    assert report.lines()[1] == f"Data Docs: {report.data_docs.as_uri()}"
    pages = sorted(docs.glob("validations/*/*/*/*.html"))
    assert [page.parts[-3] for page in pages] == ["20260320T020000Z", "20260320T030000Z"]
    assert len(list(bench.home.data_docs_store.glob("results/**/*.json"))) == 2
    index = report.data_docs.read_text(encoding="utf-8")
    for page in pages:
        assert page.parts[-3] in index
    assert "20260320T010000Z" not in index
    assert len(bench.extractions()) == 4


def test_documents_that_cannot_be_written_cost_no_checks(bench: Bench) -> None:
    bench.home.root.mkdir(parents=True)
    bench.home.data_docs.write_text("in the way", encoding="utf-8")
    bench.land(*spread(DAY, [GOOD]))
    report = bench.run(DAY, DAY + HOUR)
    assert (report.extractions, report.valid, report.data_docs) == (1, 1, None)
    assert report.notes[0].startswith("Data Docs were not written: ")


@pytest.mark.parametrize("limit", [{"items_per_run": 3}, {"item_megabytes_per_run": 1}])
def test_large_hours_are_validated_in_several_runs(tmp_path: Path, limit: dict[str, int]) -> None:
    bench = bench_in(tmp_path, **limit)
    bench.suite("product", SUITE)
    bulky = {**GOOD, "text": "x" * 300_000} if "item_megabytes_per_run" in limit else GOOD
    bench.land(*spread(DAY, [bulky, {}, bulky, bulky, None, bulky, bulky, {}]))
    report = bench.run(DAY, DAY + HOUR)
    assert (report.windows, report.extractions, report.valid) == (1, 8, 5)
    assert bench.checks()["", HOLDS_A_VALUE] == (8, 3)


def test_a_killed_run_leaves_whole_windows(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    from target_health.extraction import step

    def die(*_: object, **__: object) -> Any:
        raise TargetHealthError("killed")

    bench.land(*spread(DAY, [GOOD, {}]), *spread(DAY, [GOOD], page_type="unheard of"))
    with monkeypatch.context() as patch:
        patch.setattr(step, "store_tally", die)
        with pytest.raises(TargetHealthError, match="killed"):
            bench.run(DAY, DAY + HOUR)
    assert bench.extractions() == {}
    bench.validate()
    assert bench.extractions() == {(SHOP, DAY): (3, 2)}
    assert sum(row["records"] for row in bench.rows("FROM field_coverage WHERE field = ''")) == 1


def test_a_redesign_of_one_page_type_lowers_its_validity(tmp_path: Path) -> None:
    end = datetime(2026, 3, 3)
    turn = end - 6 * HOUR
    rhythm = Rhythm(fetches_per_hour=60, swing=0.0)
    sites = [
        SitePlan(
            draw_profile(number, name, seed=5, kind="shop", rhythm=rhythm),
            (Trouble("redesign", turn, page_type="product"),) if name == SHOP else (),
        )
        for number, name in enumerate((SHOP, OTHER))
    ]
    bench = bench_in(tmp_path)
    bench.suites = SHIPPED_EXPECTATIONS
    simulate_plan(
        Plan(seed=5, start=end - 12 * HOUR, end=end, sites=tuple(sites)),
        Home(bench.home.root).inbox,
    )
    bench.land()
    bench.run(end - 12 * HOUR, end)
    shares = {
        (row["site"], row["page_type"], row["is_after"]): row["share"]
        for row in bench.rows(
            "SELECT site, page_type, window_start >= TIMESTAMP '2026-03-02 18:00:00' AS is_after,"
            " sum(failed) / sum(checked) AS share FROM extraction_checks"
            f" WHERE field = 'name' AND expectation = '{TEXT}' GROUP BY ALL"
        )
    }
    assert shares.pop((SHOP, "product", True)) > 0.8
    assert max(shares.values()) < 0.1
    valid = {
        (row["site"], row["is_after"]): row["share"]
        for row in bench.rows(
            "SELECT site, window_start >= TIMESTAMP '2026-03-02 18:00:00' AS is_after,"
            " sum(valid) / sum(extractions) AS share FROM extraction_windows GROUP BY ALL"
        )
    }
    assert valid[SHOP, False] > 0.85
    assert valid[SHOP, True] < valid[SHOP, False] - 0.3
    assert abs(valid[OTHER, True] - valid[OTHER, False]) < 0.1
