from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from target_health.config.sites import normal_host
from target_health.landing.hosts import SiteFinder, host_of, plain_site_sql


@pytest.mark.parametrize(
    ("key", "host"),
    [
        ("www.a.example", "www.a.example"),
        ("A.Example:443", "a.example"),
        ("u:p@a.example:80", "a.example"),
        ("a.example.", "a.example"),
        ("[::1]:8080", "[::1]"),
        ("[2001:0db8:0:0::1]", "[2001:db8::1]"),
        ("http://[fe80::1%25eth0]/", "[fe80::1]"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("192.0.2.7:81", "192.0.2.7"),
        ("http:/a.example/x", "a.example"),
        ("http:\\\\a.example\\x", "a.example"),
        ("https://a_b.example/", "a_b.example"),
        ("localhost:8000", "localhost"),
        ("http://intranet/x", "intranet"),
        ("a%2eexample", "a.example"),
        ("", None),
        ("/x/y", None),
        ("?q=1", None),
        ("ftp://a.example/", None),
        ("mailto:a@b.example", None),
        ("javascript:alert(1)", None),
        ("a.example:port", None),
        ("word", None),
        ("page.html", None),
        ("http://-a.example", None),
        ("http://a..example", None),
        ("https://[::1", None),
        ("https://[::g]/", None),
    ],
)
def test_host(key: str, host: str | None) -> None:
    assert host_of(key) == host


@given(st.text())
def test_never_raises_and_gives_ascii(key: str) -> None:
    host = host_of(key)
    assert host is None or (host.isascii() and host == host.lower() and host)


HOSTS = st.from_regex(r"[a-z0-9wW.:_\-/@]{0,18}", fullmatch=True) | st.sampled_from(
    ["www.a.example", "www.example", "a-.example", "a--b.example", "m.shop.example", "1.2.3.4",
     "xn--bcher-kva.example", "www.cdn.example", "intranet", "page.html", "A.example", "a.example."]
)  # fmt: skip


@settings(max_examples=50, deadline=None)
@given(st.lists(HOSTS, min_size=1, max_size=30), st.booleans())
def test_plain_hosts_are_told_in_sql_as_in_python(keys: list[str], mapped: bool) -> None:
    mapping = {"cdn.example": "shop", "*.shop.example": "shop"} if mapped else {}

    def site_of(host: str) -> str:
        if host.endswith(".shop.example") and mapped:
            return "shop"
        return mapping.get(host, host)

    finder = SiteFinder(normal_host, site_of)
    with duckdb.connect() as connection:
        connection.register("t", pa.table({"n": range(len(keys)), "k": keys}))
        found = connection.execute(
            f"SELECT {plain_site_sql('k', mapping, repr('?'))} FROM t ORDER BY n"
        ).fetchall()
    for key, (site,) in zip(keys, found, strict=True):
        assert site in ("?", finder.find(key))
        if key == "www.a.example":
            assert site == "a.example"
