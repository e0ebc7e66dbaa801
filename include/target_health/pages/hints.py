"""Which hint decides: a mark that stands on many pages, on one with little else."""

from __future__ import annotations

import re

from target_health.pages.document import Document
from target_health.pages.layout import Layout
from target_health.pages.markers import Needle

#: Letters of content up to which a page is bare.
HINT_LETTERS = 350

#: Links beside a hint: a page with a menu to go on by is the site's own.
HINT_LINKS = 12


def telling_hint(hints: list[Needle], document: Document) -> list[Needle]:
    """The hint that a bare page is told by: said twice, said by a page that says nothing else,
    or a widget or script with nothing around it.

    Applications whose pages are empty before their scripts run load the same scripts, so on such
    a shell only words count.
    """
    layout = document.layout
    if layout.content_letters > HINT_LETTERS or not _asks_little(layout):
        return []
    spoken = [needle for needle in hints if needle.place in ("title", "heading", "text")]
    sentences = [needle for needle in spoken if needle.place == "text"]
    if layout.links > HINT_LINKS or layout.search_inputs:
        # A site's own page around it: what is said must stand beside a widget.
        widget = any(widget in document.lowered for widget in _WIDGETS)
        return (sentences or spoken)[:1] if widget and not layout.user_inputs else []
    shell = _SHELL.search(document.lowered) is not None
    kinds = {(needle.how, _SPOKEN.get(needle.place, needle.place)) for needle in hints}
    if spoken and len(kinds) > 1 and (sentences or not shell):
        return (sentences or spoken)[:1]
    if shell or layout.links > _LONE_LINKS:
        return []
    return sentences[:1] or _lone_script(hints, document)


def _asks_little(layout: Layout) -> bool:
    """No form to fill in but the field for a picture's letters."""
    if not layout.user_inputs:
        return True
    return layout.user_inputs == layout.plain_inputs == 1 and layout.images > 0


#: A title and a heading say the same thing once.
_SPOKEN = {"title": "label", "heading": "label"}


def _lone_script(hints: list[Needle], document: Document) -> list[Needle]:
    """A widget or a script on a page that shows nothing else."""
    layout = document.layout
    if layout.links or layout.images or layout.content_letters > _NOTHING_BUT_A_LINE:
        return []
    scripts = [needle for needle in hints if needle.place == "html"]
    empty = layout.content_letters <= _NOTHING
    if empty and any(widget in document.lowered for widget in _WIDGETS):
        return scripts[:1]
    if document.size > _SMALL:
        return []
    alone = empty and document.lowered.count(b"<script") <= 3
    return [needle for needle in scripts if alone or needle.how == "javascript_gate"][:1]


#: Links on a page that one sentence decides on.
_LONE_LINKS = 3
#: Letters of a page with a waiting line on it, and of one with nothing.
_NOTHING_BUT_A_LINE = 60
_NOTHING = 20
#: Bytes of a page that holds a redirecting script and no more.
_SMALL = 6_000

#: Elements that captcha services fill.
_WIDGETS = (b"data-sitekey", b"g-recaptcha", b"h-captcha", b"cf-turnstile", b"geetest_")
#: Elements that applications fill.
_SHELL = re.compile(
    rb"""id=["']?(?:root|app|__next|__nuxt|react-root|q-app|main-app|svelte|___gatsby|ember\d*"""
    rb"""|app-root|application)["'>\s]|<app-root|ng-app|ng-version|type=["']module["']"""
)
