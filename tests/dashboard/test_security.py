"""Nobody without a login sees anything, no foreign form changes anything, no text becomes code."""

from __future__ import annotations

import re

import pytest
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient
from parsel import Selector

from target_health.dashboard.access import Access
from target_health.dashboard.app import make_app
from target_health.paths import Home
from tests.dashboard.conftest import Open, visitor
from tests.dashboard.homes import CALM, FORMULA, HOSTILE, HOSTILE_URL, REFUSING

PAGES = (
    "",
    "?q=<script>",
    f"site?name={CALM}",
    f"site?name={HOSTILE}",
    f"site?name={FORMULA}",
    "site?name=<script>alert(1)</script>",
    "incidents",
    "incident?id=hostility-refusing",
    "heat-map",
)


def routes(home: Home) -> list[tuple[str, str]]:
    """Every method and path that the application answers, static files apart."""
    app = make_app(home, Access(visitor, str))
    found = []
    for route in all_routes(app.routes):
        for method in route.methods or ():
            path = route.path.replace("{table}", "scores")
            if not path.startswith("/static/"):
                found.append((method, path))
    return found


def all_routes(routes: object) -> list[APIRoute]:
    assert isinstance(routes, list)
    return [route for route in routes if isinstance(route, APIRoute)]


def test_anonymous_gets_401_or_the_login_everywhere(
    open_dashboard: Open, home: Home, empty_home: Home
) -> None:
    found = routes(home)
    assert len(found) >= 17
    for at in (home, empty_home):
        for accept in ("text/html", "application/json"):
            client = open_dashboard(at, person=None, accept=accept)
            for method, path in found:
                answer = client.request(method, path[1:])
                if answer.status_code == 303:
                    place = answer.headers["location"]
                    assert place.startswith("/auth/login?next=http://testserver/target-health/")
                    assert "pace" not in place
                else:
                    assert answer.status_code == 401, (method, path, answer.text)
                assert CALM not in answer.text


def test_static_files_need_no_login_and_come_from_here(open_dashboard: Open, home: Home) -> None:
    client = open_dashboard(home, person=None)
    for name in ("dashboard.css", "dashboard.js", "charts.js", "theme.js", "icon.svg"):
        assert client.get(f"static/{name}").status_code == 200
    script = client.get("static/plotly.min.js")
    assert script.status_code == 200
    assert b"plotly.js v" in script.content[:400]
    assert "immutable" in script.headers["cache-control"]
    for path in ("static/../pages.py", "static/%2e%2e/pages.py"):
        assert client.get(path).status_code in (401, 404)


@pytest.mark.parametrize("place", PAGES)
def test_no_text_becomes_code_and_nothing_is_fetched_from_elsewhere(
    open_dashboard: Open, full_home: Home, place: str
) -> None:
    answer = open_dashboard(full_home).get(place)
    policy = answer.headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "script-src 'self';" in policy
    assert answer.headers["cache-control"] == "no-store"
    page = Selector(answer.text)
    assert not page.css("img, iframe, object, embed, base, style")
    assert not page.xpath("//@*[starts-with(name(), 'on')] | //@style")
    assert all(script.css("::attr(src)").get() for script in page.css("script"))
    for address in page.xpath("//@href | //@src | //@action").getall():
        assert not re.match(r"[a-z]+:|/", address), address


def test_hostile_names_and_urls_are_text(open_dashboard: Open, home: Home) -> None:
    client = open_dashboard(home)
    assert HOSTILE in Selector(client.get("").text).css("th a::text").getall()
    page = Selector(client.get("site", params={"name": HOSTILE}).text)
    assert page.css("h1::text").get() == HOSTILE
    assert page.css("title::text").get() == f"{HOSTILE} – Target Health"
    evidence = Selector(client.get(f"site?name={CALM}").text).css("td.url")
    assert HOSTILE_URL in evidence.css("::text").getall()
    assert not evidence.css("a")


def form_of(client: TestClient, site: str) -> dict[str, str]:
    """The fields of a site's form, as a browser sends them."""
    page = Selector(client.get("site", params={"name": site}).text)
    return {
        field.attrib["name"]: field.attrib.get("value", "")
        for field in page.css("form[method=post] input")
    }


def test_forms_from_elsewhere_change_nothing(
    open_dashboard: Open, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    from target_health.dashboard import pages

    done: list[object] = []
    monkeypatch.setattr(pages, "carry_out", lambda *given, **more: done.append((given, more)))
    client = open_dashboard(home)
    form = form_of(client, CALM) | {"why": "test"}
    cookies = dict(client.cookies)

    def answer(
        fields: dict[str, str], headers: dict[str, str] | None = None, person: str = "kim"
    ) -> int:
        other = open_dashboard(home, person)
        other.cookies.update(cookies)
        return other.post("site/pace", data=fields, headers=headers or {}).status_code

    assert answer(form, {"sec-fetch-site": "cross-site"}) == 403
    assert answer(form, {"sec-fetch-site": "same-site"}) == 403
    assert answer(form, {"origin": "https://evil.example"}) == 403
    assert answer(form, {"origin": "null"}) == 403
    assert answer(form | {"form_token": ""}) == 403
    assert answer(form | {"form_token": "x" * 43}) == 403
    assert answer(form, person="guest") == 403
    assert answer(form | {"deed": "delete"}) == 422
    assert answer(form | {"name": "nobody.example"}) == 404
    without_cookie = open_dashboard(home).post("site/pace", data=form)
    assert without_cookie.status_code == 403
    assert done == []
    assert answer(form, {"origin": "http://testserver"}) == 303
    assert answer(form, {"sec-fetch-site": "same-origin"}) == 303
    assert done == [(("pause", CALM), {"by": "Kim", "why": "test", "step": None})] * 2


def test_cookie_of_the_form_is_kept_from_scripts_and_sites(
    open_dashboard: Open, home: Home
) -> None:
    cookie = open_dashboard(home).get(f"site?name={REFUSING}").headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "Path=/target-health/" in cookie
