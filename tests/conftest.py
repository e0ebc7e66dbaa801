"""What tests of many parts share."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest
import requests

from target_health.warehouse.migrations import migrate


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    """An empty warehouse in memory."""
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        migrate(connection)
        yield connection


@pytest.fixture
def s3_endpoint() -> Iterator[str]:
    """The address of an S3 server on loopback, empty; the environment has no part in it."""
    server_module = pytest.importorskip("moto.server", reason="needs moto[server]")
    pytest.importorskip("s3fs", reason="needs s3fs")
    server = server_module.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    # A process's servers share their buckets: one that is new shows those of the one before.
    requests.post(f"{address}/moto-api/reset", timeout=10).raise_for_status()
    yield address
    server.stop()
