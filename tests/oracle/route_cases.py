"""Adversarial histories of sites that are crawled over several routes."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from .cases import DAY, HOUR, START, Case, fetch, steps, window
from .numbers import Numbers

GATEWAYS = ("gw-a", "gw-b", "gw-c")
COUNTRIES = ("de", "us")
POOLS = ("datacenter", "residential")
FAILURES = ("hard", "challenge", "soft", "unknown", "server")
# A trouble gives the share of fetches of a cell (gateway, country, pool) that fail, and how.
Struck = tuple[float, str] | None
Trouble = Callable[[datetime, str, str, str], Struck]


def route_row(
    row: dict[str, Any], dimension: str, value: str, *, rest_p95: float
) -> dict[str, Any]:
    """A row of ``route_windows`` from one as ``site_windows`` has them."""
    return {**row, "dimension": dimension, "value": value, "rest_p95_latency_ms": rest_p95}


def routed(
    rng: random.Random,
    site: str,
    start: datetime,
    minutes: int,
    cells: Mapping[tuple[str, str, str], int],
    trouble: Trouble,
    *,
    failing: float = 0.03,
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A row of ``site_windows`` and its rows of ``route_windows``; p95 are made up."""
    counts: dict[tuple[str, str], dict[str, int]] = {}
    whole = dict.fromkeys((*FAILURES, "judged", "redirects"), 0)
    for (gateway, country, pool), fetches in cells.items():
        cell = dict.fromkeys(whole, 0)
        struck = trouble(start, gateway, country, pool)
        for _ in range(fetches):
            draw, kind = rng.random(), None
            if struck is not None and draw < struck[0]:
                kind = struck[1]
            elif rng.random() < failing:
                kind = rng.choice(FAILURES)
            elif rng.random() < 0.03:
                kind = "redirects"
            if kind is not None:
                cell[kind] += 1
            if kind not in ("unknown", "redirects"):
                cell["judged"] += 1
        for key in (("gateway", gateway), ("country", country), ("pool", pool)):
            if key[1]:
                sums = counts.setdefault(key, dict.fromkeys(whole, 0))
                for name, number in cell.items():
                    sums[name] += number
        for name, number in cell.items():
            whole[name] += number
    row = window(site, start, minutes, **whole, p95=rng.choice((300.0, 400.0, 900.0)))
    rows = [
        route_row(
            window(site, start, minutes, **numbers, p95=500.0),
            dimension,
            value,
            rest_p95=rng.choice((200.0, 500.0, 1500.0)),
        )
        for (dimension, value), numbers in counts.items()
        if numbers["judged"] + numbers["unknown"] + numbers["redirects"] > 0
    ]
    return row, rows


def _extracted(rng: random.Random, row: dict[str, Any], broken: float) -> dict[str, Any] | None:
    tried = rng.randrange(row["ok"] + 1) if rng.random() < 0.2 else row["ok"]
    if rng.random() < 0.03:
        return None
    valid = sum(rng.random() >= broken for _ in range(tried))
    return {
        "site": row["site"],
        "window_start": row["window_start"],
        "extractions": tried,
        "valid": valid,
    }


def _routed_case(name: str, seed: int, minutes: int, troubles: Mapping[str, Trouble]) -> Case:
    """Five days of each site, the last with its trouble; every site also redesigns its pages."""
    rng = random.Random(seed)
    windows, routes, extractions = [], [], []
    turn = START + 4 * DAY
    for number, (site, trouble) in enumerate(troubles.items()):
        width = (12, 7, 16)[number % 3] * minutes // 15
        for at in steps(START, START + 5 * DAY, minutes):
            cells = {
                (gateway, country, pool): rng.randrange(width)
                for gateway in GATEWAYS
                for country in COUNTRIES
                for pool in POOLS
            }
            now = trouble if at >= turn else lambda *cell: None
            row, rows = routed(rng, site, at, minutes, cells, now)
            if rng.random() < 0.5:
                row["credits"] = 2.5 * row["requests"]
            if row["requests"] == 0:
                continue
            redesigned = turn + 6 * HOUR <= at < turn + 9 * HOUR
            extracted = _extracted(rng, row, 0.4 if redesigned else 0.03)
            windows.append(row)
            routes += rows
            extractions += [extracted] if extracted else []
    return Case(
        name=name,
        numbers=Numbers(window_minutes=minutes),
        sites=tuple(sorted(troubles)),
        until=START + 5 * DAY,
        windows=windows,
        routes=routes,
        extractions=extractions,
        about="routes that fail, in part and for a time",
    )


