"""Each benchmark once, at a tiny scale: that it measures what it says. Never how long it takes."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import duckdb
import pytest

from target_health.benchmarks import canary_runs, hourly, landings, page_verdicts
from target_health.benchmarks.crawls import crawl_overhead
from target_health.benchmarks.dashboard import dashboard_pages
from target_health.benchmarks.dashboard_piece import ask_pages
from target_health.benchmarks.duckdb_floor import COLUMNS, duckdb_alone
from target_health.benchmarks.job_piece import run_hour, run_hour_without
from target_health.benchmarks.logs import compress, make_long_log
from target_health.benchmarks.made_pages import article_page
from target_health.benchmarks.measuring import measure
from target_health.benchmarks.page_pieces import read_archive
from target_health.benchmarks.pandas_formula import pandas_alone
from target_health.benchmarks.results import Result
from target_health.benchmarks.workbench import END, Workbench
from target_health.errors import TargetHealthError
from target_health.paths import Home
from target_health.times import HOUR
from tests.benchmarks.conftest import TINY

START = END - HOUR


def names_of(results: list[Result]) -> list[str]:
    return [result.name for result in results]


def test_the_history_is_what_a_run_up_to_the_hour_would_have_left(bench: Workbench) -> None:
    home = Home(bench.history(TINY.history_days))
    with duckdb.connect(str(home.published), read_only=True) as connection:
        windows = connection.execute(
            "SELECT count(DISTINCT site), min(window_start), max(window_end),"
            " bool_and(requests = judged + unknown + redirects), sum(judged) FROM site_windows"
        ).fetchone()
        same = connection.execute(
            "SELECT (SELECT count(*) FROM site_windows), (SELECT count(*) FROM site_scores),"
            " (SELECT count(*) FROM site_baselines),"
            " (SELECT count(*) FROM (SELECT DISTINCT site, window_start FROM site_windows))"
        ).fetchone()
        routes = connection.execute(
            "SELECT min(window_start), max(window_end), count(DISTINCT dimension),"
            " bool_and(requests = judged + unknown + redirects), count(*) FROM route_windows"
        ).fetchone()
        states = connection.execute("SELECT count(*) FROM site_state").fetchone()
        lake = connection.execute("SELECT count(DISTINCT hour_start) FROM lake_files").fetchone()
        profiles = connection.execute("SELECT count(DISTINCT site) FROM page_profiles").fetchone()
    assert windows is not None
    sites, first, last, adds_up, judged = windows
    assert (sites, last, adds_up) == (TINY.sites, START, True)
    assert first <= START - timedelta(days=TINY.history_days)
    hours = (last - first) / HOUR
    assert judged == pytest.approx(TINY.fetches * hours, rel=0.15)
    assert same is not None
    assert len(set(same)) == 1
    assert routes is not None
    assert routes[:4] == (first, last, 5, True)
    assert routes[4] > 10 * same[0]
    assert (states, profiles) == ((TINY.sites,), (TINY.sites,))
    assert lake == (hours,)


@pytest.mark.slow
def test_hourly_job_gives_its_times_and_its_memory(bench: Workbench) -> None:
    job, routes, whole, memory = hourly.hourly_job(bench)
    assert [(result.name, result.unit, result.target) for result in (job, routes, whole)] == [
        ("hourly_job", "s", 2.5),
        ("route_models", "s", 1.25),
        ("whole_hourly_job", "s", 3.125),
    ]
    assert job.value is not None
    assert job.floor is not None
    assert job.ratio == pytest.approx(job.value / job.floor)
    assert job.holds is (job.ratio <= 2.5)
    assert (routes.value, routes.floor) == (whole.value, job.value)
    assert whole.floor == job.floor
    assert (memory.name, memory.unit, memory.floor, memory.target) == (
        "hourly_job_memory",
        "GB",
        None,
        2.0,
    )
    assert memory.holds is True


@pytest.mark.slow
def test_a_job_that_leaves_out_fetches_is_not_measured(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The log's hour has not begun by then: it lands, and no window is made of it.
    monkeypatch.setattr(hourly, "END", START)
    with pytest.raises(TargetHealthError, match="did not do its work"):
        hourly.measured_job(bench, TINY.fetches, TINY.history_days)


def test_the_floor_reads_every_fetch(bench: Workbench) -> None:
    log = bench.hour_log(TINY.fetches)
    out = bench.directory / "floor.parquet"
    report = duckdb_alone(str(log), str(out))
    assert report == {"rows": TINY.fetches, "windows": 4 * TINY.sites}
    assert not out.exists()
    with duckdb.connect() as connection:
        names = connection.sql(f"SELECT * FROM read_json('{log}', format='nd')").columns
    assert set(names) <= set(COLUMNS)


@pytest.mark.slow
def test_route_models_can_be_left_out_of_the_job(bench: Workbench) -> None:
    home = bench.home_with(
        bench.hour_log(TINY.fetches), history=bench.history(TINY.history_days, routes=False)
    )
    run_hour_without(str(home), END.isoformat(), hourly.ROUTE_MODELS)
    with duckdb.connect(str(Home(home).published), read_only=True) as connection:
        tables = ("route_windows", "site_windows")
        counts = [connection.execute(f"SELECT count(*) FROM {t}").fetchone() for t in tables]
    assert counts[0] == (0,)
    assert counts[1] != (0,)


@pytest.mark.slow
def test_pandas_comes_to_the_jobs_own_scores(bench: Workbench) -> None:
    """No flags, stretched periods or soft blocks from history here: what is left is the formula."""
    log, history = bench.hour_log(TINY.fetches), bench.history(TINY.history_days)
    home = Home(bench.home_with(log, history=history))
    measure(run_hour, home=str(home.root), end=END.isoformat())
    with duckdb.connect(str(home.published), read_only=True) as connection:
        expected = connection.execute(
            "SELECT site, window_start, score FROM site_scores"
            " WHERE window_start >= ? AND score IS NOT NULL ORDER BY ALL",
            [START],
        ).fetchall()
    report = pandas_alone(str(log), str(history), START.isoformat())
    found = {(site, moment): score for site, moment, score in report["scores"]}
    assert expected
    ours = {(site, moment.isoformat()): score for site, moment, score in expected}
    assert {key: found[key] for key in ours} == ours


@pytest.mark.slow
def test_pandas_formula_has_no_target(bench: Workbench) -> None:
    (result,) = hourly.pandas_formula(bench)
    assert (result.name, result.target, result.holds) == ("pandas_formula", None, None)
    assert result.ratio


@pytest.mark.slow
def test_growth_compares_the_job_with_itself(bench: Workbench) -> None:
    (events,) = hourly.growth_events(bench)
    (history,) = hourly.growth_history(bench)
    assert (events.name, events.target) == ("growth_events", 4.4)
    assert (history.name, history.target) == ("growth_history", 1.3)
    left = {path.name for path in bench.directory.iterdir()}
    assert f"hour-{2 * TINY.fetches}.jsonl" not in left
    assert f"history-{2 * TINY.history_days}" not in left


def test_a_long_log_holds_no_line_twice(bench: Workbench) -> None:
    out = bench.directory / "twice.jsonl"
    lines = make_long_log(bench.hour_log(TINY.fetches), END, out, TINY.log_bytes)
    rows = out.read_text().splitlines()
    assert TINY.fetches < lines == len(rows) == len(set(rows))
    assert TINY.log_bytes <= out.stat().st_size
    out.unlink()


@pytest.mark.slow
def test_landings_land_every_line(bench: Workbench) -> None:
    (memory,) = landings.landing_memory(bench)
    (packed,) = landings.gzip_landing(bench)
    assert (memory.name, memory.unit, memory.target) == ("landing_memory", "GB", 1.5)
    assert (packed.name, packed.target) == ("gzip_landing", 1.3)
    log = bench.hour_log(TINY.fetches)
    with pytest.raises(TargetHealthError, match="landed"):
        landings.measured_landing(bench, log, TINY.fetches + 1, END)


def test_gzip_keeps_the_log(bench: Workbench) -> None:
    import gzip

    log = bench.hour_log(TINY.fetches)
    packed = compress(log)
    assert gzip.decompress(packed.read_bytes()) == log.read_bytes()
    packed.unlink()


@pytest.mark.slow
def test_page_benchmarks_judge_every_page(bench: Workbench) -> None:
    (pages,) = page_verdicts.classify_pages(bench)
    (records,) = page_verdicts.warc_records(bench)
    assert (pages.name, pages.unit, pages.target) == ("classify_pages", "pages/s", 600)
    assert (records.name, records.unit, records.target) == ("warc_records", "records/s", None)
    for result in (pages, records):
        assert result.value is not None
        assert result.floor is not None
        assert result.ratio == pytest.approx(result.floor / result.value)


@pytest.mark.slow
def test_canaries_that_hang_cost_themselves_alone(bench: Workbench) -> None:
    time, memory = canary_runs.canary_run(bench)
    assert (time.name, time.unit, time.target) == ("canary_run", "s", 60.0)
    assert (memory.name, memory.unit, memory.target) == ("canary_run_memory", "MB", 300)
    assert memory.holds is True


@pytest.mark.parametrize("seed", range(5))
def test_a_made_page_is_an_article_of_its_size(seed: int) -> None:
    from target_health.pages import Response, classify

    page = article_page(seed, 60_000)
    assert len(page) == pytest.approx(60_000, rel=0.05)
    assert page == article_page(seed, 60_000)
    verdict = classify(Response(200, page))
    assert (verdict.verdict, verdict.paywall) == ("ok", "FREE")
    assert verdict.text_length > 10_000


def test_a_piece_that_fails_says_why(tmp_path: Path) -> None:
    with pytest.raises(TargetHealthError, match=r"read_archive ended with status 1: .*missing"):
        measure(read_archive, path=str(tmp_path / "missing.warc"))


@pytest.mark.slow
def test_a_crawl_with_the_add_on_stands_beside_the_same_without(bench: Workbench) -> None:
    pytest.importorskip("scrapy")
    overhead, growth = crawl_overhead(bench)
    assert (overhead.name, growth.name) == ("crawl_overhead", "crawl_memory_growth")
    assert overhead.value is not None
    assert overhead.floor is not None
    assert overhead.ratio == overhead.value / overhead.floor
    assert growth.value is not None
    assert growth.value > 0


@pytest.mark.slow
def test_dashboard_gives_the_time_of_its_pages_and_its_memory(bench: Workbench) -> None:
    fleet, site, memory = dashboard_pages(bench)
    assert [(result.name, result.unit, result.target) for result in (fleet, site, memory)] == [
        ("dashboard_fleet", "ms", 300),
        ("dashboard_site", "ms", 400),
        ("dashboard_memory", "MB", 300),
    ]
    for result in (fleet, site, memory):
        assert result.value is not None
        assert result.target is not None
        assert result.value > 0
        assert result.holds is (result.value <= result.target)
    assert not (bench.directory / "dashboard").exists()


def test_a_page_that_is_not_answered_is_not_measured(tmp_path: Path) -> None:
    with pytest.raises(TargetHealthError, match="status 503"):
        ask_pages(str(tmp_path), 1)
