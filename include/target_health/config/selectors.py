"""Selectors as configuration files write them, compiled once and refused when they are none."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


@lru_cache(maxsize=4096)
def compile_selector(kind: str, text: str) -> Any:
    """``css`` and ``xpath`` as an ``lxml.etree.XPath``, ``jsonpath`` and ``regex`` compiled, a
    ``header``'s name in lower case.

    Raises ``ValueError`` with one line that says what is wrong with it.
    """
    if kind == "css":
        return _css(text)
    if kind == "xpath":
        return _xpath(text)
    if kind == "jsonpath":
        return _jsonpath(text)
    if kind == "regex":
        try:
            return re.compile(text)
        except re.error as problem:
            raise ValueError(f"{text!r} is no regular expression: {problem}") from None
    if not HEADER.fullmatch(text):
        raise ValueError(f"{text!r} is no header's name")
    return text.lower()


def _css(text: str) -> Any:
    from parsel.csstranslator import HTMLTranslator

    try:
        return _xpath(HTMLTranslator().css_to_xpath(text))
    # cssselect's errors: of the syntax, and of what XPath cannot say.
    except (SyntaxError, RuntimeError) as problem:
        raise ValueError(f"{text!r} is no CSS selector: {problem}") from None


def _xpath(text: str) -> Any:
    from lxml import etree

    try:
        # parsel's translations and users alike may write EXSLT's regular expressions.
        return etree.XPath(text, namespaces={"re": "http://exslt.org/regular-expressions"})
    except etree.XPathSyntaxError as problem:
        raise ValueError(f"{text!r} is no XPath: {problem}") from None


def _jsonpath(text: str) -> Any:
    import jsonpath

    try:
        return jsonpath.compile(text)
    except jsonpath.JSONPathError as problem:
        reason = str(problem).strip().partition("\n")[0]
        raise ValueError(f"{text!r} is no JSONPath: {reason}") from None
