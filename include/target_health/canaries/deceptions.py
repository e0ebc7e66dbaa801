"""What canaries say of sites, told to the incidents."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import duckdb

from target_health.canaries.verdicts import SiteVerdict
from target_health.config import Configuration
from target_health.decisions import load_states
from target_health.incidents import record_deceptions
from target_health.paths import Home

#: Verdicts that rest on values: a site that refuses its canaries has not come back to the truth.
TELLING = frozenset({"good", "note"})


def tell_incidents(
    connection: duckdb.DuckDBPyConnection,
    home: Home,
    configuration: Configuration,
    verdicts: Iterable[SiteVerdict],
    now: datetime,
) -> None:
    """Open, go on with or close incidents of kind deception; sites of which canaries cannot tell
    stay as they are.
    """
    known = [one for one in verdicts if one.deceived or one.verdict in TELLING]
    record_deceptions(
        connection,
        home,
        configuration,
        load_states(connection),
        {one.site: one.deceived for one in known},
        now,
        since={one.site: one.suspect_since or one.deceived_since for one in known},
    )
