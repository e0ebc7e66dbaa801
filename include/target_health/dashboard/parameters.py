"""What a request asks for, from its URL, and the database that it is answered from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from fastapi import Depends, Query, Request

from target_health.dashboard import fleet as fleets
from target_health.dashboard.database import Snapshot

LONGEST_TEXT = 2000
Text = Annotated[str, Query(max_length=LONGEST_TEXT)]
Days = Annotated[int, Query(ge=1, le=400)]
PageNumber = Annotated[int, Query(alias="page", ge=1, le=1_000_000)]


def choice_of(
    q: Text = "",
    band: Text = "",
    state: Text = "",
    owner: Text = "",
    sort: Text = "worst",
    order: Text = "asc",
    page: PageNumber = 1,
    size: Annotated[int, Query(ge=1, le=fleets.MOST_ROWS)] = fleets.PAGE_SIZE,
) -> fleets.Choice:
    """What of the fleet is asked for, from the URL."""
    return fleets.Choice(q.strip(), band, state, owner, sort, order == "desc", page, size)


def snapshot_of(request: Request) -> Iterator[Snapshot]:
    """A dependency: the newest published copy, kept until the response is made."""
    with request.app.state.published.snapshot() as snapshot:
        yield snapshot


Chosen = Annotated[fleets.Choice, Depends(choice_of)]
Now = Annotated[Snapshot, Depends(snapshot_of)]
