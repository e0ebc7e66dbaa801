"""One Great Expectations run over a page type's items of all sites."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from target_health.errors import TargetHealthError
from target_health.extraction.counting import Outcome
from target_health.extraction.rules import KIND_NAMES, RULES, Kind, takes
from target_health.extraction.suites import Check, Suite

# The failing rows by the frame's own numbers. Naming an index column instead gives the same rows,
# each as a dictionary that pandas is asked for cell by cell: 60 times the time of the whole run
# where most rows fail.
RESULT_FORMAT = {
    "result_format": "COMPLETE",
    "return_unexpected_index_query": False,
    "partial_unexpected_count": 20,
}


class CannotValidate(TargetHealthError):
    """Great Expectations refuses a suite, or gives up on it; the message says why."""


@dataclass(frozen=True, slots=True)
class Validation:
    """What a run gave: outcomes to count back, and Great Expectations' suite and result."""

    outcomes: tuple[Outcome, ...]
    suite: Any
    result: Any


@dataclass(frozen=True, slots=True)
class Target:
    """A check, the column that it looks at, and the rows whose value it cannot look at."""

    check: Check
    column: str
    unfit: np.ndarray


def great_expectations() -> Any:
    """The library, without its analytics and its remarks on itself. Its import takes seconds."""
    os.environ["GX_ANALYTICS_ENABLED"] = "false"
    logging.getLogger("great_expectations").setLevel(logging.WARNING)
    import great_expectations as gx

    return gx


def passing_context() -> Any:
    """A context of Great Expectations that keeps nothing, not even a directory for documents."""
    gx = great_expectations()
    from great_expectations.data_context.types.base import (
        DataContextConfig,
        InMemoryStoreBackendDefaults,
    )

    stores = InMemoryStoreBackendDefaults(init_temp_docs_sites=False)
    context = gx.get_context(
        project_config=DataContextConfig(store_backend_defaults=stores), mode="ephemeral"
    )
    context.variables.progress_bars = {"globally": False}
    return context


def expectation_of(check: Check, column: str) -> Any:
    """Great Expectations' object for a check; raises ``CannotValidate`` for wrong arguments."""
    gx = great_expectations()
    name = "".join(word.capitalize() for word in check.expectation.split("_"))
    try:
        return getattr(gx.expectations, name)(column=column, **check.arguments)
    except Exception as problem:
        raise CannotValidate(f"{check.field}: {check.expectation}: {one_line(problem)}") from None


def frame_of(columns: Mapping[str, Sequence[Any]]) -> pd.DataFrame:
    """A frame that holds values as JSON had them, numbered from 0."""
    return pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in columns.items()})


def is_mixed(values: pd.Series) -> bool:
    """Whether objects stand beside other values: where the first wrong value is an object, Great
    Expectations takes all of them for objects, and gives up."""
    objects = sum(isinstance(value, dict) for value in values)
    return 0 < objects < values.notna().sum()


def as_pairs(value: Any) -> Any:
    return tuple(value.items()) if isinstance(value, dict) else value


def asks_for_objects(check: Check) -> bool:
    types = check.arguments.get("type_list") or [check.arguments.get("type_")]
    return "dict" in types


def validate(suite: Suite, frame: pd.DataFrame) -> Validation:
    """Validate the rows of a frame with a column a field of the suite.

    Raises ``CannotValidate`` when Great Expectations refuses an argument or gives up.
    """
    gx = great_expectations()
    is_known = {name: frame[name].notna().to_numpy() for name in suite.fields}
    mixed = {name for name in suite.fields if is_mixed(frame[name])}
    kinds: dict[tuple[str, Kind], np.ndarray] = {}
    targets: list[Target] = []
    for check in suite.checks:
        kind = takes(check.expectation, check.arguments)
        unfit = np.empty(0, dtype=np.int64)
        column = check.field
        if kind is not None:
            if (check.field, kind) not in kinds:
                kinds[check.field, kind] = unfit_rows(frame[check.field], kind)
            unfit = kinds[check.field, kind]
        if kind is not None and len(unfit):
            column = f"{check.field} (where a {KIND_NAMES[kind]})"
            if column not in frame:
                fit = frame[check.field].copy()
                fit.iloc[unfit] = None
                frame = frame.assign(**{column: fit})
        elif kind is None and check.field in mixed and not asks_for_objects(check):
            column = f"{check.field} (objects as pairs)"
            if column not in frame:
                frame = frame.assign(**{column: frame[check.field].map(as_pairs)})
        targets.append(Target(check, column, unfit))
    expectations = [expectation_of(target.check, target.column) for target in targets]
    asset = passing_context().data_sources.add_pandas("items").add_dataframe_asset(suite.name)
    batch = asset.add_batch_definition_whole_dataframe("all").get_batch({"dataframe": frame})
    try:
        whole = gx.ExpectationSuite(
            name=suite.name,
            expectations=expectations,
            meta={"page_type": suite.page_type, "digest": suite.digest},
        )
        result = batch.validate(whole, result_format=RESULT_FORMAT)
    except Exception as problem:
        raise CannotValidate(one_line(problem)) from problem
    return Validation(tuple(outcomes_of(targets, result, is_known)), whole, result)


def unfit_rows(values: pd.Series, kind: Kind) -> np.ndarray:
    """Numbers of the rows whose value is there but of another kind."""
    found = set(map(type, values)) - {type(None)}
    strange = {one for one in found if not issubclass(one, kind)}
    if not strange:
        return np.empty(0, dtype=np.int64)
    is_strange = (type(value) in strange for value in values)
    return np.flatnonzero(np.fromiter(is_strange, dtype=bool, count=len(values)))


def outcomes_of(
    targets: Sequence[Target], result: Any, is_known: Mapping[str, np.ndarray]
) -> list[Outcome]:
    """The failing rows of each check, in the suite's order."""
    by_check = {
        (found.expectation_config.type, found.expectation_config.kwargs["column"]): found
        for found in result.results
    }
    outcomes = []
    for target in targets:
        check = target.check
        found = by_check[check.expectation, target.column]
        failed = found.result.get("unexpected_index_list")
        if failed is None and found.result.get("unexpected_count") != 0:
            raise CannotValidate(f"{check.field}: {check.expectation}: {exception_of(found)}")
        rows = np.asarray(failed or (), dtype=np.int64)
        outcomes.append(
            Outcome(
                check.field,
                check.expectation,
                np.union1d(rows, target.unfit),
                None if RULES[check.expectation].looks_at_null else is_known[check.field],
            )
        )
    return outcomes


def exception_of(found: Any) -> str:
    """What Great Expectations says of an expectation that it gave up on."""
    information = found.exception_info or {}
    for entry in [information, *information.values()]:
        if isinstance(entry, dict) and entry.get("exception_message"):
            return one_line(entry["exception_message"])
    return "Great Expectations gave no result"


def one_line(problem: object) -> str:
    """A message of any length as one line that fits into a log."""
    text = " ".join(str(problem).split()) or type(problem).__name__
    return text if len(text) <= 300 else f"{text[:297]}..."
