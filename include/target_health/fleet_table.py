"""The fleet as a table for a terminal or a task log."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

BAND_ORDER = ("resisting", "degraded", "healthy", "unscored")
BAND_STYLES = {
    "resisting": "bold red",
    "degraded": "yellow",
    "unscored": "dim",
    "healthy": "green",
}
# A day's change of the smoothed score below this is not called a trend.
STEADY_POINTS = 3.0

Row = Mapping[str, Any]


def fleet_table(rows: Iterable[Row]) -> Table:
    """A table from rows of ``site_health``: worst bands first, then by smoothed score."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("site", overflow="fold")
    table.add_column("band", no_wrap=True)
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("smoothed", justify="right", no_wrap=True)
    table.add_column("trend", justify="right", no_wrap=True)
    table.add_column("reasons", overflow="fold")
    table.add_column("state", no_wrap=True)
    for row in sorted(rows, key=worst_first):
        table.add_row(
            str(row["site"]),
            Text(str(row["band"]), style=BAND_STYLES.get(str(row["band"]), "")),
            score_text(row),
            number_text(row["smoothed_score"]),
            trend_text(row["smoothed_score_day_change"]),
            reasons_text(row),
            state_text(row),
        )
    return table


def worst_first(row: Row) -> tuple[int, float, str]:
    smoothed = row["smoothed_score"]
    band = BAND_ORDER.index(row["band"]) if row["band"] in BAND_ORDER else len(BAND_ORDER)
    return band, 101.0 if smoothed is None else float(smoothed), str(row["site"])


def number_text(value: float | None) -> str:
    return "–" if value is None else f"{value:.0f}"


def score_text(row: Row) -> str:
    return number_text(row["score"])


def trend_text(day_change: float | None) -> str:
    """Against a day before: ``↓ 22``, ``↑ 5``, ``→`` when steady."""
    if day_change is None:
        return "–"
    if abs(day_change) < STEADY_POINTS:
        return "→"
    return f"{'↓' if day_change < 0 else '↑'} {abs(day_change):.0f}"


def reasons_text(row: Row) -> str:
    """The reasons, or why there is no score; and whose trouble it is, where not the crawl's."""
    reasons = list(row["reasons"] or ())
    if row["unscored_reason"]:
        reasons.append(f"({row['unscored_reason']})")
    if row.get("owner") == "route":
        reasons.append(str(row["diagnosis"]))
    elif row.get("owner") == "parser":
        reasons.append("parser")
    return ", ".join(reasons)


def state_text(row: Row) -> str:
    return f"slowed, step {row['step']}" if row["state"] == "slowed" else str(row["state"])


def action_table(actions: Sequence[Any]) -> Table:
    """A table of ``Action`` records: what was done, to whom, why."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for heading in ("site", "action", "from", "to", "reasons", "mode"):
        table.add_column(heading, overflow="fold")
    for action in actions:
        table.add_row(
            action.site or "(fleet)",
            action.kind,
            standing_text(action.from_state, action.from_step),
            standing_text(action.to_state, action.to_step),
            ", ".join(action.reasons),
            action.mode if action.applied else f"{action.mode}: not applied",
        )
    return table


def standing_text(state: str | None, step: int | None) -> str:
    if state is None:
        return ""
    return f"{state}, step {step}" if state == "slowed" else state


def as_plain_text(renderable: RenderableType, width: int = 110) -> str:
    """Without colours, for a log; no blank lines, no trailing spaces."""
    buffer = io.StringIO()
    Console(file=buffer, width=width, no_color=True, force_terminal=False).print(renderable)
    lines = (line.rstrip() for line in buffer.getvalue().splitlines())
    return "\n".join(line for line in lines if line)
