"""The routes: pages for people, the same data as JSON and CSV, and the two deeds."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, FastAPI, Form, HTTPException, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, RedirectResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException as StarletteHTTPException

from target_health.commands.output import plain
from target_health.control import read_control
from target_health.dashboard import fleet as fleets
from target_health.dashboard import heat_map as heat_maps
from target_health.dashboard import incidents as incident_list
from target_health.dashboard import site as sites
from target_health.dashboard.access import Access, Visitor
from target_health.dashboard.database import (
    NothingPublished,
    OtherSchema,
    Published,
    Row,
    Snapshot,
)
from target_health.dashboard.deeds import carry_out
from target_health.dashboard.exports import csv_text
from target_health.dashboard.history import history
from target_health.dashboard.protection import (
    FIELD,
    ForeignForm,
    ProtectiveHeaders,
    check_form,
    form_token,
    keep_token,
)
from target_health.dashboard.rendering import STATIC, Renderer, plotly_script
from target_health.errors import TargetHealthError, UsageError, WarehouseBusy
from target_health.paths import Home

# Static files are asked for by their content's digest.
FOREVER = "public, max-age=31536000, immutable"
LONGEST_TEXT = 2000
Text = Annotated[str, Query(max_length=LONGEST_TEXT)]


class JsonText(Response):
    """JSON as the project writes it: times in ISO 8601 UTC, no NaN."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        text = json.dumps(plain(content), ensure_ascii=False, default=str, allow_nan=False)
        return text.encode()


def choice_of(
    q: Text = "",
    band: Text = "",
    state: Text = "",
    owner: Text = "",
    sort: Text = "worst",
    order: Text = "asc",
    page: Annotated[int, Query(ge=1, le=1_000_000)] = 1,
    size: Annotated[int, Query(ge=1, le=fleets.MOST_ROWS)] = fleets.PAGE_SIZE,
) -> fleets.Choice:
    """What of the fleet is asked for, from the URL."""
    return fleets.Choice(q.strip(), band, state, owner, sort, order == "desc", page, size)


Chosen = Annotated[fleets.Choice, Depends(choice_of)]
Days = Annotated[int, Query(ge=1, le=400)]


def make_app(home: Home, access: Access) -> FastAPI:
    """The dashboard over a home's published database, for those whom ``access`` lets in."""
    app = FastAPI(
        title="Target Health",
        description="How every site behaves towards our crawler, as JSON and CSV.",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
    )
    app.state.published = Published(home)
    renderer = Renderer()
    app.add_middleware(ProtectiveHeaders)
    add_static_files(app)
    seen = Depends(access.visitor)
    for router in (
        page_router(renderer, access),
        data_router(app),
        csv_router(),
    ):
        app.include_router(router, dependencies=[seen])
    add_error_pages(app, renderer, access)
    return app


def add_static_files(app: FastAPI) -> None:
    """Plotly's script from the installed package, and our own files; no login needed."""
    script = plotly_script()

    @app.get("/static/plotly.min.js", include_in_schema=False)
    def plotly() -> FileResponse:
        return FileResponse(
            script, media_type="text/javascript", headers={"Cache-Control": FOREVER}
        )

    class LastingFiles(StaticFiles):
        def file_response(self, *given: Any, **more: Any) -> Response:
            response = super().file_response(*given, **more)
            response.headers["Cache-Control"] = FOREVER
            return response

    app.mount("/static", LastingFiles(directory=STATIC))


def snapshot_of(request: Request) -> Any:
    """A dependency: the newest published copy, kept until the response is made."""
    with request.app.state.published.snapshot() as snapshot:
        yield snapshot


Now = Annotated[Snapshot, Depends(snapshot_of)]


# --- What the pages show; the JSON routes give the same.


def fleet_data(snapshot: Snapshot, choice: fleets.Choice) -> dict[str, Any]:
    page = fleets.fleet_page(snapshot, choice)
    return {
        **standing(snapshot),
        "found": page.found,
        "page": page.choice.page,
        "pages": page.pages,
        "sites": page.rows,
    }


def standing(snapshot: Snapshot) -> dict[str, Any]:
    """What stands on every page: how old it all is, and what is switched off."""
    return {
        "as_of": fleets.as_of_of(snapshot),
        "bands": fleets.band_counts(snapshot),
        "switched_off": fleets.switched_off(snapshot),
        "waiting": sites.waiting_questions(snapshot),
    }


