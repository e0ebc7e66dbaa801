"""From the exception of a failed fetch to the log's word for it."""

from __future__ import annotations

from collections.abc import Iterator

#: Parts of exceptions' names, the first that holds; Scrapy's own, Twisted's, and those of
#: ``requests`` and other libraries are named alike. Their texts are not asked: they hold URLs.
WORDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("proxy", ("proxy", "tunnelerror")),
    ("timeout", ("timeout", "timedout")),
    ("dns", ("dnslookup", "resolve", "gaierror", "unknownhost", "nameresolution")),
    ("tls", ("ssl", "tls", "certificate", "verificationerror")),
    ("connection_reset", (
        "connectionlost", "connectiondone", "connectionreset", "connectionaborted", "brokenpipe",
        "remotedisconnected", "responseneverreceived", "remoteprotocolerror", "serverdisconnected",
    )),
    ("aborted", (
        "cancelled", "stopdownload", "dataloss", "partialdownload",
        "chunkedencoding", "contentdecoding", "incompleteread",
    )),
)  # fmt: skip
REFUSED = ("refused", "noroute", "proxyerror")


def error_word(
    exception: BaseException, *, proxied: bool, handled: BaseException | None = None
) -> str:
    """One of the log's ``error`` words. Behind a proxy, what cannot be reached is the proxy.

    ``handled``: what the caller was handling when the fetch began, which is no cause of its end.
    """
    names = [name for cause in _causes(exception, handled) for name in _names(cause)]
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
        if kind.__name__ == "NewConnectionError":  # of urllib3 1: a timeout too, whatever failed
            return


def _causes(exception: BaseException, handled: BaseException | None) -> Iterator[BaseException]:
    """The exception and what it came from: causes, contexts' reasons, Twisted's lists of them."""
    waiting = [exception]
    seen = {id(handled)}
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
