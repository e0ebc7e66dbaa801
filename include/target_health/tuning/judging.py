"""How well numbers would have done on reviewed incidents: pure functions over spells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median

from target_health.times import DAY

# A spell that begins this long before the onset that a person remembers is still about it; so is
# one that comes back this soon after the close.
AROUND = DAY
# What it costs to miss a real trouble, in false alarms: data lost against a look for nothing.
MISSED_COSTS = 2


@dataclass(frozen=True, slots=True)
class Judged:
    """A hostility incident: ``is_real`` as reviewed, None when nobody reviewed it."""

    incident_id: str
    site: str
    is_real: bool | None
    onset_at: datetime
    ended_at: datetime


@dataclass(frozen=True, slots=True)
class Spell:
    """A site's spell outside healthy; ``alarmed_at`` is the end of its first window."""

    site: str
    began_at: datetime
    alarmed_at: datetime
    ended_at: datetime
    would_pause: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """What numbers make of the reviewed past.

    ``false_alarms`` are spells about no real and no unreviewed incident. ``delay_minutes`` is the
    median from onset to alarm over the real incidents seen (negative: ahead of it).
    """

    real: int
    missed: tuple[str, ...]
    false_alarms: int
    delay_minutes: float | None
    would_pause: tuple[str, ...]

    @property
    def cost(self) -> tuple[float, float]:
        """Less is better: misses and false alarms, then the delay."""
        delay = self.delay_minutes if self.delay_minutes is not None else float("inf")
        return MISSED_COSTS * len(self.missed) + self.false_alarms, delay


def joined(spells: Iterable[Spell]) -> list[Spell]:
    """Spells of a site that lie close together as one: it flapped."""
    result: list[Spell] = []
    for spell in sorted(spells, key=lambda one: (one.site, one.began_at)):
        last = result[-1] if result else None
        if last is None or last.site != spell.site or spell.began_at - last.ended_at > AROUND:
            result.append(spell)
            continue
        result[-1] = Spell(
            last.site,
            last.began_at,
            last.alarmed_at,
            max(last.ended_at, spell.ended_at),
            last.would_pause or spell.would_pause,
        )
    return result


def judge(spells: Iterable[Spell], judged: Sequence[Judged]) -> Outcome:
    """The spells that some numbers give, against what people said."""
    every = list(spells)
    real = [one for one in judged if one.is_real]
    unknown = [one for one in judged if one.is_real is None]
    missed: list[str] = []
    delays: list[float] = []
    for one in real:
        alarms = [spell.alarmed_at for spell in every if is_about(spell, one)]
        if alarms:
            delays.append((min(alarms) - one.onset_at) / timedelta(minutes=1))
        else:
            missed.append(one.incident_id)
    false = [
        spell
        for spell in joined(every)
        if not any(is_about(spell, one) for one in (*real, *unknown))
    ]
    return Outcome(
        real=len(real),
        missed=tuple(missed),
        false_alarms=len(false),
        delay_minutes=median(delays) if delays else None,
        would_pause=tuple(sorted({spell.site for spell in every if spell.would_pause})),
    )


def is_about(spell: Spell, incident: Judged) -> bool:
    """Whether they overlap, give or take a day."""
    return (
        spell.site == incident.site
        and spell.began_at <= incident.ended_at + AROUND
        and spell.ended_at >= incident.onset_at - AROUND
    )
