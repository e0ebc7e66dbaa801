"""Sending one page to one address, through Apprise, which is imported when there is one to send."""

from __future__ import annotations

import logging
import re
from urllib.parse import urlsplit

from target_health.paging.records import Target

LONGEST_ERROR = 300
SECRETS_IN_URLS = re.compile(r"://[^/\s@]*@|[?&][^\s]*")


def shown_address(target: Target) -> str:
    """The address without its secrets."""
    scheme = target.url.split("://")[0]
    import apprise

    made = apprise.Apprise.instantiate(target.url)
    host = urlsplit(str(made.url(privacy=True))).netloc.rpartition("@")[2] if made else ""
    return f"{scheme}://{host or '…'}"


def send(target: Target, title: str, body: str) -> str | None:
    """None when it was delivered, else why not, in one line without secrets."""
    import apprise

    made = apprise.Apprise.instantiate(target.url)
    if made is None:
        return "is no address that Apprise knows: see its list of services"
    with apprise.LogCapture(level=logging.WARNING, fmt="%(message)s") as captured:
        try:
            delivered = made.notify(body=body, title=title, body_format=apprise.NotifyFormat.TEXT)
        # Whatever a service's plugin raises is that page's trouble only.
        except Exception as problem:
            return one_line(f"{type(problem).__name__}: {problem}")
        said = captured.getvalue() if captured is not None else ""
    if delivered:
        return None
    return one_line(said) or "was not delivered; the service gave no reason"


def one_line(text: str) -> str:
    return SECRETS_IN_URLS.sub("://…@", " ".join(text.split()))[:LONGEST_ERROR]
