"""``classify``: the verdict on saved pages, and why."""

from __future__ import annotations

import json as json_format
import sys
from typing import Annotated

import typer

from target_health.commands.output import plain
from target_health.pages.markers import Markers
from target_health.paths import SHIPPED_CONFIG, config_directory


def classify(
    files: Annotated[list[str], typer.Argument(metavar="FILE…", show_default=False)],
    status: Annotated[
        int, typer.Option("--status", min=100, max=999, help="The status of saved pages.")
    ] = 200,
    url: Annotated[str, typer.Option("--url", help="The URL of saved pages.")] = "",
    json: Annotated[bool, typer.Option("--json", help="One JSON document a line.")] = False,
) -> None:
    """Say what saved pages (HTML, WARC, directories, - for standard input) really are, and why."""
    from target_health.pages.command import classify_paths

    failed = False
    for row in classify_paths(files, status=status, url=url, markers=active_markers()):
        failed = failed or bool(row.get("error"))
        if json:
            sys.stdout.write(json_format.dumps(plain(row), ensure_ascii=False) + "\n")
            continue
        for line in described(row):
            sys.stdout.write(line + "\n")
    if failed:
        raise typer.Exit(1)


def described(row: dict[str, object]) -> list[str]:
    """One page in a line, and a line for each piece of evidence."""
    if row.get("error"):
        return [f"{row['file']}: not read: {row['error']}"]
    place = row["file"] if not row.get("url") else f"{row['file']} {row['url']}"
    head = f"{place}: {row['verdict']} (confidence {row['confidence']:.2f}, {row['paywall']})"
    why = row.get("why") or ()
    assert isinstance(why, list | tuple)
    return [head, *(f"    {sentence}" for sentence in why)]


def active_markers() -> Markers:
    """The shipped marks, with those that the user's configuration directory adds."""
    from target_health.pages.markers import load_markers

    own = config_directory() / "markers.yaml"
    shipped = SHIPPED_CONFIG / "markers.yaml"
    paths = [shipped, own] if own != shipped and own.exists() else [shipped]
    return load_markers(*paths)
