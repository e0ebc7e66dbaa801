"""The dashboard as an application."""

from __future__ import annotations

from typing import Any

from fastapi import Depends, FastAPI
from fastapi.responses import FileResponse, Response
from fastapi.staticfiles import StaticFiles

from target_health.dashboard.access import Access
from target_health.dashboard.data_routes import csv_router, data_router
from target_health.dashboard.database import Published
from target_health.dashboard.error_pages import add_error_pages
from target_health.dashboard.pages import page_router
from target_health.dashboard.protection import ProtectiveHeaders
from target_health.dashboard.rendering import STATIC, Renderer, plotly_script
from target_health.paths import Home

# Static files are asked for by their content's digest.
FOREVER = "public, max-age=31536000, immutable"


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
