"""What the site really served: exactly one verdict a fetch (DESIGN section 4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Fetch = dict[str, Any]

SAME_ANSWER_URLS = 3


@dataclass(frozen=True)
class History:
    """What the `ok` fetches of one site and page type in the baseline period looked like."""

    usual_bytes: float | None = None
    low_bytes: float | None = None
    ok_fetches: int = 0
    with_item_value: int = 0

    def nearly_always_had_an_item(self) -> bool:
        """At least 95 % of them had an item value (in whole numbers, so exact)."""
        # AMBIGUOUS: the denominator is all those `ok` fetches, also those where extraction was not
        # attempted ("95 % of that page type's `ok` fetches"). Alternative: only attempted ones.
        # AMBIGUOUS: no least number of fetches is named, so one is enough. Alternative: only with
        # a baseline, or with some least number.
        return self.ok_fetches > 0 and self.with_item_value * 100 >= self.ok_fetches * 95


NO_HISTORY = History()


def has_value(item: Any) -> bool:
    """True where something in the item is not empty. Zero and False are values."""
    # AMBIGUOUS: "all fields empty" does not say what empty is. Here: null, text of blanks only, an
    # empty list or object, and a list or object of nothing but empties, however deep.
    # Alternative: only null and '' at the top level.
    if item is None:
        return False
    if isinstance(item, str):
        return item.strip() != ""
    if isinstance(item, dict):
        return any(has_value(value) for value in item.values())
    if isinstance(item, (list, tuple)):
        return any(has_value(value) for value in item)
    return True


def brought_no_item(fetch: Fetch) -> bool:
    """No item value: null, all fields empty, or absent."""
    return not has_value(fetch.get("item"))


def is_2xx(fetch: Fetch) -> bool:
    status = fetch.get("status")
    return status is not None and 200 <= status <= 299


def _has_evidence(fetch: Fetch, verdict: str) -> bool:
    return any(mark.startswith(verdict + ":") for mark in fetch.get("evidence") or [])


def landing_verdict(fetch: Fetch) -> str:
    """The verdict seen at landing: without the two rules that need history."""
    return final_verdict(fetch)


def final_verdict(  # noqa: PLR0912 - the DESIGN's table, line by line
    fetch: Fetch, history: History = NO_HISTORY, same_answer_urls: int = 0
) -> str:
    """The first verdict of the DESIGN's table that holds.

    ``same_answer_urls``: to how many distinct URLs of the window this fetch's answer came.
    """
    status = fetch.get("status")
    error = fetch.get("error")

    if error == "proxy" or status == 407:
        return "unknown"
    if status is None and error != "connection_reset":
        return "unknown"

    # An item counts with a value only where the key is there and holds one.
    if _has_evidence(fetch, "challenge") and not has_value(fetch.get("item")):
        return "challenge"

    # AMBIGUOUS: 403 with challenge evidence and an item value. Challenge is out by the item, and
    # hard_block asks for "without challenge evidence". Evidence that the item refutes is taken as
    # none, so hard_block. Alternative: client_error.
    if status is None or status in (403, 429, 451, 999):
        return "hard_block"

    if status in (404, 410):
        return "not_found"
    if 500 <= status <= 599:
        return "server_error"
    if 400 <= status <= 499 or 100 <= status <= 199 or 600 <= status <= 998:
        return "client_error"
    if status == 304:
        return "ok"  # says nothing about size or extraction, and is not 2xx
    if 300 <= status <= 399:
        return "redirect"

    if _has_evidence(fetch, "soft_block"):
        return "soft_block"
    if _has_evidence(fetch, "soft_404"):
        return "soft_404"
    # Marks in the log are findings, not phrases: one `paywalled:` mark is enough here. Weighing
    # the page's evidence against each other is the classifier's work, before it writes the mark.
    if _has_evidence(fetch, "paywalled"):
        return "paywalled"
    # AMBIGUOUS: by the table's order the history rules stand before soft_404 and paywalled. Here
    # they turn only what was `ok` at landing: a mark in the page says more than its size.
    if brought_no_item(fetch):
        # AMBIGUOUS: "size" is `bytes`. Alternative: text_length.
        size, usual = fetch.get("bytes"), history.usual_bytes
        if size is not None and usual is not None and size < usual * 0.3:
            # AMBIGUOUS: an absent item was not attempted. The size then counts only where small
            # pages are rare: at most 5 % of the usual ones are that small.
            assert history.low_bytes is not None
            if "item" in fetch or history.low_bytes >= usual * 0.3:
                return "soft_block"
        if history.nearly_always_had_an_item() and same_answer_urls >= SAME_ANSWER_URLS:
            return "soft_block"
    return "ok"