def site_data(snapshot: Snapshot, name: str, days: int) -> dict[str, Any]:
    row = sites.site_row(snapshot, name)
    span = sites.span_of(row, days)
    return {
        "site": row,
        "days": days,
        "start": span.start,
        "end": span.end,
        "arithmetic": sites.sums(row),
        "control": sites.control_entry(snapshot, name),
        "waiting": sites.waiting_questions(snapshot, name),
        "decisions": sites.decisions(snapshot, name),
        **{table: sites.TABLES[table](snapshot, span) for table in SHOWN_TABLES},
    }


# Scores and windows come with the charts.
SHOWN_TABLES = ("actions", "incidents", "routes", "fields", "canaries", "evidence")


def incidents_data(snapshot: Snapshot, page: int) -> dict[str, Any]:
    if not incident_list.are_recorded(snapshot):
        return {"is_recorded": False, "open": [], "past": [], "past_found": 0, "quality": None}
    return {
        "is_recorded": True,
        "open": incident_list.open_incidents(snapshot),
        "past": incident_list.past_incidents(snapshot, page),
        "past_found": incident_list.count_past(snapshot),
        "quality": incident_list.alarm_quality(snapshot),
    }


# --- Pages.


def page_router(renderer: Renderer, access: Access) -> APIRouter:
    router = APIRouter(include_in_schema=False)
    seen = Depends(access.visitor)

    def page(name: str, request: Request, visitor: Visitor, **more: Any) -> Response:
        token = form_token(request)
        response = renderer.page(
            name, request, visitor=visitor, form_field=FIELD, form_token=token, **more
        )
        if visitor.may_change:
            keep_token(request, response, token)
        return response

    @router.get("/")
    def fleet(request: Request, snapshot: Now, choice: Chosen, visitor: Visitor = seen) -> Response:
        found = fleets.fleet_page(snapshot, choice)
        return page(
            "fleet.html",
            request,
            visitor,
            fleet=found,
            owners=fleets.owners(snapshot),
            **standing(snapshot),
        )

    def site_page(
        request: Request, visitor: Visitor, snapshot: Snapshot, name: str, days: int, **more: Any
    ) -> Response:
        return page(
            "site.html",
            request,
            visitor,
            ranges=sites.RANGES,
            **{**standing(snapshot), **site_data(snapshot, name, days), **more},
        )

    @router.get("/site")
    def site(
        request: Request,
        snapshot: Now,
        name: Text,
        days: Days = sites.DEFAULT_DAYS,
        done: Text = "",
        visitor: Visitor = seen,
    ) -> Response:
        return site_page(request, visitor, snapshot, name, days, done=done)

    @router.post("/site/pace")
    def change_pace(
        request: Request,
        name: Annotated[str, Form(max_length=LONGEST_TEXT)],
        deed: Annotated[str, Form(pattern="^(pause|resume)$")],
        why: Annotated[str, Form(max_length=LONGEST_TEXT)] = "",
        step: Annotated[str, Form(pattern="^[0-3]?$")] = "",
        token: Annotated[str, Form(alias=FIELD)] = "",
        visitor: Visitor = seen,
    ) -> Response:
        if not visitor.may_change:
            raise HTTPException(403, "you may look, but not change a site’s pace")
        check_form(request, token)
        with request.app.state.published.snapshot() as snapshot:
            sites.site_row(snapshot, name)
        try:
            carry_out(
                "pause" if deed == "pause" else "resume",
                name,
                by=visitor.name,
                why=why,
                step=int(step) if step and deed == "resume" else None,
            )
        except TargetHealthError as problem:
            with request.app.state.published.snapshot() as snapshot:
                response = site_page(
                    request,
                    visitor,
                    snapshot,
                    name,
                    sites.DEFAULT_DAYS,
                    done="",
                    failure=str(problem),
                    why=why,
                )
            response.status_code = 400 if isinstance(problem, UsageError) else 503
            return response
        place = urlencode({"name": name, "done": deed})
        return RedirectResponse(f"../site?{place}", status_code=303)

    @router.get("/incidents")
    def incidents(
        request: Request,
        snapshot: Now,
        page_number: Annotated[int, Query(alias="page", ge=1, le=1_000_000)] = 1,
        visitor: Visitor = seen,
    ) -> Response:
        data = incidents_data(snapshot, page_number)
        pages = max(1, -(-data["past_found"] // incident_list.PAGE_SIZE))
        return page(
            "incidents.html",
            request,
            visitor,
            page_number=min(page_number, pages),
            pages=pages,
            **standing(snapshot),
            **data,
        )

    @router.get("/incident")
    def incident(request: Request, snapshot: Now, id: Text, visitor: Visitor = seen) -> Response:
        found = incident_list.incident(snapshot, id)
        return page("incident.html", request, visitor, incident=found, **standing(snapshot))

    @router.get("/heat-map")
    def heat_map(
        request: Request,
        snapshot: Now,
        choice: Chosen,
        days: Days = heat_maps.DEFAULT_DAYS,
        visitor: Visitor = seen,
    ) -> Response:
        return page(
            "heat_map.html",
            request,
            visitor,
            heat_map=heat_maps.heat_map(snapshot, choice, days),
            days=days,
            ranges=heat_maps.RANGES,
            **standing(snapshot),
        )

    return router


# --- JSON.


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
    def incidents(snapshot: Now, page: Annotated[int, Query(ge=1, le=1_000_000)] = 1) -> Response:
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


# --- CSV.


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


# --- When it cannot be shown.


def add_error_pages(app: FastAPI, renderer: Renderer, access: Access) -> None:
    """Errors as a page for people and as JSON for programs, in one line that says what to do."""

    def answer(request: Request, status: int, title: str, text: str, how: str = "") -> Response:
        if not wants_page(request):
            return JSONResponse({"detail": f"{text}: {how}" if how else text}, status)
        return renderer.message(request, status, title, text, how)

    def told(status: int, title: str, how: str = "") -> Callable[[Request, Exception], Response]:
        def handler(request: Request, problem: Exception) -> Response:
            return answer(request, status, title, str(problem), how)

        return handler

    def nothing_published(request: Request, problem: Exception) -> Response:
        if not wants_page(request):
            return JSONResponse({"detail": "nothing is published yet: run crawl_health"}, 503)
        return renderer.first_page(request)

    def http_error(request: Request, problem: Exception) -> Response:
        assert isinstance(problem, StarletteHTTPException)
        if problem.status_code == 401 and wants_page(request):
            return RedirectResponse(access.login_url(str(request.url)), status_code=303)
        titles = {401: "Please log in", 403: "Not for you", 404: "Not here"}
        title = titles.get(problem.status_code, "This did not work")
        response = answer(request, problem.status_code, title, str(problem.detail))
        response.headers.update(problem.headers or {})
        return response

    def wrong_argument(request: Request, problem: Exception) -> Response:
        assert isinstance(problem, RequestValidationError)
        first = problem.errors()[0]
        where = str(first["loc"][-1])
        return answer(request, 422, "This address is not right", f"{where}: {first['msg']}")

    def no_such_site(request: Request, problem: Exception) -> Response:
        return answer(request, 404, "No such site", f"{problem} is not in the published database")

    def no_such_incident(request: Request, problem: Exception) -> Response:
        return answer(request, 404, "No such incident", f"{problem} is not recorded")

    app.add_exception_handler(NothingPublished, nothing_published)
    app.add_exception_handler(
        OtherSchema,
        told(503, "Another version’s database", "let crawl_health run once to publish it anew"),
    )
    app.add_exception_handler(sites.NoSuchSite, no_such_site)
    app.add_exception_handler(incident_list.NoSuchIncident, no_such_incident)
    app.add_exception_handler(ForeignForm, told(403, "This form was not taken"))
    app.add_exception_handler(WarehouseBusy, told(503, "Busy"))
    app.add_exception_handler(TargetHealthError, told(503, "This did not work"))
    app.add_exception_handler(StarletteHTTPException, http_error)
    app.add_exception_handler(RequestValidationError, wrong_argument)


def wants_page(request: Request) -> bool:
    """Whether a person's browser asks, rather than a program."""
    path = request.url.path.removeprefix(request.scope.get("root_path") or "")
    is_data = path.startswith(("/api/", "/csv/"))
    return not is_data and "text/html" in request.headers.get("accept", "")
