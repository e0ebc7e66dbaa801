"""From the exception of a failed download to the log's word for it."""

from __future__ import annotations

from collections.abc import Iterator

#: Words in the names of exceptions, the first that holds; Scrapy's own, Twisted's, and those of
#: other download handlers' libraries are named alike.
WORDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("proxy", ("proxy", "tunnelerror")),
    ("timeout", ("timeout", "timedout")),
    ("dns", ("dnslookup", "resolve", "gaierror", "unknownhost", "nameresolution")),
    ("tls", ("ssl", "tls", "certificate", "verificationerror")),
    ("connection_reset", (
        "connectionlost", "connectiondone", "connectionreset", "connectionaborted", "brokenpipe",
        "remotedisconnected", "responseneverreceived", "remoteprotocolerror", "serverdisconnected",
    )),
    ("aborted", ("cancelled", "stopdownload", "dataloss", "partialdownload")),
)  # fmt: skip
REFUSED = ("refused", "noroute", "proxyerror")


def error_word(exception: BaseException, *, proxied: bool) -> str:
    """One of the log's ``error`` words. Behind a proxy, what cannot be reached is the proxy."""
    names = [name for cause in _causes(exception) for name in _names(cause)]
    for word, parts in WORDS:
        if any(part in name for part in parts for name in names):
            return "proxy" if proxied and word == "dns" else word
    if proxied and any(part in name for part in REFUSED for name in names):
        return "proxy"
    return "other"


def _names(exception: BaseException) -> Iterator[str]:
    for kind in type(exception).__mro__:
        if kind not in (object, BaseException, Exception, OSError):
            yield kind.__name__.lower()


def _causes(exception: BaseException) -> Iterator[BaseException]:
    """The exception and what it came from: causes, contexts' reasons, Twisted's lists of them."""
    waiting = [exception]
    seen: set[int] = set()
    while waiting:
        found = waiting.pop(0)
        if id(found) in seen or len(seen) > 20:
            continue
        seen.add(id(found))
        yield found
        for reason in getattr(found, "reasons", None) or ():
            value = getattr(reason, "value", reason)
            if isinstance(value, BaseException):
                waiting.append(value)
        waiting += [part for part in (found.__cause__, found.__context__) if part is not None]
