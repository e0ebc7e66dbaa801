"""The settings of the local Airflow that ``make up`` and ``make run`` start, in one place.

They go into ``airflow.cfg`` under ``var/airflow``, so ``AIRFLOW_HOME=var/airflow`` is all that
``airflow`` on a command line needs.
"""

from __future__ import annotations

import configparser
import json
import os
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from target_health.airflow_sqlite import LOCAL_SETTINGS, LOCAL_SETTINGS_TEXT
from target_health.paths import PROJECT_ROOT, Home, config_directory

DEFAULT_PORT = 8080
USER = "admin"
SQLITE_WAIT_S = 60
# Sections and keys that are made up once and then kept, as tokens and passwords hang on them.
SECRETS = (("core", "fernet_key"), ("api", "secret_key"), ("api_auth", "jwt_secret"))


@dataclass(frozen=True, slots=True)
class LocalAirflow:
    """Airflow for one machine: where it lies and listens; on SQLite without a ``database``."""

    root: Path
    port: int = DEFAULT_PORT
    database: str | None = None

    @classmethod
    def of(cls, home: Home, port: int = DEFAULT_PORT) -> LocalAirflow:
        return cls(home.root / "airflow", port)

    @property
    def config_file(self) -> Path:
        return self.root / "airflow.cfg"

    @property
    def passwords_file(self) -> Path:
        return self.root / "passwords.json"

    @property
    def pid_file(self) -> Path:
        return self.root / "airflow.pid"

    @property
    def log_file(self) -> Path:
        return self.root / "airflow.log"

    @property
    def url(self) -> str:
        return f"http://localhost:{self.port}"

    @property
    def sqlite_url(self) -> str:
        """Its users wait 60 s, not 5, for each other: a backfill makes many."""
        return f"sqlite:///{self.root / 'airflow.db'}?timeout={SQLITE_WAIT_S}"

    def settings(self) -> dict[str, dict[str, str]]:
        """What differs from Airflow's defaults, by section; without the secrets."""
        return {
            "core": {
                "dags_folder": str(PROJECT_ROOT / "dags"),
                "plugins_folder": str(PROJECT_ROOT / "plugins"),
                "load_examples": "False",
                # Nothing here is dangerous before crawlers and pagers are connected.
                "dags_are_paused_at_creation": "False",
                "executor": "LocalExecutor",
                # The writing tasks go one at a time anyway; two more serve the waiting ones.
                "parallelism": "4",
                "simple_auth_manager_users": f"{USER}:admin",
                "simple_auth_manager_passwords_file": str(self.passwords_file),
                "execution_api_server_url": f"{self.url}/execution/",
            },
            "database": {"sql_alchemy_conn": self.database or self.sqlite_url},
            "api": {
                "host": "localhost",
                "port": str(self.port),
                "base_url": self.url,
                "workers": "1",
                "expose_config": "False",
            },
            "logging": {
                "base_log_folder": str(self.root / "logs"),
                # The port that serves the logs of running tasks, beside the API's.
                "worker_log_server_port": str(self.port + 1),
                "trigger_log_server_port": str(self.port + 2),
            },
            "dag_processor": {"parsing_processes": "1", "refresh_interval": "60"},
            "scheduler": {"enable_health_check": "False"},
            "usage_data_collection": {"enabled": "False"},
        }

    def write(self) -> None:
        """Bring ``airflow.cfg`` and the login up to date; secrets that exist are kept."""
        self.root.mkdir(parents=True, exist_ok=True)
        before = configparser.RawConfigParser()
        before.read(self.config_file, encoding="utf-8")
        config = configparser.RawConfigParser()
        config.read_dict(self.settings())
        for section, key in SECRETS:
            if not config.has_section(section):
                config.add_section(section)
            made_up = urlsafe_b64encode(secrets.token_bytes(32)).decode()
            config.set(section, key, before.get(section, key, fallback=made_up))
        write_private(self.config_file, config.write)
        local_settings = self.root / "config" / LOCAL_SETTINGS
        local_settings.parent.mkdir(exist_ok=True)
        write_private(local_settings, lambda stream: stream.write(LOCAL_SETTINGS_TEXT))
        if not self.passwords_file.exists():
            login = json.dumps({USER: secrets.token_urlsafe(9)})
            write_private(self.passwords_file, lambda stream: stream.write(login + "\n"))

    def password(self) -> str:
        return str(json.loads(self.passwords_file.read_text(encoding="utf-8"))[USER])

    def environment(self) -> dict[str, str]:
        """The environment for Airflow's processes: no settings but ours, the user's connections.

        Paths are absolute, as Airflow's processes have another working directory.
        """
        ours = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith("AIRFLOW__") and key != "AIRFLOW_CONFIG"
        }
        ours["AIRFLOW_HOME"] = str(self.root)
        ours["TARGET_HEALTH_HOME"] = str(self.root.parent)
        ours["TARGET_HEALTH_CONFIG"] = str(config_directory())
        return ours


def write_private(path: Path, write: Callable[[TextIO], object]) -> None:
    """Replace a file in one step, readable by its owner only."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        write(stream)
    partial.replace(path)
