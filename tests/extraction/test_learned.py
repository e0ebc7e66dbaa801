"""Page types without a suite: fields that were always there. Great Expectations is not asked."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from target_health.extraction import validation
from target_health.extraction.rules import HOLDS_A_VALUE, LEARNED
from tests.extraction.conftest import DAY, HOUR, Bench, bench_in, fetch, spread

LATER = DAY + timedelta(days=3)
WHOLE = {"name": "lamp", "price": 3, "seller": {"name": "Ada"}}


@pytest.fixture(autouse=True)
def without_great_expectations(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> Any:
        raise AssertionError("Great Expectations was imported")

    monkeypatch.setattr(validation, "great_expectations", refuse)


def usual(number: int) -> dict[str, Any]:
    return WHOLE if number % 2 else {**WHOLE, "colour": "red"}


def test_what_was_always_there_is_expected_and_what_was_not_is_not(bench: Bench) -> None:
    bench.land(*spread(DAY, map(usual, range(60))))
    bench.run(DAY, DAY + HOUR)
    assert bench.extractions() == {("shop.example", DAY): (60, 60)}
    assert bench.checks() == {("", HOLDS_A_VALUE): (60, 0)}
    lacking = {**WHOLE, "seller": {"name": ""}}
    bench.land(*spread(LATER, [WHOLE, WHOLE, lacking, {"name": "x"}, {}, None]))
    bench.run(LATER, LATER + HOUR)
    assert bench.extractions()["shop.example", LATER] == (6, 2)
    assert bench.checks(window_start=LATER) == {
        ("", HOLDS_A_VALUE): (6, 2),
        ("name", LEARNED): (5, 1),
        ("price", LEARNED): (5, 2),
        ("seller.name", LEARNED): (5, 3),
    }


def test_each_site_and_page_type_has_its_own(bench: Bench) -> None:
    bench.land(
        *spread(DAY, [WHOLE] * 60),
        *spread(DAY, [{"title": "x"}] * 60, page_type="article"),
        *spread(DAY, [{"name": "x"}] * 60, site="other.example"),
        *spread(DAY, [{"name": "x"}] * 60, page_type=None),
    )
    bench.land(
        *spread(LATER, [{"name": "y"}]),
        *spread(LATER, [{"name": "y"}], page_type="article"),
        *spread(LATER, [{"name": "y"}], site="other.example"),
        *spread(LATER, [{"name": "y"}], page_type=None),
    )
    bench.run(DAY, LATER + HOUR)
    assert bench.extractions()["shop.example", LATER] == (3, 1)
    assert bench.extractions()["other.example", LATER] == (1, 1)


def test_one_odd_record_in_a_hundred_unlearns_nothing(bench: Bench) -> None:
    bench.land(*spread(DAY, [WHOLE] * 198 + [{"name": "x"}] * 2))
    bench.land(*spread(LATER, [{"name": "x"}]))
    bench.run(DAY, LATER + HOUR)
    assert ("price", LEARNED) in bench.checks(window_start=LATER)


def test_too_few_records_teach_nothing(bench: Bench) -> None:
    bench.land(*spread(DAY, [WHOLE] * 49), *spread(LATER, [{"name": "x"}]))
    bench.run(DAY, LATER + HOUR)
    assert bench.checks(window_start=LATER) == {("", HOLDS_A_VALUE): (1, 0)}


def test_the_latest_day_teaches_nothing(bench: Bench) -> None:
    bench.land(*spread(DAY, [WHOLE] * 60), *spread(DAY + 25 * HOUR, [{"name": "x"}]))
    bench.run(DAY, LATER)
    assert bench.extractions()["shop.example", DAY + 25 * HOUR] == (1, 1)


def test_items_keyed_by_data_stay_bounded(tmp_path: Path) -> None:
    bench = bench_in(tmp_path, fields_kept=5)
    bench.land(
        *spread(DAY, [{f"key {n}": 1 for n in range(2000)} for _ in range(3)]),
        fetch(DAY + HOUR / 2, {"ключ.с.точкой": 1, "\ud83d": 2, "": 3}),
    )
    report = bench.run(DAY, DAY + HOUR)
    assert (report.extractions, report.valid) == (4, 4)
    assert len(bench.rows("FROM field_coverage")) == 6


def test_any_order_of_days_ends_in_the_same(tmp_path: Path) -> None:
    """Earlier items that come later teach what later windows are judged by."""
    days = [DAY, DAY + timedelta(days=2), DAY + timedelta(days=4)]
    logs = [
        spread(days[0], [WHOLE] * 60),
        spread(days[1], [{"name": "x", "size": 1}] * 100 + [WHOLE] * 20),
        spread(days[2], [{"name": "x", "size": 1}, {"size": 2}, WHOLE]),
    ]
    at_once, piecewise = bench_in(tmp_path / "once"), bench_in(tmp_path / "pieces")
    at_once.land(*logs[0], *logs[1], *logs[2])
    at_once.run(DAY, days[2] + HOUR)
    for part in (2, 0, 1):
        piecewise.land(*logs[part])
        piecewise.run(days[part], days[part] + HOUR)
    assert piecewise.everything() == at_once.everything()
    assert at_once.extractions() == {
        ("shop.example", days[0]): (60, 60),
        ("shop.example", days[1]): (120, 20),
        ("shop.example", days[2]): (3, 2),
    }
