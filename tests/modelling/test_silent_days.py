"""Logs of years apart cost what they hold, not the years between."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

from target_health.modelling import make_scores, make_windows
from target_health.modelling.ranges import Range
from target_health.paths import Home
from target_health.warehouse.rows import rows_of
from tests.modelling.warehouses import configuration_with, make_warehouse, put_fetches

OLD, NEW = datetime(2012, 8, 24, 15), datetime(2016, 3, 31, 14)


def test_years_of_silence_make_no_pieces(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    connection = make_warehouse(home)
    fetches = [
        {
            "site": site,
            "ts": at + timedelta(seconds=second),
            "url": "u",
            "status": 200,
            "verdict": "ok",
        }
        for site, at in (("old.example", OLD), ("new.example", NEW))
        for second in range(60)
    ]
    put_fetches(connection, home, fetches)
    configuration = configuration_with(tmp_path / "config")
    said: list[str] = []
    asked = Range(NEW, NEW + timedelta(hours=1))
    assert make_windows(connection, home, configuration, asked, said.append) == asked.end
    assert make_scores(connection, configuration, asked, said.append) == asked.end
    assert len(said) == 4
    scored = rows_of(connection, "SELECT site, window_start FROM site_scores ORDER BY site")
    assert scored == [
        {"site": "new.example", "window_start": NEW},
        {"site": "old.example", "window_start": OLD},
    ]
    sites = rows_of(connection, "SELECT site, last_fetch_at FROM known_sites ORDER BY site")
    assert [row["last_fetch_at"] for row in sites] == [
        NEW + timedelta(seconds=59),
        OLD + timedelta(seconds=59),
    ]
