"""Loopback servers for canaries: a site that may lie, and a proxy that needs credentials."""

from __future__ import annotations

import base64
import http.client
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

#: Headers of a request, names in lower case.
Headers = dict[str, str]


@dataclass
class Reply:
    body: bytes | str = b""
    status: int = 200
    headers: Headers = field(default_factory=dict)
    #: Seconds before the answer, and between two bytes of the body.
    wait_s: float = 0.0
    drip_s: float = 0.0
    #: Drip the headers instead, for ever.
    drip_headers: bool = False
    hang_up: bool = False


Answering = Callable[[Headers], Reply]


class LocalSite:
    """Pages by path. ``seen`` are the requests: path and headers."""

    def __init__(self) -> None:
        self.pages: dict[str, Answering | Reply] = {}
        self.missing: Answering | Reply = Reply("not here", 404)
        self.seen: list[tuple[str, Headers]] = []
        self.done = threading.Event()
        self._server = _server(self._answer)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self.netloc = f"127.0.0.1:{self._server.server_port}"

    def page(self, path: str, reply: Answering | Reply | str, **more: str) -> str:
        """Put a page, as HTML where it is text; returns its URL."""
        if isinstance(reply, str):
            reply = Reply(reply, headers={"Content-Type": "text/html; charset=utf-8", **more})
        self.pages[path] = reply
        return self.url + path

    def paths(self) -> list[str]:
        return [path for path, _ in self.seen]

    def close(self) -> None:
        self.done.set()
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        headers = {name.lower(): value for name, value in handler.headers.items()}
        self.seen.append((handler.path, headers))
        reply = self.pages.get(handler.path, self.missing)
        if not isinstance(reply, Reply):
            reply = reply(headers)
        if reply.wait_s:
            self.done.wait(reply.wait_s)
        if reply.hang_up:
            handler.close_connection = True
            return
        if reply.drip_headers:
            handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
            while not self.done.wait(0.05):
                handler.wfile.write(b"x")
                handler.wfile.flush()
            return
        body = reply.body.encode() if isinstance(reply.body, str) else reply.body
        handler.send_response(reply.status)
        for name, value in reply.headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        if not reply.drip_s:
            handler.wfile.write(body)
            return
        for place in range(len(body)):
            if self.done.wait(reply.drip_s):
                return
            handler.wfile.write(body[place : place + 1])
            handler.wfile.flush()


class LocalProxy:
    """Forwards plain HTTP for those who know user and password, and says so in ``X-Via``."""

    def __init__(self, user: str, password: str) -> None:
        self.forwarded: list[str] = []
        self._token = base64.b64encode(f"{user}:{password}".encode()).decode()
        self._server = _server(self._answer)
        self.netloc = f"127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        if handler.headers.get("Proxy-Authorization") != f"Basic {self._token}":
            handler.send_response(407)
            handler.send_header("Proxy-Authenticate", 'Basic realm="proxy"')
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        self.forwarded.append(handler.path)
        parts = urlsplit(handler.path)
        connection = http.client.HTTPConnection(parts.netloc, timeout=5)
        kept = {
            name: value
            for name, value in handler.headers.items()
            if not name.lower().startswith("proxy-")
        }
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        connection.request("GET", path, headers={**kept, "X-Via": "proxy"})
        answer = connection.getresponse()
        body = answer.read()
        handler.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("content-length", "connection", "date", "server"):
                handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)
        connection.close()


def _server(answer: Callable[[BaseHTTPRequestHandler], None]) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:
            return

        def do_GET(self) -> None:
            with suppress(OSError):
                answer(self)

        def handle_one_request(self) -> None:
            with suppress(OSError):
                super().handle_one_request()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    return server


@contextmanager
def local_site() -> Iterator[LocalSite]:
    site = LocalSite()
    try:
        yield site
    finally:
        site.close()


def wait_until(holds: Callable[[], bool], seconds: float = 5.0) -> None:
    """Wait for another thread; fails by its caller's next assertion."""
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.01)
