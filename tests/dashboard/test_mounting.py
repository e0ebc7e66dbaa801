"""What Airflow's plugin registers."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.responses import PlainTextResponse
from fastapi.testclient import TestClient

from target_health.dashboard.mounting import (
    AsgiApp,
    LazyApp,
    Receive,
    Scope,
    Send,
    SlashRedirect,
    navigation,
)


def test_app_is_made_once_with_the_first_request() -> None:
    made = []

    def make() -> PlainTextResponse:
        made.append(1)
        return PlainTextResponse("here")

    outer = FastAPI()
    outer.mount("/target-health", LazyApp(make))
    client = TestClient(outer)
    assert made == []
    assert [client.get("/target-health/x").text for _ in range(2)] == ["here", "here"]
    assert made == [1]


def test_app_is_made_beside_the_event_loop() -> None:
    """Its imports take seconds, and Airflow's tasks talk to the same loop."""
    threads = []

    def make() -> AsgiApp:
        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            threads.append(threading.get_ident())

        threads.append(threading.get_ident())
        return answer

    async def nothing(*_: Any) -> Any:
        return {}

    asyncio.run(LazyApp(make)({"type": "http"}, nothing, nothing))
    making, answering = threads
    assert answering == threading.get_ident() != making


@pytest.mark.parametrize("prefix", ["", "/airflow"])
def test_missing_slash_is_added_and_nothing_else_changed(prefix: str) -> None:
    outer = FastAPI()

    @outer.get("/{rest:path}")
    def anything(rest: str) -> str:
        return rest

    client = TestClient(SlashRedirect(outer), root_path=prefix, follow_redirects=False)
    answer = client.get("/target-health?band=resisting")
    assert answer.status_code == 307
    assert answer.headers["location"] == "target-health/?band=resisting"
    for place in ("/target-health/", "/target-healthy", "/x/target-health"):
        assert client.get(place).status_code == 200


def test_navigation_keeps_the_prefix_of_airflow() -> None:
    entry = navigation("/airflow")
    assert entry["href"] == "/airflow/target-health/"
    assert entry["url_route"] == "target-health"
    assert entry["nav_top_level"] is True
