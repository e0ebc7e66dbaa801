"""The columns of ``crawl_log`` and of the lake's files, in their order."""

from __future__ import annotations

#: Published columns with their DuckDB types. Times are UTC.
CRAWL_LOG: dict[str, str] = {
    "event_id": "VARCHAR",
    "ts": "TIMESTAMP",
    "site": "VARCHAR",
    "url": "VARCHAR",
    "page_type": "VARCHAR",
    "status": "SMALLINT",
    "error": "VARCHAR",
    "latency_ms": "DOUBLE",
    "bytes": "BIGINT",
    "attempts": "BIGINT",
    "redirects": "BIGINT",
    "credits": "DOUBLE",
    "route_gateway": "VARCHAR",
    "route_country": "VARCHAR",
    "route_pool": "VARCHAR",
    "route_session": "VARCHAR",
    "route_exit": "VARCHAR",
    "final_url": "VARCHAR",
    "content_hash": "VARCHAR",
    "title": "VARCHAR",
    "text_length": "BIGINT",
    "evidence": "VARCHAR[]",
    "verdict": "VARCHAR",
    "item": "VARCHAR",
    "canary": "VARCHAR",
    "source": "VARCHAR",
    "landed_at": "TIMESTAMP",
}

#: What the lake's files hold beyond that, for the models.
INTERNAL: dict[str, str] = {
    "text_hash": "VARCHAR",
    "has_item_value": "BOOLEAN",
}

LAKE = {**CRAWL_LOG, **INTERNAL}
