"""The pages for people, and the form by which they change a site's pace."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Form, HTTPException, Request
from fastapi.responses import RedirectResponse, Response

from target_health.dashboard import fleet as fleets
from target_health.dashboard import heat_map as heat_maps
from target_health.dashboard import incidents as incident_list
from target_health.dashboard import site as sites
from target_health.dashboard.access import Access, Visitor
from target_health.dashboard.contents import incidents_data, site_data, standing
from target_health.dashboard.database import Snapshot
from target_health.dashboard.deeds import carry_out
from target_health.dashboard.parameters import (
    LONGEST_TEXT,
    Chosen,
    Days,
    Now,
    PageNumber,
    Text,
)
from target_health.dashboard.protection import FIELD, check_form, form_token, keep_token
from target_health.dashboard.rendering import Renderer
from target_health.errors import TargetHealthError, UsageError


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
            most=sites.SHOWN,
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
        page_number: PageNumber = 1,
        visitor: Visitor = seen,
    ) -> Response:
        data = incidents_data(snapshot, page_number)
        pages = fleets.page_count(data["past_found"], incident_list.PAGE_SIZE)
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
