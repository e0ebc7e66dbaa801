"""A page's skeleton: which elements it is built of, whatever they hold and how often they come."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import xxhash
from lxml import etree

#: Levels below the root, and elements, that are looked at: enough for any template.
DEEPEST = 12
ELEMENTS = 20_000
#: Paths of a skeleton that are kept, the first by hash, so that two pages keep the same ones.
PATHS = 2_000
# Names made anew for each page or build are no part of the structure.
_MADE_UP = re.compile(r"\d|[A-Z].*[A-Z].*[A-Z]|__|^css-|^sc-|^_")


def skeleton_of(tree: etree._Element | None, source: bytes, kind: str) -> tuple[int, ...]:
    """Hashes of the distinct paths of a page (tags and stable classes), or of JSON's keys."""
    if kind == "json":
        try:
            paths = set(_key_paths(json.loads(source), "$", 0))
        except (ValueError, RecursionError):
            return ()
    elif tree is not None:
        paths = set(_element_paths(tree))
    else:
        return ()
    return tuple(sorted(xxhash.xxh3_64_intdigest(path.encode()) >> 1 for path in paths)[:PATHS])


def likeness(one: tuple[int, ...], other: tuple[int, ...]) -> float:
    """Share of all paths that both have: 1 for the same skeleton, 0 for nothing in common."""
    every = set(one) | set(other)
    return len(set(one) & set(other)) / len(every) if every else 1.0


def _element_paths(root: etree._Element) -> Iterator[str]:
    pending: list[tuple[etree._Element, str, int]] = [(root, "", 0)]
    seen = 0
    while pending and seen < ELEMENTS:
        element, above, depth = pending.pop()
        seen += 1
        if not isinstance(element.tag, str) or element.tag in ("script", "style", "svg"):
            continue
        path = f"{above}/{_name(element)}"
        yield path
        if depth < DEEPEST:
            pending.extend((child, path, depth + 1) for child in element)


def _name(element: etree._Element) -> str:
    classes = sorted(
        name for name in (element.get("class") or "").split() if not _MADE_UP.search(name)
    )
    return ".".join([str(element.tag), *classes[:3]])


def _key_paths(value: Any, path: str, depth: int) -> Iterator[str]:
    yield path
    if depth >= DEEPEST:
        return
    if isinstance(value, dict):
        for key, below in value.items():
            yield from _key_paths(below, f"{path}.{key}", depth + 1)
    elif isinstance(value, list):
        for below in value[:200]:
            yield from _key_paths(below, f"{path}[]", depth + 1)
