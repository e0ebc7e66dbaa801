"""Templates, and the files that they name."""

from __future__ import annotations

import hashlib
import importlib.util
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from fastapi import Request, Response
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from target_health.dashboard import words
from target_health.errors import TargetHealthError
from target_health.times import utc_now

HERE = Path(__file__).parent
STATIC = HERE / "static"
TEMPLATES = HERE / "templates"


def plotly_script() -> Path:
    """Plotly's script in its installed package, which need not be imported for it."""
    found = importlib.util.find_spec("plotly")
    if found is None or found.origin is None:
        raise TargetHealthError("plotly is not installed: pip install -r requirements.txt")
    return Path(found.origin).parent / "package_data" / "plotly.min.js"


@cache
def static_address(name: str) -> str:
    """A static file's relative address, another one whenever its content is another."""
    path = plotly_script() if name == "plotly.min.js" else STATIC / name
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    return f"static/{name}?v={digest}"


def address(place: str, **query: Any) -> str:
    """A relative link with a query; what is empty is left out."""
    kept = {key: value for key, value in query.items() if value not in ("", None)}
    return f"{place}?{urlencode(kept)}" if kept else place


class Renderer:
    """Makes pages; everything that stands in them is escaped."""

    def __init__(self) -> None:
        self._environment = Environment(
            loader=FileSystemLoader(TEMPLATES),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.globals.update(
            words=words, static=static_address, address=address, enumerate=enumerate
        )

    def page(self, name: str, request: Request, **shown: Any) -> Response:
        # A form's answer lies one level deeper than the page that it shows.
        path = request.url.path.removeprefix(request.scope.get("root_path") or "")
        up = "../" * (path.count("/") - 1)
        template = self._environment.get_template(name)
        return HTMLResponse(template.render(now=utc_now(), up=up, **shown))

    def message(self, request: Request, status: int, title: str, text: str, how: str) -> Response:
        """A page with one line that says what is the matter, and one what to do."""
        response = self.page("message.html", request, title=title, text=text, how=how)
        response.status_code = status
        return response

    def first_page(self, request: Request) -> Response:
        """What to do while nothing was published yet."""
        return self.page("first.html", request)
