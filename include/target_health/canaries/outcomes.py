"""What a canary's page says: the page's verdict first, then its checks. Pure."""

from __future__ import annotations

import re
from datetime import datetime
from urllib.parse import urlsplit

from target_health.canaries.expectations import accepts_status, run_check, told_expectation
from target_health.canaries.records import (
    GRAVEST_FIRST,
    WHOLE_PAGE,
    Answer,
    CheckResult,
    Known,
    Observation,
    Outcome,
    PageFacts,
    Via,
    Watch,
)
from target_health.canaries.selection import Seen
from target_health.canaries.values import shown
from target_health.config.canaries import CanaryPage
from target_health.pages import Markers, Response, classify
from target_health.verdicts import verdict as verdict_of

#: Verdicts by which the page did not come, and what its checks then are.
WITHHELD: dict[str, Outcome] = {
    "unknown": "unknown",
    "server_error": "unknown",
    "challenge": "challenged",
    "hard_block": "blocked",
    "soft_block": "blocked",
    "client_error": "blocked",
    "not_found": "missing",
    "soft_404": "missing",
    "redirect": "missing",
}
#: Statuses of which a canary may say itself that they are right.
OWN_WORD = frozenset({"not_found", "client_error", "server_error", "redirect"})

LOGIN_PATH = re.compile(
    r"(?:^|[/_.-])(?:log-?in|sign-?in|signon|logon|sso|auth|oauth2?)(?:[/_.-]|$)"
)
PASSWORD_FIELD = "//input[translate(@type, 'PASWORD', 'pasword') = 'password']"
LOGIN = "redirect:login"
ELSEWHERE = "redirect:elsewhere"


def observe(
    watch: Watch,
    answer: Answer,
    known: Known,
    markers: Markers,
    *,
    observed_at: datetime,
    structure_share: float,
    via: Via = "fetch",
) -> Observation:
    """One answer to one canary. Never raises for what a page holds."""
    page = watch.page
    seen = Seen(answer)
    response = Response(
        status=answer.status,
        body=answer.body,
        headers=answer.headers,
        url=answer.final_url or page.url,
        item=answer.item,
        error=answer.error,
    )
    found = classify(response, markers)
    evidence = tuple(dict.fromkeys([*answer.evidence, *found.evidence]))
    word = verdict_of(answer.status, answer.error, evidence, response.has_item())
    moved = moved_to(page.url, answer, seen)
    if moved:
        evidence = (*evidence, moved)
    if page.missing:
        checks: tuple[CheckResult, ...] = (missing_page(word, moved, answer, found.title),)
    else:
        checks = checked(page, seen, known, word, moved, structure_share)
    return Observation(
        site=watch.site,
        page=page.id,
        url=page.url,
        observed_at=observed_at,
        route=watch.route,
        via=via,
        outcome=gravest(checks),
        checks=checks,
        verdict=word,
        status=answer.status,
        error=answer.error,
        evidence=evidence,
        final_url=answer.final_url,
        latency_ms=answer.latency_ms,
        facts=PageFacts(
            size=len(answer.body),
            title=found.title,
            text_length=found.text_length,
            content_hash=found.content_hash,
            text_hash=found.text_hash,
            skeleton=seen.skeleton if answer.body and needs_skeleton(page) else (),
        ),
    )


def needs_skeleton(page: CanaryPage) -> bool:
    return any(check.subject == "structure" for check in page.checks)


def gravest(checks: tuple[CheckResult, ...]) -> Outcome:
    """A page's outcome: that of its worst check. A check that cannot tell says nothing of a page
    of which others can.
    """
    told = {check.outcome for check in checks}
    if told - {"unknown"}:
        told.discard("unknown")
    return next((outcome for outcome in GRAVEST_FIRST if outcome in told), "unknown")


def checked(
    page: CanaryPage, seen: Seen, known: Known, word: str, moved: str, structure_share: float
) -> tuple[CheckResult, ...]:
    """A page's checks, under the verdict on the page."""
    answer = seen.answer
    if word in OWN_WORD and any(
        check.subject == "status" and accepts_status(check, answer.status) for check in page.checks
    ):
        word = "ok"
    withheld: Outcome | None = WITHHELD.get(word)
    if moved == LOGIN and withheld is None:
        withheld = "blocked"
    results = (
        tuple(run_check(check, seen, known, structure_share) for check in page.checks)
        if withheld is None or (answer.body and withheld != "unknown")
        else ()
    )
    right = bool(results) and gravest(results) == "pass"
    if withheld is not None:
        detail = told_answer(word, answer)
        if moved == LOGIN:
            detail = "sent to a log-in"
        if right:
            detail += ", though the values are right"
        return tuple(
            CheckResult(check.label, withheld, told_expectation(check), detail=detail)
            for check in page.checks
        )
    if right or (not moved and word != "paywalled"):
        return results
    # Another page, or an article cut short, has other values; none of them is a lie.
    instead: Outcome = "blocked" if word == "paywalled" else "missing"
    detail = "paywalled" if word == "paywalled" else f"sent to {shown(answer.final_url)}"
    return tuple(
        CheckResult(
            result.check,
            instead if result.outcome in ("wrong_value", "missing") else result.outcome,
            result.expected,
            result.got,
            detail=detail,
        )
        for result in results
    )


def missing_page(word: str, moved: str, answer: Answer, title: str | None) -> CheckResult:
    """A URL that must not exist: any answer that is no refusal is right, and learned."""
    outcome = WITHHELD.get(word, "pass")
    if word in ("not_found", "soft_404", "redirect"):
        outcome = "pass"
    if moved == LOGIN and outcome == "pass":
        outcome = "blocked"
    got = str(answer.status) if answer.status is not None else None
    if got and title:
        got = shown(f"{got} {title}")
    detail = "" if outcome == "pass" else told_answer(word, answer)
    return CheckResult(WHOLE_PAGE, outcome, "not found", got, detail=detail)


def told_answer(word: str, answer: Answer) -> str:
    """The answer in a few words."""
    what = str(answer.status) if answer.status is not None else answer.error or "no answer"
    parts = [word.replace("_", " "), what, answer.detail]
    return ", ".join(dict.fromkeys(part for part in parts if part))


def moved_to(url: str, answer: Answer, seen: Seen) -> str:
    """Whether the answer is that of another page than was asked for, and which kind of page."""
    if not answer.final_url or same_place(url, answer.final_url):
        return ""
    path = urlsplit(answer.final_url).path.lower()
    if LOGIN_PATH.search(path) and not LOGIN_PATH.search(urlsplit(url).path.lower()):
        return LOGIN
    if seen.kind == "html" and seen.values("xpath", PASSWORD_FIELD):
        return LOGIN
    return ELSEWHERE


def same_place(one: str, other: str) -> bool:
    """Whether two URLs name one page, but for scheme, ``www.``, case, slash and fragment."""
    try:
        parts = [urlsplit(url) for url in (one, other)]
        places = {
            (
                (part.hostname or "").removeprefix("www."),
                part.path.rstrip("/").lower(),
                part.query,
            )
            for part in parts
        }
    except ValueError:
        return one == other
    return len(places) == 1
