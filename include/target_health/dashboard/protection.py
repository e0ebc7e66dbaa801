"""What keeps hostile pages and hostile sites out: headers, and proof that a form is ours."""

from __future__ import annotations

import hmac
import secrets
from urllib.parse import urlsplit

from fastapi import Request, Response
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from target_health.errors import TargetHealthError

# Plotly makes an empty style element, to which it then adds rules from its script: the digest of an
# empty text lets it, and no other inline style.
EMPTY_STYLE = "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
# No inline script or style, nothing from elsewhere; Airflow's own frame may show us.
HEADERS = {
    "Content-Security-Policy": (
        f"default-src 'none'; script-src 'self'; style-src 'self' {EMPTY_STYLE}; "
        "img-src 'self' data: blob:; "
        "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'self'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
    # Site names in our URLs are nobody else's business; `no-referrer` would hide a form's origin.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
COOKIE = "target_health_form"
FIELD = "form_token"


class ForeignForm(TargetHealthError):
    """A form that did not come from our pages."""


class ProtectiveHeaders:
    """Adds the headers to every response; pages are not kept by caches, static files may be."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_protected(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        await self._app(scope, receive, send_protected)


def form_token(request: Request) -> str:
    """The token of this browser, a new one where it has none."""
    known = request.cookies.get(COOKIE, "")
    return known if len(known) >= 32 else secrets.token_urlsafe(32)


def keep_token(request: Request, response: Response, token: str) -> None:
    if request.cookies.get(COOKIE) == token:
        return
    response.set_cookie(
        COOKIE,
        token,
        path=(request.scope.get("root_path") or "") + "/",
        httponly=True,
        secure=request.url.scheme == "https",
        samesite="strict",
    )


def check_form(request: Request, token: str) -> None:
    """Raises ``ForeignForm`` unless the request came from one of our own pages.

    Twice over: the browser says where it comes from, and the form repeats the cookie's secret.
    """
    site = request.headers.get("sec-fetch-site")
    origin = request.headers.get("origin")
    if site is not None and site != "same-origin":
        raise ForeignForm("the form was sent from another site")
    if site is None and origin is not None:
        own = {request.headers.get("host"), request.headers.get("x-forwarded-host")}
        if urlsplit(origin).netloc not in own:
            raise ForeignForm("the form was sent from another site")
    known = request.cookies.get(COOKIE, "")
    if len(known) < 32 or not hmac.compare_digest(known.encode(), token.encode()):
        raise ForeignForm("the form is too old: load the page again")
