"""From simulated fetches to lines of the native crawl log (design, section 4)."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import duckdb
import numpy as np
import pandas as pd

from target_health.simulator.outcomes import OUTCOMES
from target_health.simulator.pages import (
    AUTHORS,
    HEADLINES,
    ITEM_STATES,
    PAGE_TYPES,
    PRODUCT_NAMES,
    SECTIONS,
)
from target_health.simulator.profiles import CREDITS_PER_ATTEMPT, POOLS, VENDORS, Profile
from target_health.simulator.rhythm import DAY_MS

# Bounds the memory of a long file; an hour's file of an ordinary fleet is one batch.
_BATCH = 200_000
# A page's size as a factor on its type's median. It stays above half and below double, so that
# an honest page never looks as small as a soft block.
_SIZE_FACTORS = np.clip(np.exp(0.25 * np.random.default_rng(0).standard_normal(4096)), 0.55, 1.9)
# A page's content, and with it its hash, changes this often.
_VERSION_DAYS = 5

# Null parts vanish in concat(): a field that was not logged, an item that was not attempted.
_LINES = """
SELECT concat(
    '{"ts":"', strftime(ts, '%Y-%m-%dT%H:%M:%S.%gZ'),
    '","url":"', url,
    '","page_type":"', page_type,
    '","status":', coalesce(nullif(status, 0)::VARCHAR, 'null'),
    ',"error":"' || error || '"',
    ',"latency_ms":', latency_ms,
    ',"bytes":' || nullif(bytes, 0),
    ',"attempts":', attempts,
    ',"redirects":', redirects,
    ',"credits":' || nullif(credits, 0),
    ',"route":{"gateway":"', gateway, '","country":"', country, '","pool":"', pool,
    '","session":"', session, '","exit":"', exit, '"}',
    ',"final_url":"' || final_url || '"',
    CASE WHEN bytes > 0 THEN concat(
        ',"content_hash":"', left(md5(concat(site_index, ':', answer)), 16),
        '","title":"', title, '","text_length":', text_length)
    END,
    ',"evidence":["' || evidence || '"]',
    ',"item":' || CASE item_state
        WHEN 'absent' THEN NULL
        WHEN 'none' THEN 'null'
        ELSE CASE page_type
            WHEN 'product' THEN concat(
                '{"name":"', CASE WHEN item_state <> 'broken' THEN name END,
                '","price":', CASE WHEN item_state = 'complete' THEN price::VARCHAR ELSE 'null' END,
                ',"currency":', CASE WHEN item_state = 'broken' THEN 'null' ELSE '"EUR"' END,
                ',"in_stock":', CASE WHEN seed % 7 > 0 THEN 'true' ELSE 'false' END,
                ',"sku":"SKU-', lpad((seed % 1000000)::VARCHAR, 6, '0'),
                '","rating":', (1 + (seed % 41) / 10)::DECIMAL(2, 1),
                ',"seller":{"name":"Seller ', seed % 40,
                '","country":"', CASE WHEN seed % 3 = 0 THEN 'PL' ELSE 'DE' END, '"}}')
            WHEN 'listing' THEN concat(
                '[{"name":"', CASE WHEN item_state <> 'broken' THEN name END,
                '","price":', CASE WHEN item_state = 'complete' THEN price::VARCHAR ELSE 'null' END,
                ',"url":"', site_url, '/product/', page * 3, '"},{"name":"',
                CASE WHEN item_state <> 'broken' THEN name || ' XL' END,
                '","price":',
                CASE WHEN item_state = 'broken' THEN 'null' ELSE round(price + 5, 2)::VARCHAR END,
                ',"url":"', site_url, '/product/', page * 3 + 1, '"}]')
            ELSE concat(
                '{"headline":"', CASE WHEN item_state <> 'broken' THEN headline END,
                '","author":',
                CASE WHEN item_state = 'complete' THEN '"' || author || '"' ELSE 'null' END,
                ',"published_at":"', strftime(published_at, '%Y-%m-%dT%H:%M:%SZ'),
                '","section":"', section,
                '","word_count":',
                CASE WHEN item_state = 'broken' THEN 'null' ELSE (text_length // 6)::VARCHAR END,
                ',"tags":["', section, '","', lower(split_part(headline, ' ', 1)), '"]}')
        END
    END,
    '}', chr(10)
) AS line
FROM (
    SELECT
        *,
        CASE WHEN status > 0 THEN coalesce(
            site_url || answer_path,
            CASE WHEN redirects > 0 THEN url || '-' || seed % 97 END
        ) END AS final_url,
        coalesce(
            answer_title, CASE WHEN page_type IN ('product', 'listing') THEN name ELSE headline END
        ) AS title
    FROM (SELECT *, concat(site_url, path, page) AS url FROM fetches)
)
"""

_STATUS_COUNT = np.array([max(1, len(outcome.statuses)) for outcome in OUTCOMES])
# By outcome, then by turn; 0: no response.
_STATUSES = np.array(
    [
        (*outcome.statuses, *[0] * (_STATUS_COUNT.max() - len(outcome.statuses)))
        for outcome in OUTCOMES
    ]
)
_SIZE = np.array([outcome.size for outcome in OUTCOMES])
_LATENCY = np.array([outcome.latency for outcome in OUTCOMES])
_WAIT_MS = np.array([outcome.wait_ms for outcome in OUTCOMES])
_ANSWER = np.array([outcome.answer for outcome in OUTCOMES])
_ITEM = np.array([outcome.item for outcome in OUTCOMES])
_LEADS_AWAY = np.array([outcome.final_path is not None for outcome in OUTCOMES])
_EXTRACTS = np.array([page_type.extracts for page_type in PAGE_TYPES])
_PAGE_SIZE = np.array([page_type.size for page_type in PAGE_TYPES])
_CREDITS = np.array([CREDITS_PER_ATTEMPT[pool] for pool in POOLS])
_ABSENT = len(ITEM_STATES)


class LogWriter:
    """Writes frames of fetches as native JSON lines; the same frames give the same bytes."""

    def __init__(self, profiles: Sequence[Profile]) -> None:
        self._profiles = profiles
        self._connection = duckdb.connect(config={"threads": 2})
        self._connection.execute("SET arrow_large_buffer_size = true")

    def __enter__(self) -> LogWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def write(self, path: Path, fetches: pd.DataFrame) -> int:
        """Writes the file whole or not at all (``.gz``: compressed); returns its bytes on disk.

        ``fetches`` are those of a file, in the order of their lines.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        with _replaced(path) as out:
            for start in range(0, len(fetches), _BATCH):
                for lines in self._lines(fetches.iloc[start : start + _BATCH]):
                    out.write(lines)
        return path.stat().st_size

    def _lines(self, fetches: pd.DataFrame) -> Iterator[memoryview]:
        """The lines' own buffers, without a copy."""
        self._connection.register("fetches", log_columns(fetches, self._profiles))
        table = self._connection.sql(_LINES).to_arrow_table()
        self._connection.unregister("fetches")
        for chunk in table["line"].chunks:
            offsets = np.frombuffer(chunk.buffers()[1], dtype=np.int64)
            first, last = offsets[chunk.offset], offsets[chunk.offset + len(chunk)]
            yield memoryview(chunk.buffers()[2])[first:last]


def log_columns(fetches: pd.DataFrame, profiles: Sequence[Profile]) -> pd.DataFrame:
    """What the lines are made of, one row a fetch; 0 stands for what is not logged."""
    site = fetches["site_index"].to_numpy().astype(np.int64)
    outcome = fetches["outcome"].cat.codes.to_numpy().astype(np.int64)
    page_type = fetches["page_type"].cat.codes.to_numpy().astype(np.int64)
    vendor = np.array([VENDORS.index(profile.vendor) for profile in profiles])[site]
    salt = fetches["salt"].to_numpy()
    epoch = fetches["ts"].to_numpy().astype("datetime64[ms]").astype(np.int64)
    page = fetches["page"].to_numpy().astype(np.int64)

    # A page keeps its name and its price's order; its content changes with its version.
    seed = _scramble(site * 1_000_003 + page * 31 + page_type)
    version = (epoch // DAY_MS + seed) // _VERSION_DAYS
    answer = np.select(
        [_ANSWER[outcome] == "page", _ANSWER[outcome] == "site"],
        [_scramble(seed * 64 + version % 64 + outcome * 2**40), -1 - outcome],
        default=salt,
    )
    # The same answer has the same size, whatever page was asked for.
    page_size = np.where(_ANSWER[outcome] == "site", 1.0, _PAGE_SIZE[page_type])
    site_size = np.array([profile.bytes for profile in profiles])[site]
    size = site_size * page_size * _SIZE[outcome] * _SIZE_FACTORS[answer % len(_SIZE_FACTORS)]
    latency_ms = np.where(
        _WAIT_MS[outcome] > 0,
        _WAIT_MS[outcome] + salt % 400,
        fetches["latency_ms"].to_numpy() * _LATENCY[outcome],
    )
    credits = np.where(
        np.array([profile.credits_known for profile in profiles])[site],
        fetches["attempts"].to_numpy() * _CREDITS[fetches["pool"].cat.codes.to_numpy()],
        0,
    )
    statuses = _STATUSES[outcome, salt % _STATUS_COUNT[outcome]]
    # What extraction saw: the page's own item, nothing, or it was not attempted.
    item_state = np.where(
        _ITEM[outcome] == "page",
        fetches["item"].cat.codes.to_numpy(),
        np.where(_ITEM[outcome] == "none", ITEM_STATES.index("none"), _ABSENT),
    )
    item_state = np.where(_EXTRACTS[page_type], item_state, _ABSENT)
    columns = {
        "site_url": _label(site, [f"https://{'www.' if p.www else ''}{p.name}" for p in profiles]),
        "path": _label(page_type, [page_type.path for page_type in PAGE_TYPES]),
        "status": statuses,
        "error": _label(outcome, [o.error for o in OUTCOMES]),
        "latency_ms": np.maximum(1, np.round(latency_ms)).astype(np.int64),
        "bytes": np.round(size).astype(np.int64),
        "text_length": np.round(size / (7 + answer % 5)).astype(np.int64),
        "credits": credits,
        "evidence": _label(
            outcome * len(VENDORS) + vendor,
            [o.evidence and o.evidence.format(vendor=name) for o in OUTCOMES for name in VENDORS],
        ),
        "answer": answer,
        "answer_path": _label(outcome, [o.final_path for o in OUTCOMES]),
        "answer_title": _label(outcome, [o.title for o in OUTCOMES]),
        "item_state": _label(item_state, (*ITEM_STATES, "absent")),
        "redirects": np.maximum(fetches["redirects"].to_numpy(), _LEADS_AWAY[outcome]),
        "seed": seed,
        "name": _label(seed % len(PRODUCT_NAMES), PRODUCT_NAMES),
        "price": np.round(4.99 + (seed // 256) % 300 + (version % 5), 2),
        "headline": _label(seed % len(HEADLINES), HEADLINES),
        "author": _label(seed % len(AUTHORS), AUTHORS),
        "section": _label((seed // 8) % len(SECTIONS), SECTIONS),
        "published_at": (epoch // DAY_MS * DAY_MS - (seed % 400) * 3_600_000).astype(
            "datetime64[ms]"
        ),
    }
    return fetches.drop(columns=["outcome", "item", "salt", "latency_ms"]).assign(**columns)


def _label(codes: np.ndarray, labels: Sequence[str | None]) -> pd.Categorical[Any]:
    """``labels`` by code; None stays null."""
    categories = list(dict.fromkeys(label for label in labels if label is not None))
    places = np.array([-1 if label is None else categories.index(label) for label in labels])
    return pd.Categorical.from_codes(places[codes], dtype=pd.CategoricalDtype(categories))


def _scramble(numbers: np.ndarray) -> np.ndarray:
    """Well-mixed non-negative numbers, the same for the same input (splitmix64's finaliser)."""
    mixed = numbers.astype(np.uint64)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(2)).astype(np.int64)


@contextmanager
def _replaced(path: Path) -> Iterator[BinaryIO]:
    """A file that appears under its name only when it is whole."""
    partial = path.with_name(f".{path.name}.partial")
    try:
        with partial.open("wb") as raw:
            if path.suffix == ".gz":
                # No name and no time in the header: the same lines make the same file.
                with gzip.GzipFile("", "wb", 3, raw, mtime=0) as packed:
                    yield packed  # type: ignore[misc]
            else:
                yield raw
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
