"""What the control file says: one order a site, from the states and the configured normals."""

from __future__ import annotations

import json
from datetime import datetime
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

import duckdb

from target_health.config import Configuration
from target_health.decisions.orders import orders
from target_health.errors import TargetHealthError
from target_health.times import iso

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator

VERSION = 1
SCHEMA_FILE = "crawl_control.schema.json"


def build_control(
    con: duckdb.DuckDBPyConnection, configuration: Configuration, generated_at: datetime
) -> dict[str, Any]:
    """The control document: every site of ``site_state``, sorted by name.

    Factors are of the configured normal and never above it; absolute numbers stand where
    ``sites.yaml`` gives the normal ones, else null.
    """
    rows = con.execute(
        "SELECT site, state, step, effective_cost, since, reasons, incident_id "
        "FROM site_state ORDER BY site"
    ).fetchall()
    sites = {}
    for site, state, step, effective_cost, since, reasons, incident_id in rows:
        entry = configuration.sites.entry(site)
        order = orders(state, step, entry.concurrency, entry.revisit_interval_s)
        sites[site] = {
            "state": state,
            "step": step,
            "concurrency_factor": plain(order.concurrency_factor),
            "revisit_factor": plain(order.revisit_factor),
            "concurrency": order.concurrency,
            "revisit_interval_s": plain(order.revisit_interval_s),
            "effective_cost": plain(effective_cost),
            "since": iso(since),
            "reasons": reasons,
            "incident_id": incident_id,
        }
    return {"version": VERSION, "generated_at": iso(generated_at), "sites": sites}


def plain(number: float | None) -> float | int | None:
    """A whole number without its ``.0``."""
    return int(number) if number is not None and number == int(number) else number


@cache
def validator() -> Draft202012Validator:
    """The schema that ships beside this module."""
    from jsonschema import Draft202012Validator

    text = resources.files(__package__).joinpath(SCHEMA_FILE).read_text(encoding="utf-8")
    return Draft202012Validator(json.loads(text))


def validate(document: object) -> None:
    """Raise ``TargetHealthError`` with the first thing that the schema does not allow."""
    error = next(iter(validator().iter_errors(document)), None)
    if error is not None:
        raise TargetHealthError(
            f"the control document is wrong at {error.json_path}: {' '.join(error.message.split())}"
        )


def control_rows(document: dict[str, Any]) -> list[dict[str, Any]]:
    """One mapping a site, ``site`` first, for tables: halted ones first, then the slowest."""
    rank = {"stopped": 0, "paused": 1, "slowed": 2, "active": 3}
    rows = [{"site": site, **order} for site, order in document["sites"].items()]
    return sorted(rows, key=lambda row: (rank[row["state"]], -row["step"], row["site"]))
