"""``canary``: pages whose values are known; propose, keep, run, accept, list."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from target_health import job
from target_health.commands.output import console, print_json, progress_shown
from target_health.commands.runs import Json
from target_health.config import load_configuration
from target_health.paging import configured_targets
from target_health.paths import Home
from target_health.times import utc_now

canary = typer.Typer(
    help="Pages whose values are known, fetched the way production fetches.",
    no_args_is_help=True,
)

SiteNames = Annotated[list[str] | None, typer.Argument(metavar="[SITE]…", show_default=False)]


@canary.command()
def add(
    url: Annotated[str, typer.Argument(metavar="URL", show_default=False)],
    route: Annotated[
        str | None, typer.Option("--route", help="Fetch through this route, not the site's.")
    ] = None,
    missing: Annotated[
        bool, typer.Option("--missing", help="The URL must not exist: its answer is learned.")
    ] = False,
    json: Json = False,
) -> None:
    """Propose checks from the live page, as an entry for canaries.yaml; changes nothing."""
    from target_health.canaries.adding import propose_entry
    from target_health.canaries.proposals import entry_yaml

    site, page, seen = propose_entry(load_configuration(), url, route=route, missing=missing)
    if json:
        print_json({"site": site, "page": page, "verdict": seen.verdict, "status": seen.status})
        return
    print(entry_yaml(site, page), end="")
    if any("structure" in check for check in page.get("checks", ())):
        say_aside("After adding it to canaries.yaml: target-health canary record " + site)


@canary.command()
def record(
    sites: SiteNames = None,
    page: Annotated[str | None, typer.Option("--page", help="Only this page of the site.")] = None,
    by: Annotated[str, typer.Option("--by", help="Who keeps it.")] = "",
    json: Json = False,
) -> None:
    """Keep the pages' skeletons for `structure: unchanged`, and learn not-found answers."""
    from target_health.canaries.people import keep_skeletons

    with progress_shown() as progress:
        kept, left = keep_skeletons(
            Home.from_environment(),
            load_configuration(),
            sites=sites or None,
            page=page,
            by=by,
            now=utc_now(),
            progress=progress,
        )
    if json:
        print_json(
            {
                "kept": [{"site": one.site, "page": one.page} for one in kept],
                "left": [
                    {"site": one.site, "page": one.page, "verdict": one.verdict} for one in left
                ],
            }
        )
        return
    shown = console()
    for one in kept:
        what = f"{len(one.facts.skeleton)} paths" if one.facts.skeleton else "its answer"
        shown.print(f"{one.site} {one.page}: kept {what}", markup=False, soft_wrap=True)
    for one in left:
        shown.print(
            f"{one.site} {one.page}: not kept, the page did not come: {one.verdict}",
            markup=False,
            soft_wrap=True,
        )
    if not kept and not left:
        shown.print("No page has a check `structure: unchanged` or must not exist.")
    if left:
        raise typer.Exit(1)


@canary.command()
def run(sites: SiteNames = None, json: Json = False) -> None:
    """Fetch the canaries now, record what they say, publish."""
    from target_health.canaries.people import run as run_now
    from target_health.canaries.tables import verdict_table

    with progress_shown() as progress:
        report = run_now(
            Home.from_environment(),
            load_configuration(),
            sites=sites or None,
            now=utc_now(),
            progress=progress,
        )
    if any(one.deceived for one in report.verdicts):
        job.page_step(
            Home.from_environment(), load_configuration(), configured_targets(), now=utc_now()
        )
    if json:
        print_json({"outcomes": report.outcomes, "verdicts": report.verdicts})
        return
    shown = console()
    counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(report.outcomes.items()))
    shown.print(counts or "No canary to fetch: canaries.yaml names none.", markup=False)
    if report.verdicts:
        shown.print(verdict_table(report.verdicts))


@canary.command()
def accept(
    site: Annotated[str, typer.Argument(metavar="SITE", show_default=False)],
    page: Annotated[str, typer.Argument(metavar="PAGE", show_default=False)],
    by: Annotated[str, typer.Option("--by", help="Who accepts.")],
    why: Annotated[str, typer.Option("--why", help="Why; it is recorded.")],
    check: Annotated[
        str | None, typer.Option("--check", help="Only this check.", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """Say that what a page shows now is right; it becomes what is expected."""
    from target_health.canaries.people import accept as accept_page

    made = accept_page(
        Home.from_environment(),
        load_configuration(),
        site,
        page,
        check=check,
        by=by,
        why=why,
        now=utc_now(),
    )
    if json:
        print_json(made)
        return
    for one in made:
        console().print(
            f"{one.site} {one.page} {one.check}: {one.old} → {one.new}",
            markup=False,
            soft_wrap=True,
        )


@canary.command("list")
def list_canaries(sites: SiteNames = None, json: Json = False) -> None:
    """Every canary with what it said last."""
    from target_health.canaries.listing import listed
    from target_health.canaries.tables import results_table

    rows: list[dict[str, Any]] = listed(
        Home.from_environment(), load_configuration(), sites or None
    )
    if json:
        print_json(rows)
        return
    if not rows:
        console().print("No canaries: propose one with target-health canary add URL.")
        return
    console().print(results_table(rows))


def say_aside(text: str) -> None:
    typer.echo(text, err=True)
