"""What a simulation is told to do: sites, their troubles, and the range."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from target_health.errors import UsageError
from target_health.simulator.profiles import ROUTE_VALUES, Profile
from target_health.simulator.troubles import KINDS, Trouble, expected_of


@dataclass(frozen=True)
class SitePlan:
    """A site and its troubles, in the order in which they are applied.

    ``unscored``: it holds too little for an honest score.
    """

    profile: Profile
    troubles: tuple[Trouble, ...] = ()
    unscored: bool = False

    def __post_init__(self) -> None:
        for trouble in self.troubles:
            check_trouble(trouble)

    @property
    def expected_band(self) -> str:
        """Where the site should end: the worst of the troubles that are still going on."""
        if self.unscored:
            return "unscored"
        bands = {expected_of(trouble) for trouble in self.troubles if trouble.end is None}
        return next((band for band in ("resisting", "degraded") if band in bands), "healthy")


@dataclass(frozen=True)
class Plan:
    """All that a simulation does in [start, end); times are naive UTC."""

    seed: int
    start: datetime
    end: datetime
    sites: tuple[SitePlan, ...]
    fleet_troubles: tuple[Trouble, ...] = ()

    def __post_init__(self) -> None:
        if self.start >= self.end:
            raise UsageError(f"a simulation needs a start before its end, not {self.start}")
        for trouble in self.fleet_troubles:
            check_trouble(trouble)


def check_trouble(trouble: Trouble) -> None:
    """``UsageError`` unless the kind is known and the route is one that fetches can take."""
    check_kinds([trouble.kind])
    dimension = KINDS[trouble.kind].by_route
    if dimension and (trouble.route is None or trouble.route[0] != dimension):
        raise UsageError(f"trouble {trouble.kind} needs a route ({dimension!r}, value)")
    if trouble.route and trouble.route[1] not in ROUTE_VALUES.get(trouble.route[0], ()):
        raise UsageError(f"no simulated fetch takes the route {'='.join(trouble.route)}")


def check_kinds(kinds: Collection[str]) -> None:
    """``UsageError`` naming the first unknown kind of trouble, and those that there are."""
    for kind in kinds:
        if kind not in KINDS:
            raise UsageError(f"unknown trouble {kind!r}; there are {', '.join(sorted(KINDS))}")
