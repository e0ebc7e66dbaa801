"""Registers the pages of Target Health in Airflow's UI; they are made in the package."""

from urllib.parse import urlsplit

from airflow.configuration import conf
from airflow.plugins_manager import AirflowPlugin

from target_health.dashboard import mounting

BASE_PATH = urlsplit(conf.get("api", "base_url", fallback="") or "").path.rstrip("/")


class TargetHealthDashboard(AirflowPlugin):
    name = "target_health_dashboard"
    fastapi_apps = [
        {
            "app": mounting.dashboard,
            "url_prefix": mounting.PREFIX,
            "name": "Target Health",
        }
    ]
    fastapi_root_middlewares = [
        {"middleware": mounting.SlashRedirect, "name": "Target Health's missing slash"}
    ]
    external_views = [mounting.navigation(BASE_PATH)]
