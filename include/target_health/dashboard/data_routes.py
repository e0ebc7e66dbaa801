"""The pages' data for programs: JSON, and every table as CSV."""

from __future__ import annotations

import json
from typing import Any

from fastapi import APIRouter, FastAPI, HTTPException, Request
from fastapi.responses import JSONResponse, Response

from target_health.commands.output import plain
from target_health.control import read_control
from target_health.dashboard import fleet as fleets
from target_health.dashboard import heat_map as heat_maps
from target_health.dashboard import incidents as incident_list
from target_health.dashboard import site as sites
from target_health.dashboard.contents import fleet_data, incidents_data, site_data
from target_health.dashboard.database import Row
from target_health.dashboard.exports import csv_text
from target_health.dashboard.history import history
from target_health.dashboard.parameters import Chosen, Days, Now, PageNumber, Text


class JsonText(Response):
    """JSON as the project writes it: times in ISO 8601 UTC, no NaN."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        text = json.dumps(plain(content), ensure_ascii=False, default=str, allow_nan=False)
        return text.encode()


def data_router(app: FastAPI) -> APIRouter:
    router = APIRouter(prefix="/api", default_response_class=JsonText, tags=["data"])

    @router.get("/fleet")
    def fleet(snapshot: Now, choice: Chosen) -> Response:
        """One page of the fleet, as of the last run; `size` up to 1000."""
        return JsonText(fleet_data(snapshot, choice))

    @router.get("/site")
    def site(snapshot: Now, name: Text, days: Days = sites.DEFAULT_DAYS) -> Response:
        """One site: how it stands, why, and what lies behind it. Null: not recorded yet."""
        return JsonText(site_data(snapshot, name, days))

    @router.get("/site/history")
    def site_history(snapshot: Now, name: Text, days: Days = sites.DEFAULT_DAYS) -> Response:
        """Scores, signals and verdicts of each window, by column, for the charts."""
        row = sites.site_row(snapshot, name)
        return JsonText(history(snapshot, sites.span_of(row, days)))

    @router.get("/incidents")
    def incidents(snapshot: Now, page: PageNumber = 1) -> Response:
        """Open incidents, a page of past ones, and the quality of the alarms."""
        return JsonText(incidents_data(snapshot, page))

    @router.get("/incident")
    def incident(snapshot: Now, id: Text) -> Response:
        """One incident with its timeline, evidence and review."""
        return JsonText(incident_list.incident(snapshot, id))

    @router.get("/heat-map")
    def heat_map(snapshot: Now, choice: Chosen, days: Days = heat_maps.DEFAULT_DAYS) -> Response:
        """The lowest smoothed score and the worst band of each site and day."""
        found = heat_maps.heat_map(snapshot, choice, days)
        return JsonText({"found": found.found, "pages": found.pages, "days": found.rows()})

    @router.get("/control")
    def control(request: Request) -> Response:
        """The control file: what crawlers are told. Take the smaller of it and your own pace."""
        return JsonText(read_control(request.app.state.published.home))

    @router.get("/openapi.json", include_in_schema=False)
    def openapi() -> JSONResponse:
        return JSONResponse(app.openapi())

    return router


def csv_router() -> APIRouter:
    router = APIRouter(prefix="/csv", tags=["tables"])

    def csv(rows: list[Row], name: str) -> Response:
        return Response(
            # With a mark of its encoding, for spreadsheets.
            "\ufeff" + csv_text(rows),
            media_type="text/csv; charset=utf-8",
            headers={"Content-Disposition": f'attachment; filename="{name}.csv"'},
        )

    @router.get("/fleet.csv")
    def fleet(snapshot: Now, choice: Chosen) -> Response:
        """All sites that the choice finds."""
        return csv(fleets.every_site(snapshot, choice), "fleet")

    @router.get("/switched-off.csv")
    def switched_off(snapshot: Now) -> Response:
        """Sites that are paused, slowed, stopped or overridden."""
        choice = fleets.Choice(state="off", sort="state")
        return csv(fleets.every_site(snapshot, choice), "switched-off")

    @router.get("/incidents.csv")
    def incidents(snapshot: Now) -> Response:
        """All incidents, newest first."""
        recorded = incident_list.are_recorded(snapshot)
        return csv(incident_list.all_incidents(snapshot) if recorded else [], "incidents")

    @router.get("/heat-map.csv")
    def heat_map(snapshot: Now, choice: Chosen, days: Days = heat_maps.DEFAULT_DAYS) -> Response:
        """One row a site and day, for one page of sites."""
        return csv(heat_maps.heat_map(snapshot, choice, days).rows(), "heat-map")

    @router.get("/site/{table}.csv")
    def site(snapshot: Now, table: str, name: Text, days: Days = sites.DEFAULT_DAYS) -> Response:
        """One table of a site: scores, windows, actions, incidents, routes, fields, canaries or
        evidence."""
        if table not in sites.TABLES:
            raise HTTPException(404, f"no table {table}; there are {', '.join(sites.TABLES)}")
        span = sites.span_of(sites.site_row(snapshot, name), days)
        return csv(sites.TABLES[table](snapshot, span) or [], table)

    return router
