"""What a person asks for on a page, carried out as the command line does it.

In a process of its own: the writer's database needs memory that Airflow's API server should not
have to keep, and a deed that fails costs nothing but itself.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Literal

import target_health
from target_health.errors import TargetHealthError, UsageError

Deed = Literal["pause", "resume"]

# A person waits for the answer: not for a long run's lock.
LOCK_WAIT_S = 20
LONGEST_S = 300
LONGEST_WHY = 1000


def carry_out(deed: Deed, site: str, *, by: str, why: str, step: int | None = None) -> None:
    """Pause or resume one site as ``target-health`` does.

    Raises ``UsageError`` for what is asked wrongly, ``TargetHealthError`` when it failed; both say
    in one line what to do.
    """
    if not why.strip():
        raise UsageError("say why: it is recorded with your name")
    if "\0" in site + why + by:
        raise UsageError("a name or a reason cannot hold a null character")
    command = [
        sys.executable,
        "-P",
        "-m",
        "target_health",
        deed,
        f"--by={by}",
        f"--why={why.strip()[:LONGEST_WHY]}",
        *([] if step is None else [f"--step={step}"]),
        "--json",
        "--",
        site,
    ]
    package = str(Path(target_health.__file__).parents[1])
    paths = [package, os.environ.get("PYTHONPATH", "")]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
        "TARGET_HEALTH_LOCK_WAIT_S": str(LOCK_WAIT_S),
    }
    try:
        done = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            timeout=LONGEST_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise TargetHealthError(
            f"it took longer than {LONGEST_S} s: look at the site again in a while"
        ) from None
    if done.returncode != 0:
        said = (done.stderr.strip().splitlines() or ["it failed"])[-1]
        message = said.removeprefix("target-health: ")
        raise (UsageError if done.returncode == UsageError.exit_status else TargetHealthError)(
            message
        )
