"""A web server on loopback addresses whose answers a test decides, and which remembers requests."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Headers = dict[str, str]
Answer = tuple[int, Headers, bytes]

#: Enough text for a page to be nobody's interstitial.
TEXT = "The harbour council opened a new bridge for the people of the town. " * 120
CHALLENGE = (
    b"<html><head><title>Just a moment...</title></head><body>"
    b'<div id="challenge-running"></div><script src="/cdn-cgi/challenge-platform/h/b/orchestrate/'
    b'chl_page/v1"></script></body></html>'
)
BLOCKED = (
    b"<html><head><title>Access Denied</title></head><body><h1>Access Denied</h1>"
    b"You don't have permission to access this page on this server. Reference #18.2d351ab8"
    b"</body></html>"
)


def page(title: str, links: list[str] | None = None) -> Answer:
    """A normal page with a heading to extract, and links."""
    anchors = "".join(f'<a href="{link}">more</a>' for link in links or [])
    body = f"<html><head><title>{title}</title></head><body><h1>{title}</h1>{anchors}<p>{TEXT}</p>"
    return 200, {"Content-Type": "text/html; charset=utf-8"}, body.encode()


@dataclass
class LocalSite:
    """Serves on ``127.0.0.<number>``; ``answer`` gives the response to a path."""

    answer: Callable[[str], Answer]
    number: int = 1
    delay_s: float = 0.0
    requests: list[tuple[float, str]] = field(default_factory=list)
    most_at_once: int = 0

    def __post_init__(self) -> None:
        site, lock = self, threading.Lock()
        self.at_once = 0

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                self.do_GET()

            def do_GET(self) -> None:
                with lock:
                    site.requests.append((time.time(), self.path))
                    site.at_once += 1
                    site.most_at_once = max(site.most_at_once, site.at_once)
                try:
                    if site.delay_s:
                        time.sleep(site.delay_s)
                    status, headers, body = site.answer(self.path)
                finally:
                    with lock:
                        site.at_once -= 1
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

        self._server = Server((f"127.0.0.{self.number}", 0), Handler)
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def host(self) -> str:
        return f"127.0.0.{self.number}"

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self._server.server_address[1]}"

    @property
    def paths(self) -> list[str]:
        return [path for _, path in self.requests]

    def __enter__(self) -> LocalSite:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
