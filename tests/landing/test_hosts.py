from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_health.landing.hosts import host_of


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
