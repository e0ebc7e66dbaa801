"""How hosts are named as sites, for those who need no more of the configuration."""

from __future__ import annotations

from contextlib import suppress


def normal_host(host: str) -> str:
    """A host as sites are named: lower case, punycode, without ``www.`` and a final dot."""
    host = host.strip().lower().rstrip(".")
    if not host.isascii():
        with suppress(UnicodeError):
            host = ".".join(
                label if "*" in label else label.encode("idna").decode("ascii")
                for label in host.split(".")
            )
    return host.removeprefix("www.") if host.count(".") > 1 else host
