"""Rows whose event was landed before: given ids that come again, contents that part ways late."""

from __future__ import annotations

from datetime import datetime, timedelta

import duckdb
import numpy as np
import pyarrow as pa
import xxhash

from target_health.landing.staging import DUPLICATE, LANDED_BEFORE, FilePart, Staging
from target_health.paths import Home
from target_health.readers.sql_text import literal

#: Given ids remembered beside the lake: enough for redelivery after days in most fleets, and
#: looked through in a tenth of a second.
REMEMBERED_IDS = 20_000_000
#: A redelivered event has its old time, give or take a clock's drift.
NEAR = timedelta(hours=1)

#: Contents that share this many first lines are copies of one log, not two logs that begin with
#: the same fetch by chance.
COPIED_LINES = 100

KEY = "hash(source, event_id)"


def needed(staging: Staging, parts: list[FilePart]) -> bool:
    """Whether the batch may hold rows that were landed before."""
    return any(part.twin for part in parts) or staging.has_given_ids()


def drop_duplicates(
    home: Home,
    warehouse: duckdb.DuckDBPyConnection,
    staging: Staging,
    parts: list[FilePart],
) -> pa.Table | None:
    """Take rows out of ``ready`` whose event is already there or landed; counts them as skipped.

    A given ``event_id`` counts once a source, as two sources may number their events alike; in
    another source it is the same event when time and URL agree too. A file that begins like a
    landed content is a copy of it as far as they agree: when it agrees whole, or for
    ``COPIED_LINES`` and more. Returns the keys of the given ids to remember.
    """
    given = staging.has_given_ids()
    twins = [part.number for part in parts if part.twin]
    staging.query("CREATE OR REPLACE TEMP TABLE doubles (row_number BIGINT)")
    if given:
        staging.query(
            "INSERT INTO doubles SELECT rowid FROM (SELECT rowid, row_number() OVER "
            "(PARTITION BY source, event_id ORDER BY file_number, line) AS place "
            "FROM ready WHERE id_was_given) WHERE place > 1"
        )
        if len({part.source_name for part in parts}) > 1:
            staging.query(
                "INSERT INTO doubles SELECT rowid FROM (SELECT rowid, row_number() OVER "
                "(PARTITION BY event_id, ts, url ORDER BY file_number, line) AS place "
                "FROM ready WHERE id_was_given) WHERE place > 1"
            )
        _known_keys(warehouse, staging)
    if twins:
        staging.query(
            "INSERT INTO doubles SELECT rowid FROM (SELECT rowid, file_number, row_number() OVER "
            "(PARTITION BY event_id ORDER BY file_number, line) AS place FROM ready "
            "WHERE NOT id_was_given) WHERE place > 1"
        )
    _in_lake(home, warehouse, staging, twins)
    by_number = {part.number: part for part in parts}
    kept = []
    for number, was_given, count in staging.query(
        "SELECT file_number, id_was_given, count(*) FROM ready "
        "WHERE rowid IN (SELECT row_number FROM doubles) GROUP BY ALL"
    ):
        part = by_number[number]
        if not was_given and count < min(COPIED_LINES, part.rows):
            kept.append(number)
            continue
        part.rows -= count
        part.skipped[DUPLICATE if was_given else LANDED_BEFORE] += count
    for number in kept:
        staging.query(
            "UPDATE ready SET event_id = event_id || '-' || ? WHERE file_number = ? "
            "AND NOT id_was_given AND rowid IN (SELECT row_number FROM doubles)",
            [xxhash.xxh3_64_hexdigest(by_number[number].path.encode())[:8], number],
        )
    numbers = ", ".join(map(str, kept)) or "-1"
    staging.query(
        "DELETE FROM ready WHERE rowid IN (SELECT row_number FROM doubles) "
        f"AND (id_was_given OR file_number NOT IN ({numbers}))"
    )
    if not given:
        return None
    return staging.arrow(f"SELECT {KEY} AS key FROM ready WHERE id_was_given")


def _known_keys(warehouse: duckdb.DuckDBPyConnection, staging: Staging) -> None:
    keys = staging.arrow(f"SELECT DISTINCT {KEY} AS key FROM ready WHERE id_was_given")
    warehouse.register("batch_keys", keys)
    known = warehouse.execute(
        "SELECT DISTINCT key FROM batch_keys SEMI JOIN given_event_ids USING (key)"
    ).fetchnumpy()["key"]
    warehouse.unregister("batch_keys")
    if len(known):
        staging.connection.register("known_keys", pa.table({"key": np.asarray(known, np.uint64)}))
        staging.query(
            "INSERT INTO doubles SELECT rowid FROM ready WHERE id_was_given "
            f"AND {KEY} IN (SELECT key FROM known_keys)"
        )
        staging.connection.unregister("known_keys")


def _in_lake(
    home: Home, warehouse: duckdb.DuckDBPyConnection, staging: Staging, twins: list[int]
) -> None:
    numbers = ", ".join(map(str, twins)) or "-1"
    asked = f"(id_was_given OR file_number IN ({numbers}))"
    hours = [
        hour for (hour,) in staging.query(f"SELECT DISTINCT hour_start FROM ready WHERE {asked}")
    ]
    near = sorted({hour + step * NEAR for hour in hours for step in (-1, 0, 1)})
    if not near:
        return
    paths = [
        path
        for (path,) in warehouse.execute(
            "SELECT path FROM lake_files WHERE hour_start IN (SELECT unnest(?::TIMESTAMP[]))",
            [near],
        ).fetchall()
    ]
    if not paths:
        return
    files = ", ".join(literal(str(home.root / path)) for path in paths)
    staging.query(
        f"INSERT INTO doubles SELECT rowid FROM ready WHERE {asked} AND EXISTS (SELECT 1 FROM "
        f"read_parquet([{files}], hive_partitioning = false) AS landed "
        "WHERE landed.event_id = ready.event_id "
        "AND (NOT ready.id_was_given OR landed.source = ready.source "
        "OR (landed.ts = ready.ts AND landed.url = ready.url)))"
    )


def remember(
    warehouse: duckdb.DuckDBPyConnection, keys: pa.Table | None, landed_at: datetime
) -> None:
    """Inside a transaction: remember given ids, forgetting the oldest beyond the bound."""
    if keys is None:
        return
    warehouse.register("new_keys", keys)
    warehouse.execute("INSERT INTO given_event_ids SELECT key, ? FROM new_keys", [landed_at])
    warehouse.unregister("new_keys")
    warehouse.execute(
        "DELETE FROM given_event_ids WHERE landed_at < (SELECT min(landed_at) FROM (SELECT "
        "landed_at, sum(n) OVER (ORDER BY landed_at DESC) AS so_far FROM (SELECT landed_at, "
        "count(*) AS n FROM given_event_ids GROUP BY landed_at)) WHERE so_far <= ?)",
        [REMEMBERED_IDS],
    )
