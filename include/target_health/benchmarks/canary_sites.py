"""Local sites with canary pages, for a benchmark: ordinary pages, some of which never end."""

from __future__ import annotations

import selectors
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml

from target_health.benchmarks.made_pages import article_page

#: Every so many pages one hangs: 5 in a hundred.
HANGS_EVERY = 20
PAGE_BYTES = 60_000
DISTINCT = 20


@dataclass(frozen=True, slots=True)
class LocalSites:
    """Where the sites listen: a loopback port each."""

    ports: tuple[int, ...]

    def url(self, site: int, page: int) -> str:
        return f"http://127.0.0.1:{self.ports[site]}/{page}"


def hangs(site: int, page: int, pages_a_site: int) -> bool:
    return (site * pages_a_site + page) % HANGS_EVERY == HANGS_EVERY - 1


@contextmanager
def local_sites(sites: int, pages_a_site: int) -> Iterator[LocalSites]:
    """A server of all sites, in threads of this process; pages that hang do so until it ends."""
    over = threading.Event()
    bodies = [article_page(seed, PAGE_BYTES) for seed in range(DISTINCT)]

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            return

        def do_GET(self) -> None:
            with suppress(OSError, ValueError):
                self.answer()

        def answer(self) -> None:
            site = site_of[self.connection.getsockname()[1]]
            if self.path == "/robots.txt":
                self.reply(404, b"")
                return
            page = int(self.path.strip("/"))
            if hangs(site, page, pages_a_site):
                over.wait()
                return
            self.reply(200, bodies[(site + page) % DISTINCT])

        def reply(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    listening = [socket.create_server(("127.0.0.1", 0), backlog=64) for _ in range(sites)]
    ports = tuple(one.getsockname()[1] for one in listening)
    site_of = {port: site for site, port in enumerate(ports)}
    # Not bound itself: it lends its threads to the sites' connections.
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler, bind_and_activate=False)
    server.daemon_threads = True
    threading.Thread(target=_accept, args=(listening, server, over), daemon=True).start()
    try:
        yield LocalSites(ports)
    finally:
        over.set()
        for one in listening:
            one.close()
        server.server_close()


def _accept(
    listening: Sequence[socket.socket], server: ThreadingHTTPServer, over: threading.Event
) -> None:
    with selectors.DefaultSelector() as selector:
        for one in listening:
            selector.register(one, selectors.EVENT_READ)
        while not over.is_set():
            for key, _ in selector.select(timeout=0.1):
                with suppress(OSError):
                    server.process_request(*key.fileobj.accept())  # type: ignore[union-attr]


def write_canaries(
    place: LocalSites, directory: Path, sites: int, pages_a_site: int, fetching: dict[str, Any]
) -> None:
    """``canaries.yaml`` with every page of every site."""
    checks = [
        {"status": 200},
        {"css": "p", "count": [1, 10_000]},
        {"size": [PAGE_BYTES // 2, PAGE_BYTES * 2]},
    ]
    entries = {
        f"site-{site}.example": {
            "pages": [
                {"id": f"p{page}", "url": place.url(site, page), "checks": checks}
                for page in range(pages_a_site)
            ]
        }
        for site in range(sites)
    }
    directory.mkdir(parents=True, exist_ok=True)
    content = yaml.safe_dump({"fetching": fetching, "sites": entries})
    (directory / "canaries.yaml").write_text(content, encoding="utf-8")