def routes_that_fail() -> Case:
    def one_pool(at: datetime, gateway: str, country: str, pool: str) -> Struck:
        return (0.9, "hard") if pool == "residential" and at.hour in (3, 4, 12, 13) else None

    def nested(at: datetime, gateway: str, country: str, pool: str) -> Struck:
        return (0.95, "unknown") if gateway == "gw-b" and country == "us" and at.hour < 9 else None

    def some(at: datetime, gateway: str, country: str, pool: str) -> Struck:
        return (0.30, "challenge") if gateway == "gw-c" else None

    def all_of_it(at: datetime, gateway: str, country: str, pool: str) -> Struck:
        return (0.5, "hard") if at.hour % 6 < 3 else None

    def both(at: datetime, gateway: str, country: str, pool: str) -> Struck:
        return (0.9, "server") if gateway == "gw-a" else (0.08, "hard")

    return _routed_case(
        "routes_that_fail",
        51,
        30,
        {
            "pool.example": one_pool,
            "nested.example": nested,
            "some.example": some,
            "all.example": all_of_it,
            "both.example": both,
        },
    )


def routes_at_the_bounds() -> Case:
    """Exactly ten, exactly five points, exactly 80 %, exactly fifty: just enough and just not."""
    windows, routes = [], []
    for number, (failed, elsewhere, of_route, of_rest, redirects) in enumerate(
        (
            (10, 0, 50, 50, 0),
            (9, 0, 50, 50, 0),
            (10, 0, 100, 100, 0),
            (10, 0, 100, 101, 0),
            (12, 3, 50, 60, 0),
            (11, 3, 50, 60, 0),
            (40, 0, 60, 49, 0),
            (40, 0, 60, 50, 0),
            (40, 3, 60, 60, 0),
            (40, 4, 60, 60, 0),
            (16, 3, 60, 60, 10),
            (60, 0, 60, 49, 20),
            (60, 2, 60, 55, 20),
        )
    ):
        site = f"bounds-{number:02d}.example"
        for at in [START + day * DAY + 3 * HOUR for day in range(4)]:
            windows.append(window(site, at, 60, 400))
            for value in ("a", "b"):
                routes.append(
                    route_row(window(site, at, 60, 200), "gateway", value, rest_p95=400.0)
                )
        late = START + 4 * DAY + 12 * HOUR
        windows.append(
            window(
                site,
                late,
                60,
                of_route + of_rest,
                hard=failed + elsewhere,
                redirects=redirects,
                p95=800.0,
            )
        )
        for value, judged, hard, moved in (
            ("a", of_route, failed, redirects),
            ("b", of_rest, elsewhere, 0),
        ):
            row = window(site, late, 60, judged, hard=hard, redirects=moved)
            for dimension, named in (("gateway", value), ("pool", f"{value}-pool")):
                routes.append(route_row(row, dimension, named, rest_p95=1600.0))
    return Case(
        name="routes_at_the_bounds",
        numbers=Numbers(window_minutes=60),
        sites=tuple(sorted({row["site"] for row in windows})),
        until=START + 5 * DAY,
        windows=windows,
        routes=routes,
        about="each bound of the rule, met exactly and missed by one",
    )


def routes_by_quarter_hours() -> Case:
    def short(at: datetime, gateway: str, country: str, pool: str) -> Struck:
        inside = at.hour in (0, 5, 6, 14, 23)
        return (0.85, "unknown") if gateway == "gw-a" and inside else None

    def moves(at: datetime, gateway: str, country: str, pool: str) -> Struck:
        return (0.9, "hard") if gateway == GATEWAYS[at.hour // 2 % 3] else None

    return _routed_case(
        "routes_by_quarter_hours", 52, 15, {"short.example": short, "moves.example": moves}
    )


def routed_fetches() -> Case:
    """Fetches over many exits and sessions; on the last day a pool fails, then a country."""
    rng = random.Random(53)
    rows = []
    site = "routed.example"
    turn = START + 4 * DAY
    for number in range(int(4.5 * 24 * 90)):
        at = START + number * HOUR / 90
        pool = rng.choice(("datacenter", "residential", "residential"))
        country = rng.choice(("de", "us", "fr"))
        columns: dict[str, Any] = {
            "route_gateway": rng.choice(("gw-a", "gw-b", None)),
            "route_country": country,
            "route_pool": pool,
            "route_session": f"pattern-{rng.randrange(3 if at < turn + 6 * HOUR else 30)}",
            "route_exit": f"exit-{rng.randrange(45)}",
            "latency_ms": round(rng.lognormvariate(6, 0.4), 1),
            "credits": rng.choice((None, 1.0, 5.0)),
            "item": {"title": "x"},
        }
        if turn + 2 * HOUR <= at < turn + 5 * HOUR and pool == "datacenter":
            columns.update(status=403, latency_ms=50.0)
        if at >= turn + 7 * HOUR and country == "us" and rng.random() < 0.9:
            columns.update(status=None, error="proxy", latency_ms=None)
        if rng.random() < 0.02:
            columns.update(status=503)
        rows.append(fetch(site, at, number, **columns))
    until = START + timedelta(days=4.5)
    return Case(
        "routed_fetches",
        Numbers(window_minutes=60),
        (site,),
        until,
        fetches=rows,
        about="the remaining fetches' p95, the busiest exits, and sessions beyond the busiest",
    )


ROUTE_CASES: tuple[Callable[[], Case], ...] = (
    routes_that_fail,
    routes_at_the_bounds,
    routes_by_quarter_hours,
    routed_fetches,
)
