"""A landing that dies at its n-th step: run by ``test_kill`` in a process of its own."""

from __future__ import annotations

import os
import signal
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

from target_health.config import load_configuration
from target_health.landing import batch, land, staging, streaming
from target_health.paths import Home


def main(root: str, steps: int, now: str) -> None:
    left = steps

    def step(function: Any) -> Any:
        def counted(*args: Any, **kwargs: Any) -> Any:
            nonlocal left
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1
            return function(*args, **kwargs)

        return counted

    streaming.STREAM_FROM = int(os.environ.get("STREAM_FROM", streaming.STREAM_FROM))
    for name in ("announce", "publish", "sync_directory", "check_space"):
        if hasattr(batch, name):
            setattr(batch, name, step(getattr(batch, name)))
    staging.Staging.query = step(staging.Staging.query)  # type: ignore[method-assign]
    batch.Entries.insert = step(batch.Entries.insert)  # type: ignore[method-assign]
    os.replace = step(os.replace)
    os.fsync = step(os.fsync)
    Path.unlink = step(Path.unlink)  # type: ignore[method-assign]
    land(Home(Path(root)), now=datetime.fromisoformat(now), configuration=load_configuration())
    print(steps - left)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
