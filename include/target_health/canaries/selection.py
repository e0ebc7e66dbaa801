"""What a check looks at: the values that it finds on a page."""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any

from lxml import etree

from target_health.canaries.records import Answer
from target_health.canaries.skeleton import skeleton_of
from target_health.canaries.values import plain_text
from target_health.config.selectors import compile_selector
from target_health.pages.document import Document

#: Characters of the source that regular expressions are run over, and values that are looked at.
REGEX_LIMIT = 1_000_000
MOST_VALUES = 5_000


class Seen:
    """A page as checks see it. Each part is worked out at its first use."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.headers = {name.lower(): value for name, value in answer.headers.items()}
        # Two documents: reading the visible text drops the scripts that selectors may ask for.
        self._read = Document(answer.body, self.headers.get("content-type", ""))

    @property
    def kind(self) -> str:
        return self._read.kind

    @cached_property
    def text(self) -> str:
        """The visible text, white space collapsed; JSON and plain text as they are."""
        return self._read.text

    @cached_property
    def title(self) -> str | None:
        return self._read.title

    @cached_property
    def source(self) -> str:
        return self._read.raw.decode("utf-8", "replace")

    @cached_property
    def tree(self) -> etree._Element | None:
        if self.kind not in ("html", "xml") or not self._read.raw:
            return None
        source = self._read.raw.replace(b"\x00", b"")
        options: dict[str, Any] = {"encoding": "utf-8", "recover": True, "huge_tree": True}
        try:
            if self.kind == "xml":
                return etree.fromstring(
                    source, etree.XMLParser(resolve_entities=False, no_network=True, **options)
                )
            return etree.fromstring(source, etree.HTMLParser(**options))
        except (etree.XMLSyntaxError, ValueError, AssertionError):
            return None

    @cached_property
    def data(self) -> Any:
        """The page as JSON; raises ``ValueError`` where it is none."""
        return json.loads(self.source)

    @cached_property
    def skeleton(self) -> tuple[int, ...]:
        return skeleton_of(self.tree, self._read.raw, self.kind)

    def values(self, kind: str, selector: str) -> list[Any]:
        """What a selector finds, in the order of the page; nothing where it does not apply."""
        compiled = compile_selector(kind, selector)
        if kind == "header":
            value = self.headers.get(compiled)
            return [] if value is None else [value]
        if kind == "regex":
            found = compiled.finditer(self.source[:REGEX_LIMIT])
            texts = (match[1] if compiled.groups else match[0] for match in found)
            return [text for text, _ in zip(texts, range(MOST_VALUES), strict=False) if text]
        if kind == "jsonpath":
            try:
                return list(compiled.findall(self.data))[:MOST_VALUES]
            except (ValueError, RecursionError, TypeError):
                return []
        return self._elements(compiled)

    def _elements(self, compiled: etree.XPath) -> list[Any]:
        if self.tree is None:
            return []
        try:
            found = compiled(self.tree)
        except etree.XPathError:
            return []
        if not isinstance(found, list):
            return [found]
        return [_text_of(item) for item in found[:MOST_VALUES]]


def _text_of(item: Any) -> str:
    if isinstance(item, etree._Element):
        # Comments and processing instructions have no text to see.
        text = etree.tostring(item, method="text", encoding="unicode", with_tail=False)
        return plain_text(text)
    return plain_text(str(item))
