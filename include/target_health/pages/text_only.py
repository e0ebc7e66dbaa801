"""A page of which a crawler kept the visible text alone."""

from __future__ import annotations

import html


def as_page(text: str, title: str | None) -> bytes:
    """A plain page with that title and text: all that is known of the real one.

    Links, forms and scripts are not there, so marks that stand in them cannot be seen.
    """
    paragraphs = "".join(
        f"<p>{html.escape(line)}</p>" for line in text.splitlines() if line.strip()
    )
    return (
        f"<html><head><title>{html.escape(title or '')}</title></head>"
        f"<body>{paragraphs}</body></html>"
    ).encode("utf-8", "replace")
