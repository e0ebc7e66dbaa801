"""The control file is there whole, or as it was before."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import textwrap
import threading

import pytest

from target_health.control import read_control, write_control
from target_health.errors import TargetHealthError


def document(minute: int = 0, sites: int = 1, factor: float = 1) -> dict:
    order = {
        "state": "active",
        "step": 0,
        "concurrency_factor": factor,
        "revisit_factor": 1,
        "concurrency": None,
        "revisit_interval_s": None,
        "effective_cost": None,
        "since": "2026-01-31T12:00:00Z",
        "reasons": ["zu schön"],
        "incident_id": None,
    }
    return {
        "version": 1,
        "generated_at": f"2026-01-31T12:{minute:02}:00Z",
        "sites": {f"s{number}.example": order for number in range(sites)},
    }


def files(home) -> list[str]:
    return sorted(path.name for path in home.control.parent.iterdir())


def test_what_is_written_is_read_again(home):
    path = write_control(home, document())
    assert path == home.control
    assert read_control(home) == document()
    assert json.loads(path.read_text(encoding="utf-8")) == document()
    assert files(home) == ["crawl_control.json"]


def test_others_may_read_it_whatever_the_umask(home):
    before = os.umask(0o077)
    try:
        write_control(home, document())
    finally:
        os.umask(before)
    assert stat.S_IMODE(home.control.stat().st_mode) == 0o644


@pytest.mark.parametrize("step", ["os.fsync", "os.replace", "json.dump"])
def test_a_failure_on_the_way_leaves_the_file_and_no_litter(home, monkeypatch, step):
    write_control(home, document())

    def fail(*_args, **_options):
        raise OSError("no space left on device")

    monkeypatch.setattr(f"target_health.control.file.{step}", fail)
    with pytest.raises(OSError, match="no space left"):
        write_control(home, document(minute=1))
    monkeypatch.undo()
    assert read_control(home) == document()
    assert files(home) == ["crawl_control.json"]


@pytest.mark.parametrize("call", ["os.fchmod", "os.fsync", "os.replace"])
def test_a_writer_killed_on_the_way_leaves_the_file_and_the_next_one_clears_up(home, call):
    write_control(home, document())
    program = textwrap.dedent(
        f"""
        import json, os, signal, sys
        from pathlib import Path
        from target_health.control import write_control
        from target_health.paths import Home
        {call} = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
        write_control(Home(Path(sys.argv[1])), json.loads(sys.argv[2]))
        """
    )
    killed = subprocess.run(
        [sys.executable, "-c", program, str(home.root), json.dumps(document(minute=1))],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    assert read_control(home) == document()
    assert len(files(home)) == 2
    write_control(home, document(minute=2))
    assert read_control(home) == document(minute=2)
    assert files(home) == ["crawl_control.json"]


def test_a_reader_never_sees_half_a_file(home):
    write_control(home, document(sites=300))
    done = threading.Event()

    def write() -> None:
        try:
            for minute in range(30):
                write_control(home, document(minute, sites=300 if minute % 2 else 1))
        finally:
            done.set()

    writer = threading.Thread(target=write)
    writer.start()
    seen = set()
    while not done.is_set():
        seen.add(len(json.loads(home.control.read_text(encoding="utf-8"))["sites"]))
    writer.join()
    assert seen <= {1, 300}
    assert read_control(home)["generated_at"] == "2026-01-31T12:29:00Z"


def test_no_file_and_a_broken_file_are_said_in_a_line(home):
    with pytest.raises(TargetHealthError, match="no control file yet"):
        read_control(home)
    write_control(home, document())
    home.control.write_text("{")
    with pytest.raises(TargetHealthError, match="is no JSON"):
        read_control(home)
