"""Which hours a DAG run is for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_health.times import HOUR


def hours(start: datetime | None, end: datetime | None, run_after: datetime):
    from target_health.airflow_bridge import hours_of_run

    return hours_of_run(start, end, run_after)


def at(hour: int, minute: int = 0, second: int = 0) -> datetime:
    return datetime(2026, 5, 1, hour, minute, second, tzinfo=UTC)


def naive(hour: int) -> datetime:
    return datetime(2026, 5, 1, hour)


def test_interval_is_floored_to_full_hours() -> None:
    found = hours(at(10, 5), at(11, 5), at(11, 5))
    assert (found.start, found.end) == (naive(10), naive(11))


def test_interval_of_days_keeps_its_length() -> None:
    found = hours(at(0, 5) - timedelta(days=3), at(11, 5), at(11, 5))
    assert (found.start, found.end) == (naive(0) - timedelta(days=3), naive(11))


def test_run_without_interval_takes_the_last_complete_hour() -> None:
    found = hours(None, None, at(11, 59, 59))
    assert (found.start, found.end) == (naive(10), naive(11))
    found = hours(None, None, at(11))
    assert (found.start, found.end) == (naive(10), naive(11))


def test_interval_within_one_hour_takes_the_hour_before_its_end() -> None:
    found = hours(at(10, 5), at(10, 40), at(10, 40))
    assert (found.start, found.end) == (naive(9), naive(10))


def test_other_time_zones_are_read_as_utc() -> None:
    india = timezone(timedelta(hours=5, minutes=30))
    found = hours(at(10, 5).astimezone(india), at(11, 5).astimezone(india), at(11, 5))
    assert (found.start, found.end) == (naive(10), naive(11))


@given(
    st.datetimes(datetime(2001, 1, 1), datetime(2099, 1, 1)),
    st.timedeltas(timedelta(0), timedelta(days=40)),
)
def test_range_is_of_whole_hours_that_are_over(start: datetime, length: timedelta) -> None:
    end = start + length
    found = hours(start.replace(tzinfo=UTC), end.replace(tzinfo=UTC), end.replace(tzinfo=UTC))
    assert found.start < found.end <= end
    assert end - found.end < HOUR
    assert (found.end - found.start) % HOUR == timedelta(0)
    assert found.start <= start


def test_pages_go_to_the_addresses_of_environment_and_connections(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from target_health import airflow_bridge

    monkeypatch.setenv("TARGET_HEALTH_PAGE_URLS", "crawl=json://env.example")
    password = '{"conn_type": "generic", "password": "json://a.example json://b.example"}'
    monkeypatch.setenv("AIRFLOW_CONN_TARGET_HEALTH_PAGES", password)
    extra = '{"conn_type": "generic", "extra": {"urls": ["json://c.example"]}}'
    monkeypatch.setenv("AIRFLOW_CONN_TARGET_HEALTH_PAGES_PROXY", extra)
    found = [(one.url, one.owner) for one in airflow_bridge.page_targets()]
    assert found == [
        ("json://env.example", "crawl"),
        ("json://a.example", None),
        ("json://b.example", None),
        ("json://c.example", "proxy"),
    ]


def test_an_answer_is_read_with_blanks_where_it_says_nothing() -> None:
    from target_health import airflow_bridge as bridge

    answer = {"params_input": {"why": " agreed ", "until": "2026-02-01", "normal_from": None}}
    assert bridge.said_in(answer, "why") == "agreed"
    assert bridge.time_in(answer, "until") == datetime(2026, 2, 1)
    assert bridge.time_in(answer, "normal_from") is None
    assert bridge.said_in({"params_input": None}, "why") == ""
    assert bridge.person_in({"responded_by_user": {"id": "7", "name": "kim"}}) == "kim"
    assert bridge.person_in({"responded_by_user": None}) == "unknown"
