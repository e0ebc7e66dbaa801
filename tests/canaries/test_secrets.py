"""A proxy that needs credentials works, and they appear nowhere."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from target_health.canaries.ways import open_ways
from target_health.cli import exit_status
from target_health.config.routes import Route, Routes
from target_health.errors import ConfigurationError
from tests.canaries.conftest import Canaries
from tests.canaries.servers import Headers, LocalProxy, LocalSite, Reply

USER, PASSWORD, KEY = "proxy-user", "hunter2-s3cret", "key-0123456789"


@pytest.fixture
def proxied(canaries: Canaries, proxy: LocalProxy, monkeypatch: pytest.MonkeyPatch) -> Canaries:
    monkeypatch.setenv("TEST_PROXY_USER", USER)
    monkeypatch.setenv("TEST_PROXY_PASSWORD", PASSWORD)
    monkeypatch.setenv("TEST_KEY", KEY)
    canaries.routes = {
        "routes": {
            "crawl": {
                "proxy": f"http://${{TEST_PROXY_USER}}:${{TEST_PROXY_PASSWORD}}@{proxy.netloc}",
                "headers": {"X-Api-Key": "${TEST_KEY}"},
            }
        },
        "default": "crawl",
    }
    return canaries


def echo(headers: Headers) -> Reply:
    """A page that shows what it was asked with."""
    told = "".join(f"<li>{name}: {value}</li>" for name, value in headers.items())
    return Reply(f"<html><title>{headers.get('x-api-key')}</title><h1>Echo</h1><ul>{told}</ul>")


def holds_secret(root: Path) -> list[Path]:
    secrets = [text.encode() for text in (PASSWORD, KEY, USER)]
    return [
        path
        for path in root.rglob("*")
        if path.is_file() and any(secret in path.read_bytes() for secret in secrets)
    ]


def test_credentials_reach_the_proxy_and_nothing_else(
    proxied: Canaries,
    site: LocalSite,
    proxy: LocalProxy,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    caplog.set_level(logging.DEBUG)
    proxied.page(
        "echo",
        site.page("/p", echo),
        {"title": "Echo"},
        {"regex": r"x-api-key: (\S+?)<", "equals": "nothing"},
    )
    proxied.run(publish=True)
    assert proxy.forwarded == [site.url + "/p"]
    assert site.seen[0][1]["x-api-key"] == KEY
    assert "proxy-authorization" not in site.seen[0][1]
    got = proxied.rows("SELECT check_name, got, value FROM canary_results ORDER BY check_name")
    assert [row["got"] for row in got] == ["***", "***"]
    monkeypatch.setenv("TARGET_HEALTH_HOME", str(proxied.home.root))
    monkeypatch.setenv("TARGET_HEALTH_CONFIG", str(proxied.directory))
    for arguments in (["run"], ["list", "--json"], ["add", site.url + "/p"]):
        assert exit_status(["canary", *arguments]) == 0
    said = capsys.readouterr()
    for secret in (PASSWORD, KEY, USER):
        assert secret not in caplog.text + said.out + said.err
    assert holds_secret(tmp_path) == []


def test_wrong_credentials_are_no_word_of_the_site(
    proxied: Canaries, site: LocalSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_PROXY_PASSWORD", "wrong-password")
    proxied.page("p", site.page("/p", echo), {"contains": "echo"})
    proxied.page("tls", "https://127.0.0.1:9/", {"contains": "echo"})
    seen = {one.page: one for one in proxied.look()}
    assert (seen["p"].outcome, seen["p"].status) == ("unknown", 407)
    assert (seen["tls"].outcome, seen["tls"].error) == ("unknown", "proxy")
    assert "wrong-password" not in repr(seen)
    assert site.seen == []


def test_a_secret_header_does_not_follow_to_another_host(
    canaries: Canaries, site: LocalSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_KEY", KEY)
    canaries.routes = {"routes": {"direct": {"headers": {"X-Api-Key": "${TEST_KEY}"}}}}
    elsewhere = site.url.replace("127.0.0.1", "localhost")
    site.page("/same", Reply(status=302, headers={"Location": "/end"}))
    site.page("/other", Reply(status=302, headers={"Location": f"{elsewhere}/end"}))
    site.page("/end", "<h1>End</h1>")
    for name in ("same", "other"):
        canaries.page(name, f"{site.url}/{name}", {"contains": "end"})
    canaries.look()
    ends = [headers.get("x-api-key") for path, headers in site.seen if path == "/end"]
    assert ends == [KEY, None]


@pytest.mark.parametrize(
    ("route", "environment", "says"),
    [
        ({"proxy": "http://${U}:${P}@h:1"}, {"U": "u"}, "variable P is not set"),
        ({"proxy": "airflow:nope"}, {}, "knows no connection nope"),
        ({"proxy": "${P}"}, {"P": "hunter2-s3cret"}, "is no URL"),
        ({"proxy": "http://h:${P}"}, {"P": "hunter2-s3cret"}, "is no URL"),
        ({"headers": {"X-Key": "${K}"}}, {}, "headers.X-Key: the environment variable K"),
    ],
)
def test_what_is_not_there_is_named_without_values(
    route: dict, environment: dict[str, str], says: str
) -> None:
    def no_connection(name: str) -> str:
        raise LookupError(name)

    routes = Routes(routes={"r": Route(**route)}, default="r")
    with pytest.raises(ConfigurationError, match=says) as raised:
        open_ways(routes, ["r"], environment, no_connection)
    assert "hunter2" not in str(raised.value)


def test_a_connection_of_airflow_is_a_proxy() -> None:
    routes = Routes(routes={"r": Route(proxy="airflow:office")}, default="r")
    way = open_ways(routes, ["r"], {}, {"office": "http://us%40er:p%2Fw-word@h:3128"}.__getitem__)[
        "r"
    ]
    assert way.proxy == "http://us%40er:p%2Fw-word@h:3128"
    assert way.without_secrets("p/w-word p%2Fw-word us@er") == "*** *** ***"
    assert "w-word" not in repr(way)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("routes: {a: {proxy: 'http://u:hunter2@h:1'}}", "routes.a.proxy: holds credentials"),
        ("routes: {a: {proxy: 'hunter2@h:1'}}", "routes.a.proxy: holds credentials"),
        ("routes: {a: {headers: {Authorization: hunter2}}}", "headers.Authorization: looks like"),
        ("routes: {a: {headers: {Cookie: hunter2}}}", "headers.Cookie: looks like"),
        ("routes: {a: {proxy: 'h:1'}}", "routes.a.proxy: must begin with http"),
        ("default: nope", "default: 'nope' is no route; there are direct"),
        ("sites: {a.example: nope}", "a.example: 'nope' is no route"),
        ("routes: {a: {proxi: x}}", "routes.a.proxi: unknown key; allowed: ca_file"),
    ],
)
def test_routes_are_refused_in_one_line_that_shows_no_secret(
    canaries: Canaries, text: str, says: str
) -> None:
    from target_health.config.routes import load_routes

    (canaries.directory / "routes.yaml").write_text(text)
    with pytest.raises(ConfigurationError) as raised:
        load_routes(canaries.directory)
    assert says in str(raised.value)
    assert "hunter2" not in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_refused_page_is_not_proposed(proxied: Canaries, site: LocalSite) -> None:
    from target_health.canaries.adding import propose_entry
    from target_health.errors import TargetHealthError

    url = site.page("/p", Reply("<h1>No</h1>", 403))
    with pytest.raises(TargetHealthError, match="did not come through crawl: hard block, 403"):
        propose_entry(proxied.configuration(), url)
