"""When something cannot be shown: a page for people, JSON for programs, what to do for both."""

from __future__ import annotations

from collections.abc import Callable

import duckdb
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException

from target_health.dashboard.access import Access
from target_health.dashboard.database import NothingPublished, OtherSchema
from target_health.dashboard.incidents import NoSuchIncident
from target_health.dashboard.protection import ForeignForm
from target_health.dashboard.rendering import Renderer
from target_health.dashboard.site import NoSuchSite
from target_health.errors import TargetHealthError


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

    def not_computed(request: Request, problem: Exception) -> Response:
        first = str(problem).splitlines()[0]
        return answer(request, 503, "This did not work", first, "try a shorter range")

    def http_error(request: Request, problem: Exception) -> Response:
        assert isinstance(problem, HTTPException)
        if problem.status_code == 401 and wants_page(request):
            # After the login to the page, or to the fleet where a form's place is none.
            here = request.url
            if request.method != "GET":
                here = here.replace(path=(request.scope.get("root_path") or "") + "/", query="")
            return RedirectResponse(access.login_url(str(here)), status_code=303)
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
    app.add_exception_handler(duckdb.Error, not_computed)
    app.add_exception_handler(NoSuchSite, no_such_site)
    app.add_exception_handler(NoSuchIncident, no_such_incident)
    app.add_exception_handler(ForeignForm, told(403, "This form was not taken"))
    app.add_exception_handler(TargetHealthError, told(503, "This did not work"))
    app.add_exception_handler(HTTPException, http_error)
    app.add_exception_handler(RequestValidationError, wrong_argument)


def wants_page(request: Request) -> bool:
    """Whether a person's browser asks, rather than a program."""
    path = request.url.path.removeprefix(request.scope.get("root_path") or "")
    is_data = path.startswith(("/api/", "/csv/"))
    return not is_data and "text/html" in request.headers.get("accept", "")
