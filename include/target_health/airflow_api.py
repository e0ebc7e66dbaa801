"""A local Airflow's REST API: its health, its DAGs' runs."""

from __future__ import annotations

from typing import Any

import requests

from target_health.errors import TargetHealthError

TIMEOUT_S = 30
COMPONENTS = ("metadatabase", "scheduler", "triggerer", "dag_processor")


class AirflowApi:
    """Calls as one user; the token is fetched with the first call that needs it."""

    def __init__(self, url: str, user: str, password: str) -> None:
        self.url = url
        self._login = {"username": user, "password": password}
        self._session = requests.Session()
        # A proxy in the environment is for the world, not for this machine.
        self._session.trust_env = False

    def unhealthy(self) -> list[str]:
        """The components that do not answer yet."""
        try:
            answer = self._session.get(f"{self.url}/api/v2/monitor/health", timeout=TIMEOUT_S)
            health = answer.json()
        except (requests.RequestException, ValueError):
            return ["api_server"]
        return [name for name in COMPONENTS if (health.get(name) or {}).get("status") != "healthy"]

    def call(self, method: str, path: str, **query: Any) -> Any:
        """``path`` under ``/api/v2/``; a body goes in as ``json=…``, a query as ``params=…``.

        Returns the answer's JSON, None where there is no such thing. Raises ``TargetHealthError``.
        """
        if "Authorization" not in self._session.headers:
            self._sign_in()
        answer = self._session.request(
            method, f"{self.url}/api/v2/{path}", timeout=TIMEOUT_S, **query
        )
        if answer.status_code == requests.codes.not_found:
            return None
        if not answer.ok:
            raise TargetHealthError(
                f"Airflow answers {answer.status_code} to {method} {path}: {answer.text[:300]}"
            )
        return answer.json() if answer.content else None

    def _sign_in(self) -> None:
        answer = self._session.post(f"{self.url}/auth/token", json=self._login, timeout=TIMEOUT_S)
        if not answer.ok:
            raise TargetHealthError(
                f"the Airflow at {self.url} does not know our login: is it another project's?"
            )
        self._session.headers["Authorization"] = f"Bearer {answer.json()['access_token']}"

    def dag(self, dag_id: str) -> dict[str, Any] | None:
        return self.call("GET", f"dags/{dag_id}")

    def unpause(self, dag_id: str) -> None:
        self.call("PATCH", f"dags/{dag_id}", json={"is_paused": False})

    def import_errors(self) -> list[str]:
        """One line a DAG file that does not load."""
        errors = self.call("GET", "importErrors")["import_errors"]
        return [
            f"{error['filename']}: {error['stack_trace'].strip().splitlines()[-1]}"
            for error in errors
        ]

    def trigger(self, dag_id: str) -> dict[str, Any]:
        """Start a run without a data interval; returns it."""
        return self.call("POST", f"dags/{dag_id}/dagRuns", json={"logical_date": None})

    def required_action(self, dag_id: str, run_id: str, task_id: str) -> dict[str, Any] | None:
        """What a task asks a human, with the answer if there is one; None before it asks."""
        return self.call("GET", hitl_path(dag_id, run_id, task_id))

    def answer(
        self, dag_id: str, run_id: str, task_id: str, option: str, **fields: Any
    ) -> dict[str, Any]:
        """Answer a required action."""
        given = {"chosen_options": [option], "params_input": fields}
        return self.call("PATCH", hitl_path(dag_id, run_id, task_id), json=given)

    def runs(self, dag_id: str, limit: int = 100) -> list[dict[str, Any]]:
        """The newest runs, newest first."""
        found = self.call(
            "GET", f"dags/{dag_id}/dagRuns", params={"order_by": "-run_after", "limit": limit}
        )
        return found["dag_runs"] if found else []

    def task_states(self, dag_id: str, run_id: str) -> dict[str, str | None]:
        """State by task id, None before a task is scheduled."""
        found = self.call(
            "GET", f"dags/{dag_id}/dagRuns/{run_id}/taskInstances", params={"limit": 100}
        )
        return {task["task_id"]: task["state"] for task in found["task_instances"]}

    def task_log(self, dag_id: str, run_id: str, task_id: str) -> list[str]:
        """The entries of the newest attempt's log, without their times."""
        path = f"dags/{dag_id}/dagRuns/{run_id}/taskInstances/{task_id}"
        task = self.call("GET", path)
        found = self.call("GET", f"{path}/logs/{task['try_number']}") if task else None
        content = found["content"] if found else []
        return [entry["event"] if isinstance(entry, dict) else str(entry) for entry in content]


def hitl_path(dag_id: str, run_id: str, task_id: str) -> str:
    return f"dags/{dag_id}/dagRuns/{run_id}/taskInstances/{task_id}/-1/hitlDetails"
