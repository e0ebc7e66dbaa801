"""A round of fetches: every page through every route, each answer judged and let go."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from target_health.canaries.fetching import RouteSession, fetch
from target_health.canaries.outcomes import observe
from target_health.canaries.records import Answer, Known, Observation, Watch
from target_health.canaries.robots import Robots, origin_of, remember, remembered, robots_of
from target_health.canaries.schedule import Call, run_calls
from target_health.canaries.ways import Way
from target_health.config.canaries import Canaries
from target_health.pages import Markers
from target_health.times import utc_now

#: Seconds that a fetch may take beyond its time-out until it is left behind: a body is cut off by
#: itself, headers that drip are not.
GRACE_S = 2.0
#: Pages that are parsed at once: a tree takes ten times its page, and more than a few cores gain
#: nothing.
PARSED_AT_ONCE = 4

#: What is asked for when no answer came.
WHY_NOT = {
    "timeout": Answer(error="timeout", detail="no end within its time"),
    "deadline": Answer(error="aborted", detail="the run's time was over"),
}

Progress = Callable[[str], None]


class Round:
    """One round's sessions and rules. ``robots_file`` is where robots.txt are remembered."""

    def __init__(
        self,
        canaries: Canaries,
        ways: Mapping[str, Way],
        known: Mapping[tuple[str, str], Known],
        markers: Markers,
        robots_file: Path,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self._canaries = canaries
        self._ways = ways
        self._known = known
        self._markers = markers
        self._robots_file = robots_file
        self._clock = clock
        self._parsing = threading.Semaphore(PARSED_AT_ONCE)
        self._sessions: dict[tuple[str, str], RouteSession] = {}
        keep = canaries.fetching.robots_keep_hours
        self._robots = remembered(robots_file, clock(), keep)

    def run(
        self, wanted: Iterable[Watch], progress: Progress = lambda message: None
    ) -> list[Observation]:
        """Observe each of them; what hangs or comes too late is ``unknown``. Never raises for
        what a site does.
        """
        fetching = self._canaries.fetching
        queued = list(wanted)
        observed: dict[int, Observation] = {}
        calls: list[Call[Observation | None]] = [*self._robots_calls(queued)]
        for number, watch in enumerate(queued):
            limit = self._timeout(watch) + GRACE_S
            calls.append(Call(number, _host(watch.page.url), partial(self._look, watch), limit))
        done_calls = run_calls(
            calls,
            concurrency=fetching.concurrency,
            host_delay_s=fetching.host_delay_s,
            deadline_s=fetching.deadline_s,
        )
        for done in done_calls:
            if not isinstance(done.key, int):
                continue
            watch = queued[done.key]
            if done.why_not == "timeout":
                # Its thread may hold the session still.
                self._sessions.pop((watch.route, _host(watch.page.url)), None)
            if isinstance(done.result, Observation):
                observed[done.key] = done.result
            else:
                why = done.why_not or "failed"
                answer = WHY_NOT.get(why, Answer(error="other", detail=why))
                observed[done.key] = self._judged(watch, answer)
            progress(f"canaries: {len(observed)} of {len(queued)}")
        remember(self._robots_file, self._robots)
        return [observed[number] for number in range(len(queued))]

    def _timeout(self, watch: Watch) -> float:
        return self._ways[watch.route].route.timeout_s or self._canaries.fetching.timeout_s

    def _robots_calls(self, queued: list[Watch]) -> list[Call[Observation | None]]:
        """A call for each robots.txt that is not known; they come before their host's pages."""
        calls: dict[str, Call[Observation | None]] = {}
        for watch in queued:
            key = self._robots_key(watch)
            if self._canaries.obeys_robots(watch.site) and key not in self._robots:
                limit = self._timeout(watch) + GRACE_S
                work = partial(self._read_robots, watch)
                calls.setdefault(key, Call(("robots", key), _host(watch.page.url), work, limit))
        return list(calls.values())

    def _robots_key(self, watch: Watch) -> str:
        return f"{watch.route} {origin_of(watch.page.url)}"

    def _read_robots(self, watch: Watch) -> None:
        url = f"{origin_of(watch.page.url)}/robots.txt"
        self._robots[self._robots_key(watch)] = robots_of(self._get(watch, url), self._clock())

    def _look(self, watch: Watch) -> Observation:
        if self._canaries.obeys_robots(watch.site):
            robots = self._robots.get(self._robots_key(watch), Robots(None, self._clock()))
            agent = self._ways[watch.route].headers.get("User-Agent", "")
            refusal = robots.refusal(watch.page.url, agent)
            if refusal:
                return self._judged(watch, Answer(error="other", detail=refusal))
        return self._judged(watch, self._get(watch, watch.page.url))

    def _get(self, watch: Watch, url: str) -> Answer:
        way, fetching = self._ways[watch.route], self._canaries.fetching
        key = watch.route, _host(url)
        session = self._sessions.get(key)
        if session is None or way.route.cookies == "none":
            session = self._sessions[key] = RouteSession(way, fetching.max_redirects)
        return fetch(session, url, timeout_s=self._timeout(watch), max_bytes=fetching.max_bytes)

    def _judged(self, watch: Watch, answer: Answer) -> Observation:
        known = self._known.get((watch.site, watch.page.id), Known())
        with self._parsing:
            seen = observe(
                watch,
                answer,
                known,
                self._markers,
                observed_at=self._clock(),
                structure_share=self._canaries.rules.structure_share,
            )
        return without_texts(seen, self._ways[watch.route].without_secrets)


def without_texts(seen: Observation, cleaned: Callable[[str], str]) -> Observation:
    """An observation, each text of which a site could have written was given to ``cleaned``."""

    def clean(text: str | None) -> str | None:
        return cleaned(text) if text else text

    return replace(
        seen,
        url=cleaned(seen.url),
        final_url=cleaned(seen.final_url),
        checks=tuple(
            replace(
                check,
                got=clean(check.got),
                value=clean(check.value),
                detail=cleaned(check.detail),
            )
            for check in seen.checks
        ),
        facts=replace(seen.facts, title=clean(seen.facts.title)),
    )


def _host(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2].lower()
