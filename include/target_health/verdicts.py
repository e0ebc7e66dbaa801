"""One verdict a fetch, from what the log knows of it.

Pure: no body is read here. `sql` implements the same order for landed rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

VERDICTS = (
    "unknown",
    "challenge",
    "hard_block",
    "not_found",
    "server_error",
    "client_error",
    "redirect",
    "soft_block",
    "soft_404",
    "paywalled",
    "ok",
)

#: Refusals that a status says by itself. 999 is LinkedIn's, copied by others.
HARD_BLOCK_STATUSES = frozenset({403, 429, 451, 999})

#: Verdicts of a delivered page that evidence can take away from `ok`, in order.
_BODY_VERDICTS = ("soft_block", "soft_404", "paywalled")


def verdict(
    status: int | None,
    error: str | None,
    evidence: Sequence[str],
    has_item_value: bool,
) -> str:
    """The first verdict of the design's table that holds.

    `evidence` holds words of the form `<verdict>:<how>`. An item with a value outweighs
    `challenge:` evidence: whoever extracted a record was not looking at a challenge.
    `error` counts only where there is no status, except `proxy`, which is never the site's word.
    """
    if error == "proxy" or status == 407:
        return "unknown"
    if status is None:
        if error != "connection_reset":
            return "unknown"
    elif not 100 <= status <= 999:
        return "unknown"

    said = {word.partition(":")[0] for word in evidence}
    if "challenge" in said and not has_item_value:
        return "challenge"
    if status is None or status in HARD_BLOCK_STATUSES:
        return "hard_block"
    if status in (404, 410):
        return "not_found"
    if 500 <= status <= 599:
        return "server_error"
    if status < 200 or 400 <= status <= 499 or status >= 600:
        return "client_error"
    if 300 <= status <= 399:
        return "ok" if status == 304 else "redirect"
    for word in _BODY_VERDICTS:
        if word in said:
            return word
    return "ok"


def has_item_value(item: object) -> bool:
    """Whether extraction brought anything: a record with at least one field that holds a value.

    Null, a blank string, an empty list or object, and anything made only of those hold none.
    `false` and `0` are values.
    """
    pending = [item]
    while pending:
        value = pending.pop()
        if value is None:
            continue
        if isinstance(value, str | bytes):
            if value.strip():
                return True
        elif isinstance(value, Mapping):
            pending.extend(value.values())
        elif isinstance(value, list | tuple | set | frozenset):
            pending.extend(value)
        else:
            return True
    return False
