"""Checks proposed for a live page: what looks like its title, its price, its list. Pure."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any
from urllib.parse import urlsplit

import yaml
from lxml import etree

from target_health.canaries.records import Answer
from target_health.canaries.selection import Seen
from target_health.canaries.values import plain_text, readings

#: Where pages name their price in their source, the surest first.
PRICES = (
    '//meta[@itemprop="price"]/@content',
    '//meta[@property="product:price:amount"]/@content',
    '//meta[@property="og:price:amount"]/@content',
    '//*[@itemprop="price"]/@content',
    '//*[@itemprop="price"]/text()',
)
PRICE_IN_DATA = r'"price"\s*:\s*"?([0-9]+(?:[.,][0-9]+)?)'
LONGEST_TEXT = 200
FEWEST_ITEMS = 4
MOST_FIELDS = 5


def propose(answer: Answer) -> list[dict[str, Any]]:
    """Entries for ``checks`` in ``canaries.yaml``; the page is taken to be as it should be."""
    seen = Seen(answer)
    checks: list[dict[str, Any]] = [{"status": answer.status}]
    if seen.kind == "json":
        return checks + _of_data(seen)
    title = plain_text(seen.title or "")
    if title:
        checks.append({"title": title})
    if seen.tree is not None:
        heading = [text for text in seen.values("xpath", "//h1") if text][:1]
        if heading and len(heading[0]) <= LONGEST_TEXT:
            checks.append({"xpath": "//h1", "equals": heading[0]})
        checks += _of_price(seen)
        checks += _of_items(seen.tree, seen)
    size = len(answer.body)
    checks.append({"size": [size // 2, size * 2]})
    if seen.skeleton:
        checks.append({"structure": "unchanged"})
    return checks


def _of_price(seen: Seen) -> list[dict[str, Any]]:
    for kind, selector in [*(("xpath", path) for path in PRICES), ("regex", PRICE_IN_DATA)]:
        values = [plain_text(value) for value in seen.values(kind, selector)]
        numbers = readings(values[0]) if values else ()
        if numbers:
            return [{kind: selector, "number": numbers[0], "tolerance": "5%"}]
    return []


def _of_items(tree: etree._Element, seen: Seen) -> list[dict[str, Any]]:
    """The element that comes most often with one class under one parent: a list's items."""
    groups: Counter[tuple[str, str]] = Counter()
    for parent in tree.iter():
        if not isinstance(parent.tag, str) or parent.tag in ("head", "nav", "header", "footer"):
            continue
        children = Counter(
            (child.tag, name)
            for child in parent
            if isinstance(child.tag, str)
            for name in (child.get("class") or "").split()[:1]
            if re.fullmatch(r"[A-Za-z][A-Za-z_-]*", name)
        )
        for group, count in children.items():
            groups[group] = max(groups[group], count)
    for (tag, name), count in groups.most_common(1):
        selector = f"{tag}.{name}"
        there = len(seen.values("css", selector))
        if count >= FEWEST_ITEMS:
            return [{"css": selector, "count": [max(1, there * 4 // 5), there * 5 // 4]}]
    return []


def _of_data(seen: Seen) -> list[dict[str, Any]]:
    try:
        data = seen.data
    except (ValueError, RecursionError):
        return []
    checks: list[dict[str, Any]] = []
    if isinstance(data, list):
        checks.append({"jsonpath": "$[*]", "count": [max(1, len(data) // 2), len(data) * 2]})
        return [*checks, {"structure": "unchanged"}]
    for key, value in data.items() if isinstance(data, dict) else ():
        if not re.fullmatch(r"[A-Za-z_]\w*", key) or len(checks) == MOST_FIELDS:
            continue
        if isinstance(value, list) and value:
            count = [max(1, len(value) // 2), len(value) * 2]
            checks.append({"jsonpath": f"$.{key}[*]", "count": count})
        elif isinstance(value, int | float) and not isinstance(value, bool):
            checks.append({"jsonpath": f"$.{key}", "number": value})
        elif isinstance(value, str) and 0 < len(value) <= LONGEST_TEXT:
            checks.append({"jsonpath": f"$.{key}", "equals": plain_text(value)})
    return [*checks, {"structure": "unchanged"}]


def page_id_of(url: str, taken: set[str]) -> str:
    """An id for a page from its address, that no other page of the site has."""
    path = urlsplit(url).path.strip("/")
    name = re.sub(r"[^A-Za-z0-9]+", "-", path.rpartition("/")[2].partition(".")[0]).strip("-")
    name = (name or "home").lower()[:60]
    return next(
        one for one in (name, *(f"{name}-{number}" for number in range(2, 9999)))
        if one not in taken
    )  # fmt: skip


def entry_yaml(site: str, page: dict[str, Any]) -> str:
    """A page's entry as it stands in ``canaries.yaml``."""
    content = {"sites": {site: {"pages": [page]}}}
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=96)
