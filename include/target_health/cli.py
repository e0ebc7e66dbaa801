"""The console script ``target-health``: one command a question or a deed."""

from __future__ import annotations

import sys
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Annotated

import duckdb
import typer

from target_health.errors import TargetHealthError
from target_health.paths import Home

EXIT_FAILED, EXIT_USAGE = 1, 2


def make_app() -> typer.Typer:
    """The commands, imported when the program starts and not with the package."""
    from target_health.commands import (
        bench,
        canary,
        classify,
        control,
        incidents,
        pages,
        people,
        reviews,
        runs,
        simulate,
        status,
        suite,
        try_log,
        tune,
    )

    app = typer.Typer(
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        help="Is this site still behaving towards our crawler as it normally does?",
    )
    app.callback()(options)
    app.command("try")(try_log.try_log)
    app.command()(runs.land)
    app.command()(runs.run)
    app.command()(runs.backfill)
    app.command()(status.status)
    app.command()(classify.classify)
    app.command()(people.pause)
    app.command()(people.resume)
    app.command()(reviews.decide)
    app.add_typer(reviews.review, name="review")
    app.command()(tune.tune)
    app.add_typer(incidents.incidents, name="incidents")
    app.command()(pages.pages)
    app.command()(pages.digest)
    app.add_typer(control.control, name="control")
    app.add_typer(suite.suite, name="suite")
    app.add_typer(canary.canary, name="canary")
    app.command()(simulate.simulate)
    app.command()(bench.bench)
    return app


def show_version(is_asked: bool) -> None:
    if is_asked:
        sys.stdout.write(f"target-health {installed_version('target-health')}\n")
        raise typer.Exit


def options(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=show_version, help="The version.")
    ] = False,
) -> None:
    """What stands before a command."""


def main() -> None:
    """Run a command; errors are one line on stderr and an exit status of 1 or 2."""
    sys.exit(exit_status(sys.argv[1:]))


def exit_status(arguments: list[str]) -> int:
    """0 done, 1 failed, 2 bad arguments or configuration."""
    try:
        result = make_app()(
            args=arguments or ["--help"], standalone_mode=False, prog_name="target-health"
        )
    except TargetHealthError as problem:
        return complain(str(problem), problem.exit_status)
    except typer.Exit as ending:
        return ending.exit_code
    except typer.Abort:
        return complain("stopped", EXIT_FAILED)
    except typer.TyperException as problem:
        return complain(usage_message(problem), EXIT_USAGE)
    except BrokenPipeError:
        return 0
    except OSError as problem:
        return complain(os_message(problem), EXIT_FAILED)
    except duckdb.Error as problem:
        return complain(f"{type(problem).__name__}: {problem}", EXIT_FAILED)
    return result if isinstance(result, int) else 0


def usage_message(problem: typer.TyperException) -> str:
    """What is wrong with the arguments, as typer words it."""
    words = getattr(problem, "format_message", None)
    return words() if words else str(problem)


def os_message(problem: OSError) -> str:
    """What the system refused, and the setting to change where it is a matter of place."""
    if not isinstance(problem.filename, str) or not problem.strerror:
        return f"{type(problem).__name__}: {problem}"
    message = f"{problem.filename}: {problem.strerror.lower()}"
    home = Home.from_environment().root
    if Path(problem.filename).is_relative_to(home):
        message += f"; set TARGET_HEALTH_HOME (now {home}) to a directory that can be written"
    return message


def complain(message: str, status: int) -> int:
    line = " ".join(message.split())
    sys.stderr.write(f"target-health: {line}\n")
    return status
