"""What a site's canaries say of the site, and where they disagree with its score. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from target_health.canaries.states import PageState
from target_health.config.canaries import CanaryRules
from target_health.times import iso

Word = Literal["deceived", "note", "refused", "good", "unknown"]

REFUSED = frozenset({"blocked", "challenged"})


@dataclass(frozen=True, slots=True)
class Standing:
    """How the scores and the decisions have a site; None where there is no score yet."""

    band: str | None = None
    state: str = "active"


@dataclass(frozen=True, slots=True)
class SiteVerdict:
    """One site by its canaries; a row of ``canary_verdicts``.

    ``verdict``: ``deceived``; ``note`` when a value is wrong or gone without that; ``refused`` when
    most pages are blocked or challenged; ``good``; ``unknown``. ``suspect_since`` is the last time
    that the pages now wrong were right, None where none ever was; ``records_since`` and
    ``fetches_since`` count what was collected after it. ``disagreement`` says where canaries and
    score contradict each other. Pages are counted through production's routes.
    """

    site: str
    verdict: Word
    deceived: bool
    observed_at: datetime
    deceived_since: datetime | None = None
    suspect_since: datetime | None = None
    records_since: int | None = None
    fetches_since: int | None = None
    pages: int = 0
    good_pages: int = 0
    wrong_pages: tuple[str, ...] = ()
    refused_pages: int = 0
    unknown_pages: int = 0
    disagreement: str | None = None
    notes: tuple[str, ...] = ()


def site_verdict(
    site: str,
    states: Sequence[PageState],
    rules: CanaryRules,
    *,
    missing_pages: frozenset[str] = frozenset(),
    standing: Standing = Standing(),
    previous: SiteVerdict | None = None,
) -> SiteVerdict | None:
    """The verdict on a site from how its canaries stand; None without any.

    ``missing_pages`` are those that must not exist: they have no values to be wrong, and tell only
    of refusals. A site stays deceived until the pages that were wrong are right again or accepted.
    """
    production = [state for state in states if state.is_production]
    watched = production or list(states)
    if not watched:
        return None
    with_values = [state for state in watched if state.page not in missing_pages]
    wrong = [state for state in with_values if state.told_outcome == "wrong_value"]
    deceived = is_deceived(with_values, wrong, rules)
    newest = max(state.newest_at for state in watched)
    fresh_from = newest - timedelta(hours=rules.fresh_hours)
    fresh = [state for state in watched if state.newest_at >= fresh_from]
    refused = [state for state in fresh if state.newest_outcome in REFUSED]
    good = [state for state in fresh if state.newest_outcome == "pass"]
    unknown = [state for state in fresh if state.newest_outcome == "unknown"]
    others = [state for state in states if not state.is_production and state not in watched]
    others = [state for state in others if state.newest_at >= fresh_from]
    mostly_refused = len(refused) * 2 > len(fresh) - len(unknown)
    word: Word = "unknown"
    if deceived:
        word = "deceived"
    elif wrong or any(state.newest_outcome == "missing" for state in fresh):
        word = "note"
    elif refused and mostly_refused:
        word = "refused"
    elif good:
        word = "good"
    since = previous.deceived_since if previous is not None and previous.deceived else None
    if deceived and since is None:
        since = max(state.told_at for state in wrong if state.told_at)
    return SiteVerdict(
        site=site,
        verdict=word,
        deceived=deceived,
        observed_at=newest,
        deceived_since=since if deceived else None,
        suspect_since=suspect_since(wrong) if deceived else None,
        pages=len({state.page for state in watched}),
        good_pages=len({state.page for state in good}),
        wrong_pages=tuple(sorted({state.page for state in wrong})),
        refused_pages=len({state.page for state in refused}),
        unknown_pages=len({state.page for state in unknown}),
        disagreement=disagreement(good, refused, mostly_refused, fresh, others, standing),
        notes=notes_of(wrong, fresh, others, refused),
    )


def is_deceived(
    states: Sequence[PageState], wrong: Sequence[PageState], rules: CanaryRules
) -> bool:
    """Wrong values on one page in a row, or on most of the site's canaries at once."""
    if any(state.wrong_runs >= rules.wrong_runs for state in wrong):
        return True
    # What was never answered for a reason of ours says nothing either way.
    answered = {
        state.page
        for state in states
        if state.newest_outcome != "unknown" or state.told_outcome is not None
    }
    pages = {state.page for state in wrong}
    return len(pages) >= rules.wrong_pages and len(pages) > rules.wrong_share * len(answered)


def suspect_since(wrong: Iterable[PageState]) -> datetime | None:
    """The last good time of the page that went wrong first; None when one was never good."""
    times = [state.last_good_at for state in wrong]
    known = [time for time in times if time is not None]
    return min(known) if known and len(known) == len(times) else None


def disagreement(
    good: Sequence[PageState],
    refused: Sequence[PageState],
    mostly_refused: bool,
    fresh: Sequence[PageState],
    others: Sequence[PageState],
    standing: Standing,
) -> str | None:
    """Where score and canaries contradict each other: it is the check on the baseline."""
    if standing.band == "healthy" and refused and mostly_refused:
        challenged = sum(state.newest_outcome == "challenged" for state in refused)
        how = "challenged" if challenged * 2 >= len(refused) else "blocked"
        return f"score fine, canaries {how} ({len(refused)} of {len(fresh)} pages)"
    bad = standing.band in ("degraded", "resisting")
    if not bad and standing.state != "paused":
        return None
    what = "paused" if standing.state == "paused" else "score bad"
    if good and not refused:
        return f"{what}, canaries fine ({len(good)} of {len(fresh)} pages)"
    fine = sorted({state.route for state in others if state.newest_outcome == "pass"})
    if fine and refused:
        return f"{what}, canaries fine on another route ({', '.join(fine)})"
    return None


def notes_of(
    wrong: Sequence[PageState],
    fresh: Sequence[PageState],
    others: Sequence[PageState],
    refused: Sequence[PageState],
) -> tuple[str, ...]:
    """What a person should know, a line each."""
    notes: list[str] = []
    for state in wrong:
        times = f" {state.wrong_runs} times in a row" if state.wrong_runs > 1 else " once"
        since = f" since {iso(state.wrong_since)}" if state.wrong_since else ""
        notes.append(f"{state.page}: wrong{times}{since}: {state.told_detail}")
        beside = [other for other in others if other.page == state.page]
        right = sorted(other.route for other in beside if other.newest_outcome == "pass")
        same = sorted(
            other.route
            for other in beside
            if other.newest_outcome == "wrong_value" and other.told_detail == state.told_detail
        )
        if right:
            notes.append(
                f"{state.page}: right through {', '.join(right)}, wrong through {state.route}: "
                "only that route is shown other values"
            )
        elif same:
            notes.append(
                f"{state.page}: {', '.join(same)} sees the same; if it rightly changed: "
                f"target-health canary accept {state.site} {state.page}"
            )
    for state in fresh:
        if state.newest_outcome == "missing":
            notes.append(f"{state.page}: gone: {state.newest_detail}")
        elif state.newest_outcome in REFUSED:
            notes.append(f"{state.page}: {state.newest_outcome}: {state.newest_detail}")
    fine = sorted({other.route for other in others if other.newest_outcome == "pass"})
    if refused and fine:
        notes.append(f"refused through {refused[0].route}, fine through {', '.join(fine)}")
    return tuple(notes)
