"""Whether a page tells about challenges and errors, and so quotes what is looked for."""

from __future__ import annotations

from target_health.pages.document import Document
from target_health.pages.markers import Markers, normalized

#: Letters of content from which words about HTTP make a text on it.
_SOME_LETTERS = 120
#: The same beside source code; error pages are decorated with it.
_BESIDE_CODE = 175


def is_about(document: Document, markers: Markers) -> bool:
    """Whether the page tells about challenges and errors: an article, a list of codes, a page
    whose title asks how or why."""
    layout = document.layout
    if b"<article" in document.lowered or layout.other_codes > 2:
        return True
    if layout.shows_code or is_about_codes(document, markers):
        return True
    return is_told(document, markers)


def is_told(document: Document, markers: Markers) -> bool:
    """Whether a title asks how or why, or somebody tells what happened to them."""
    titles = [document.title or "", *document.headings[:1]]
    if any(markers.begins_about(normalized(title)) for title in titles):
        return True
    return markers.told_by_a_person.any_in(normalized(document.layout.visible))


def is_about_codes(document: Document, markers: Markers) -> bool:
    """Whether a page with some content shows source code or speaks of HTTP."""
    layout = document.layout
    content = layout.content_letters
    if content > _BESIDE_CODE and layout.shows_code:
        return True
    return content > _SOME_LETTERS and markers.about_codes.any_in(normalized(layout.visible))
