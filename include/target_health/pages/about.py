"""Whether a page tells about challenges and errors, and so quotes what is looked for."""

from __future__ import annotations

from target_health.pages.document import Document
from target_health.pages.markers import Markers, normalized

#: Letters of content from which words about HTTP make a text on it.
_SOME_LETTERS = 175


def is_about(document: Document, markers: Markers) -> bool:
    """Whether the page tells about challenges and errors: an article, a list of codes, a page
    whose title asks how or why."""
    layout = document.layout
    if b"<article" in document.lowered or layout.other_codes > 2:
        return True
    if layout.shows_code or is_about_codes(document, markers):
        return True
    if markers.told_by_a_person.any_in(normalized(layout.visible)):
        return True
    titles = [document.title or "", *document.headings[:1]]
    return any(markers.begins_about(normalized(title)) for title in titles)


def is_about_codes(document: Document, markers: Markers) -> bool:
    """Whether a page with some content shows source code or speaks of HTTP."""
    layout = document.layout
    return layout.content_letters > _SOME_LETTERS and (
        layout.shows_code or markers.about_codes.any_in(normalized(layout.visible))
    )
