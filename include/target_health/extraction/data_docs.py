"""Great Expectations' Data Docs of the last runs, under ``data_docs`` of the home."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from target_health.extraction.validation import Validation, great_expectations

SITE = "extraction"
# What is listed for every failing value; the documents show a few, and counts are stored elsewhere.
_LONG_PARTS = ("unexpected_index_list", "unexpected_list", "unexpected_index_query")


def write_data_docs(
    directory: Path,
    store: Path,
    validations: Sequence[Validation],
    *,
    run_name: str,
    now: datetime,
    runs_kept: int,
) -> Path:
    """Add one run's validations to the documents, and remove all but the last runs.

    ``store`` keeps what the pages are made of. Returns the page to open.
    """
    gx = great_expectations()
    from great_expectations.core.run_identifier import RunIdentifier
    from great_expectations.data_context.types.resource_identifiers import (
        ExpectationSuiteIdentifier,
        ValidationResultIdentifier,
    )

    context = gx.get_context(project_config=docs_configuration(directory, store), mode="ephemeral")
    context.variables.progress_bars = {"globally": False}
    run = RunIdentifier(run_name=run_name, run_time=now.replace(tzinfo=UTC))
    written: list[Any] = []
    for number, validation in enumerate(validations, start=1):
        suite, result = validation.suite, validation.result
        for found in result.results:
            for part in _LONG_PARTS:
                found.result.pop(part, None)
        suite_key = ExpectationSuiteIdentifier(suite.name)
        context.suites.add_or_update(suite)
        key = ValidationResultIdentifier(
            expectation_suite_identifier=suite_key,
            run_id=run,
            batch_identifier=f"{number:03}",
        )
        context.validation_results_store.set(key, result)
        written += [key, suite_key]
    forget_old_runs(context, directory, store, runs_kept)
    context.build_data_docs(site_names=[SITE], resource_identifiers=written)
    return directory / "index.html"


def docs_configuration(directory: Path, store: Path) -> Any:
    """Stores and site on this machine's disk, and nothing else of a project."""
    from great_expectations.data_context.types.base import DataContextConfig

    def files(place: Path) -> dict[str, Any]:
        return {"class_name": "TupleFilesystemStoreBackend", "base_directory": str(place)}

    return DataContextConfig(
        stores={
            "expectations_store": {
                "class_name": "ExpectationsStore",
                "store_backend": files(store / "suites"),
            },
            "validation_results_store": {
                "class_name": "ValidationResultsStore",
                "store_backend": files(store / "results"),
            },
            "checkpoint_store": {"class_name": "CheckpointStore"},
            "validation_definition_store": {"class_name": "ValidationDefinitionStore"},
        },
        expectations_store_name="expectations_store",
        validation_results_store_name="validation_results_store",
        checkpoint_store_name="checkpoint_store",
        data_docs_sites={
            SITE: {
                "class_name": "SiteBuilder",
                "show_how_to_buttons": False,
                "store_backend": files(directory),
                "site_index_builder": {"class_name": "DefaultSiteIndexBuilder"},
            }
        },
        analytics_enabled=False,
    )


def forget_old_runs(context: Any, directory: Path, store: Path, runs_kept: int) -> None:
    """Remove results and pages of all but the newest runs."""
    keys = context.validation_results_store.list_keys()
    runs = sorted({(key.run_id.run_time, key.run_id.run_name) for key in keys}, reverse=True)
    kept = set(runs[:runs_kept])
    for key in keys:
        if (key.run_id.run_time, key.run_id.run_name) in kept:
            continue
        place = Path(*key.to_tuple())
        (store / "results" / place.parent / f"{place.name}.json").unlink(missing_ok=True)
        page = directory / "validations" / place.parent
        (page / f"{place.name}.html").unlink(missing_ok=True)
        for emptied in (store / "results" / place.parent, page):
            remove_if_empty(emptied)
            remove_if_empty(emptied.parent)


def remove_if_empty(directory: Path) -> None:
    if directory.is_dir() and not any(directory.iterdir()):
        shutil.rmtree(directory, ignore_errors=True)
