"""What can come of a simulated fetch, and what the log then says of it.

The simulator speaks in outcomes; status, error, size and evidence follow from them in one place.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd


@dataclass(frozen=True, slots=True)
class Outcome:
    """One kind of answer.

    ``verdict`` is the final one of the design, ``landing_verdict`` what evidence alone shows.
    ``statuses`` are taken in turn; none means no response. ``size`` is a factor on the page's own
    size (0: nothing logged), ``latency`` a factor on the fetch's latency, unless
    ``wait_ms`` says how long the crawler waited in vain. ``answer`` is whose body came:
    ``page`` the page's own, ``fetch`` another each time, ``site`` one for every URL.
    ``item`` is what extraction sees: ``page`` the page's, ``none`` attempted without result,
    ``absent`` not attempted. ``evidence`` has ``{vendor}`` for the site's challenge vendor.
    """

    name: str
    verdict: str
    statuses: tuple[int, ...] = ()
    error: str | None = None
    landing_verdict: str | None = None
    evidence: str | None = None
    title: str | None = None
    size: float = 0.0
    latency: float = 1.0
    wait_ms: int = 0
    answer: str = "fetch"
    item: str = "absent"
    final_path: str | None = None
    attempts: int = 1


OUTCOMES: tuple[Outcome, ...] = (
    Outcome("ok", "ok", (200,), size=1.0, answer="page", item="page"),
    Outcome("not_modified", "ok", (304,), latency=0.4),
    Outcome(
        "forbidden",
        "hard_block",
        (403,),
        title="403 Forbidden",
        size=0.02,
        latency=0.3,
        answer="site",
        attempts=2,
    ),
    Outcome(
        "rate_limited",
        "hard_block",
        (429,),
        title="Too Many Requests",
        size=0.01,
        latency=0.2,
        answer="site",
        attempts=3,
    ),
    Outcome("reset", "hard_block", error="connection_reset", latency=0.5, attempts=3),
    Outcome(
        "challenge",
        "challenge",
        (403, 403, 503, 200),
        evidence="challenge:{vendor}",
        title="Just a moment...",
        size=0.15,
        latency=0.5,
        item="none",
        attempts=2,
    ),
    Outcome(
        "soft_block_marked",
        "soft_block",
        (200,),
        evidence="soft_block:block_page",
        title="Access denied",
        size=0.08,
        latency=0.6,
        item="none",
    ),
    Outcome(
        "soft_block_small",
        "soft_block",
        (200,),
        landing_verdict="ok",
        title="Welcome",
        size=0.12,
        latency=0.8,
        item="none",
    ),
    Outcome(
        "soft_block_same",
        "soft_block",
        (200,),
        landing_verdict="ok",
        title="Welcome",
        size=0.75,
        answer="site",
        item="none",
    ),
    Outcome(
        "soft_block_login",
        "soft_block",
        (200,),
        landing_verdict="ok",
        title="Log in",
        size=0.45,
        answer="site",
        item="none",
        final_path="/login",
    ),
    Outcome(
        "soft_404",
        "soft_404",
        (200,),
        evidence="soft_404:title",
        title="Page not found",
        size=0.8,
        item="none",
    ),
    Outcome(
        "paywalled",
        "paywalled",
        (200,),
        evidence="paywalled:schema_org",
        size=0.6,
        answer="page",
        item="page",
    ),
    Outcome(
        "not_found",
        "not_found",
        (404,),
        title="404 Not Found",
        size=0.1,
        latency=0.6,
        answer="site",
    ),
    Outcome("gone", "not_found", (410,), title="410 Gone", size=0.05, latency=0.5, answer="site"),
    Outcome(
        "bad_request",
        "client_error",
        (400, 401, 400),
        title="400 Bad Request",
        size=0.02,
        latency=0.3,
        answer="site",
    ),
    Outcome(
        "server_error",
        "server_error",
        (503, 500, 502),
        title="Service Unavailable",
        size=0.03,
        latency=1.5,
        attempts=3,
    ),
    Outcome("redirect", "redirect", (302, 301), latency=0.3),
    Outcome("timeout", "unknown", error="timeout", wait_ms=30_000, attempts=3),
    Outcome("dns", "unknown", error="dns", wait_ms=5_000, attempts=2),
    Outcome("tls", "unknown", error="tls", latency=0.5, attempts=2),
    Outcome("proxy", "unknown", error="proxy", wait_ms=2_000, attempts=3),
)

OUTCOME_NAMES = tuple(outcome.name for outcome in OUTCOMES)
OUTCOME = pd.CategoricalDtype(list(OUTCOME_NAMES))


def verdict_counts(fetches: np.ndarray, *, at_landing: bool = False) -> dict[str, int]:
    """Fetches by verdict, of fetches by outcome (in ``OUTCOMES``' order).

    ``at_landing``: as the evidence alone shows, without the site's history.
    """
    counts: dict[str, int] = {}
    for outcome, number in zip(OUTCOMES, fetches.tolist(), strict=True):
        verdict = (outcome.landing_verdict if at_landing else None) or outcome.verdict
        if number:
            counts[verdict] = counts.get(verdict, 0) + number
    return counts
