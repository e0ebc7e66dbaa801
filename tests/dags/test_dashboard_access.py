"""Airflow's roles at the dashboard, and the plugin that registers it."""

from __future__ import annotations

import pytest
from fastapi import Depends, FastAPI
from fastapi.testclient import TestClient

from target_health.dashboard.access import Visitor


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> TestClient:
    """An application that says who Airflow's simple auth manager takes its visitor for."""
    from airflow.api_fastapi.app import _AuthManagerState
    from airflow.api_fastapi.auth.managers.simple.simple_auth_manager import SimpleAuthManager

    from target_health.airflow_bridge import dashboard_access

    monkeypatch.setattr(_AuthManagerState, "instance", SimpleAuthManager())
    access = dashboard_access()
    app = FastAPI()

    @app.get("/")
    def who(visitor: Visitor = Depends(access.visitor)) -> dict[str, object]:
        return {"name": visitor.name, "may_change": visitor.may_change}

    @app.get("/login")
    def login() -> str:
        return access.login_url("http://here/target-health/")

    return TestClient(app)


@pytest.mark.parametrize(
    ("role", "may_change"), [("viewer", False), ("user", True), ("admin", True)]
)
def test_roles_see_and_those_who_may_edit_the_dag_change(
    client: TestClient, role: str, may_change: bool
) -> None:
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser
    from airflow.api_fastapi.core_api.security import get_user

    app = client.app
    assert isinstance(app, FastAPI)
    app.dependency_overrides[get_user] = lambda: SimpleAuthManagerUser(
        username="Kim", role=role, teams=None
    )
    assert client.get("/").json() == {"name": "Kim", "may_change": may_change}


def test_nobody_and_a_made_up_token_are_turned_away(client: TestClient) -> None:
    assert client.get("/").status_code == 401
    token = {"Authorization": "Bearer made.up.token"}
    assert client.get("/", headers=token).status_code in (401, 403)
    assert "next=http%3A%2F%2Fhere%2Ftarget-health%2F" in client.get("/login").json()


def test_plugin_registers_the_pages_and_their_entry() -> None:
    import importlib.util

    from target_health.dashboard.mounting import dashboard
    from target_health.paths import PROJECT_ROOT

    path = PROJECT_ROOT / "plugins" / "target_health_dashboard.py"
    spec = importlib.util.spec_from_file_location("plugin_under_test", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    plugin = module.TargetHealthDashboard
    assert [(app["url_prefix"], app["app"]) for app in plugin.fastapi_apps] == [
        ("/target-health", dashboard)
    ]
    (entry,) = plugin.external_views
    assert (entry["name"], entry["destination"]) == ("Target Health", "nav")
