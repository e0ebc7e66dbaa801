"""Where a crawler finds Target Health: the inbox, the control file, its own state."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from target_health.crawl_log.log import file_name
from target_health.errors import UsageError


@dataclass(frozen=True, slots=True)
class Places:
    """``destination``: where log files go (path or URL; None: no log); ``control``: what is
    obeyed (path or URL; None: nothing); ``state``: this crawler's own directory."""

    source: str
    destination: str | None
    control: str | None
    state: Path
    configuration: Path | None

    @property
    def spool(self) -> Path:
        """Log files for a remote destination, while they are written."""
        return self.state / "crawl-log"

    @property
    def deferred(self) -> Path:
        """Requests of halted sites."""
        return self.state / "deferred"

    @property
    def last_control(self) -> Path:
        """The last good copy of the control file."""
        return self.state / "last-control.json"

    def marker_files(self) -> tuple[Path, ...]:
        """The page marks to look for; none named means the shipped ones."""
        if self.configuration is None:
            return ()
        from target_health.config.marker_files import marker_files

        return tuple(marker_files(self.configuration))

    @classmethod
    def of(cls, get: Callable[[str], Any], source: str) -> Places:
        """From settings named like the environment's variables, which stand in for them.

        Raises ``UsageError`` where neither a log nor a control file is named.
        """

        def setting(name: str) -> str:
            value = get(name)
            return str(os.environ.get(name, "") if value is None else value)

        source = file_name(setting("TARGET_HEALTH_SOURCE") or source)
        home = setting("TARGET_HEALTH_HOME").rstrip("/")
        inbox = setting("TARGET_HEALTH_INBOX") or (home and f"{home}/inbox")
        control = setting("TARGET_HEALTH_CONTROL") or (
            home and f"{home}/control/crawl_control.json"
        )
        if not inbox and not control:
            raise UsageError(
                "set TARGET_HEALTH_HOME to Target Health's home, or TARGET_HEALTH_INBOX and "
                "TARGET_HEALTH_CONTROL to where logs go and where the control file lies"
            )
        state = setting("TARGET_HEALTH_STATE")
        configuration = setting("TARGET_HEALTH_CONFIG")
        if state:
            own = Path(state).expanduser()
        elif home and "://" not in home:
            own = Path(home).expanduser() / "crawlers"
        else:
            import platformdirs

            own = platformdirs.user_state_path("target-health")
        return cls(
            source,
            f"{inbox.rstrip('/')}/{source}" if inbox else None,
            control or None,
            own.absolute() / source,
            Path(configuration).expanduser() if configuration else None,
        )
