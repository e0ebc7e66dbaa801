"""From a URL's authority to its site, once for each distinct one."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterable
from urllib.parse import unquote

from target_health.readers.sql_text import literal

SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://?", re.IGNORECASE)
LABEL = r"[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?"
HOST = re.compile(rf"{LABEL}(?:\.{LABEL})*")
#: What begins the site key of a URL without ``http(s)://``.
BARE = " "
#: Hosts that mean themselves: lower case letters and digits, with dots and hyphens between.
PLAIN = r"[a-z0-9]+(?:(?:-+|\.)[a-z0-9]+)*\.[a-z0-9]+"
WEB_SCHEMES = frozenset({"http", "https"})


def site_key_sql(url: str) -> str:
    """What of a URL decides its site: the authority of http(s) URLs, else the whole URL."""
    return (
        f"CASE WHEN starts_with({url}, 'https://') OR starts_with({url}, 'http://') "
        f"THEN split_part({url}, '/', 3) ELSE '{BARE}' || {url} END"
    )


def plain_site_sql(key: str, patterns: Iterable[str], otherwise: str) -> str:
    """The site of a plain host that no pattern of ``sites.yaml`` maps; ``otherwise`` for the rest.

    As ``SiteFinder`` gives it: the host without ``www.`` where something is left that is a host.
    """
    mapped = "|".join(re.escape(pattern).replace(r"\*", ".*") for pattern in patterns)
    guard = ""
    if mapped:
        pattern = literal(r"(?:www\.)?(?:" + mapped + ")")
        guard = f"AND NOT regexp_full_match({key}, {pattern}) "
    return (
        f"CASE WHEN regexp_full_match({key}, {literal(PLAIN)}) {guard}THEN "
        f"CASE WHEN starts_with({key}, 'www.') AND contains(substr({key}, 5), '.') "
        f"THEN substr({key}, 5) ELSE {key} END ELSE {otherwise} END"
    )


def host_of(url: str, *, bare: bool = True) -> str | None:
    """The host of a URL, lower case and punycode, IPv6 in brackets; None when there is none.

    Accepts URLs without a scheme (``example.com/path``); relative ones have no host. Not
    ``bare``: an authority that stood behind ``http(s)://``.
    """
    text = url.strip().replace("\\", "/")
    scheme = SCHEME.match(text)
    if scheme:
        if scheme[0].rstrip("/").rstrip(":").lower() not in WEB_SCHEMES:
            return None
        text = text[scheme.end() :].lstrip("/")
    elif text.startswith("//"):
        text, bare = text[2:], False
    authority = re.split(r"[/?#]", text, maxsplit=1)[0].rpartition("@")[2]
    if re.match(r"(?i)(?:mailto|tel|javascript|data|about|blob|file|dns|urn):", text):
        return None
    if authority.startswith("["):
        inside, closed, port = authority[1:].partition("]")
        if not closed or (port and not re.fullmatch(r":\d*", port)):
            return None
        return _ipv6(inside)
    host, colon, port = authority.partition(":")
    if ":" in port:
        return _ipv6(authority)
    if colon and port and not port.isdecimal():
        return None
    return _name(unquote(host), bare=bare and scheme is None)


def _ipv6(text: str) -> str | None:
    try:
        return f"[{ipaddress.IPv6Address(text.partition('%')[0]).compressed}]"
    except ValueError:
        return None


def _name(host: str, bare: bool) -> str | None:
    host = host.strip().rstrip(".").lower()
    if not host.isascii():
        try:
            host = host.encode("idna").decode("ascii")
        except UnicodeError:
            return None
    if not HOST.fullmatch(host) or len(host) > 253:
        return None
    if bare and ("." not in host and host != "localhost"):
        return None
    if bare and re.search(r"\.(?:html?|php|aspx?|jsp|js|css|png|jpe?g|gif|svg|xml|txt)$", host):
        return None  # index.html is a relative path
    return host


class SiteFinder:
    """Sites of site keys, remembered. ``site_of`` maps a normal host to its site."""

    def __init__(self, normal_host: Callable[[str], str], site_of: Callable[[str], str]) -> None:
        self._normal_host = normal_host
        self._site_of = site_of
        self._known: dict[str, str | None] = {}

    def find(self, key: str) -> str | None:
        if key not in self._known:
            host = host_of(key, bare=key.startswith(BARE))
            self._known[key] = None if host is None else self._site_of(self._normal_host(host))
        return self._known[key]
