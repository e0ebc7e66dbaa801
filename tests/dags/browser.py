"""A real browser, Debian's chromium, that talks to this machine only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import ConsoleMessage, Page, sync_playwright

CHROMIUM = Path("/usr/bin/chromium")
WAIT_MS = 60_000
# Plotly's script brings a style sheet for maps along, which our pages do not draw: it is refused.
EXPECTED_COMPLAINT = "Applying inline style violates"


@contextmanager
def open_page(complaints: list[str]) -> Iterator[Page]:
    """A fresh browser's page; what scripts complain of is added to ``complaints``."""
    if not CHROMIUM.exists():
        pytest.skip("there is no /usr/bin/chromium: apt-get install chromium")

    def heard(message: ConsoleMessage) -> None:
        if message.type == "error" and not message.text.startswith(EXPECTED_COMPLAINT):
            complaints.append(message.text)

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(CHROMIUM),
            args=["--no-sandbox", "--disable-background-networking", "--disable-dev-shm-usage"],
        )
        page = browser.new_page()
        page.set_default_timeout(WAIT_MS)
        page.on("console", heard)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        yield page
        browser.close()
