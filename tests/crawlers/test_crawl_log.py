"""Log files: complete, bounded, recovered; whatever the disk and the store do."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

from target_health.crawl_log import CrawlLog, Page
from target_health.crawl_log import files as files_module
from target_health.crawl_log.fields import moment, route_of, without_user
from target_health.crawl_log.files import Limits, LogFiles
from target_health.crawl_log.messages import Message
from target_health.crawl_log.ownership import abandoned, claim
from target_health.crawl_log.rows import line_of
from target_health.landing.inbox import list_inbox
from target_health.pages import shipped_markers
from tests.crawlers.crawls import ROOT, iter_rows, until
from tests.crawlers.local_site import CHALLENGE


def line(number: int) -> bytes:
    return (
        json.dumps(
            {"ts": moment(1_800_000_000 + number), "url": f"https://a.example/{number}"}
        ).encode()
        + b"\n"
    )


class Files:
    """``LogFiles`` with its warnings."""

    def __init__(
        self, inbox: Path | str, spool: Path, run: str = "run-00000001", **limits: Any
    ) -> None:
        self.warnings: list[str] = []
        self.files = LogFiles(
            str(inbox), spool, "shop", run, Limits(**limits), self.warnings.append
        )


def test_a_file_appears_whole_and_landing_sees_no_unfinished_one(tmp_path: Path) -> None:
    inbox = tmp_path / "inbox/shop"
    made = Files(inbox, inbox / ".writing", rotate_s=0.0)
    made.files.add(line(1))
    made.files._write()
    assert list_inbox(tmp_path / "inbox") == []
    until(lambda: made.files.tick() or made.files.counts.files == 1, "the file")
    assert [file.source for file in list_inbox(tmp_path / "inbox")] == ["shop"]
    made.files.add(line(2))
    made.files.close()
    assert [row["url"][-1] for row in iter_rows(tmp_path)] == ["1", "2"]
    assert len(list_inbox(tmp_path / "inbox")) == 2
    assert made.warnings == []
    assert os.listdir(inbox / ".writing") == []


def test_a_full_disk_takes_whole_lines_only_and_what_waits_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Files(tmp_path / "in", tmp_path / "in/.writing", memory_bytes=10 * len(line(10)))
    room = [30]
    write = os.write

    def full(descriptor: int, data: bytes) -> int:
        if room[0] <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        taken = write(descriptor, bytes(data)[: room[0]])
        room[0] -= taken
        return taken

    monkeypatch.setattr(files_module.os, "write", full)
    for number in range(10, 40):
        made.files.add(line(number))
        made.files.tick()
    assert made.files.counts.rows == 0
    assert made.files.counts.lost == 20
    assert len(made.warnings) == 1
    assert "No space left" in made.warnings[0]
    room[0] = 10**9
    made.files.add(line(99))  # no room in memory before the next tick
    made.files.tick()
    made.files.add(line(40))
    made.files.close()
    assert [row["url"].rpartition("/")[2] for row in iter_rows(tmp_path)] == [
        *map(str, range(10, 20)),
        "40",
    ]
    assert (made.files.counts.rows, made.files.counts.lost) == (11, 21)


def test_a_store_that_cannot_be_reached_gets_its_files_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fsspec

    system = fsspec.filesystem("memory")
    place = f"/{tmp_path.name}/shop"
    spool = tmp_path / "spool"
    put, refused = type(system).put_file, [True]

    def unreachable(self: Any, *args: Any, **kwargs: Any) -> None:
        if refused[0]:
            raise ConnectionError("no route to the store")
        put(self, *args, **kwargs)

    monkeypatch.setattr(type(system), "put_file", unreachable)
    made = Files(f"memory:/{place}", spool)
    made.files.add(line(1))
    made.files.close()
    assert [warning for warning in made.warnings if "no route to the store" in warning]
    assert system.exists(place) is False
    refused[0] = False
    later = Files(f"memory:/{place}", spool, run="run-00000002")
    later.files.recover()
    later.files.close()
    assert later.files.counts.recovered == later.files.counts.files == 1
    [path] = system.find(place)
    assert system.cat(path) == line(1)
    assert os.listdir(spool) == []


def test_what_a_dead_process_left_is_completed_and_a_running_ones_is_let_be(tmp_path: Path) -> None:
    inbox = tmp_path / "inbox"
    spool = inbox / ".writing"
    script = f"""
        import os, signal, pathlib
        from target_health.crawl_log.files import Limits, LogFiles
        spool = pathlib.Path({str(spool)!r})
        files = LogFiles({str(inbox)!r}, spool, "shop", "dead", Limits(), print)
        files.add(b'{{"url": "whole"}}\\n')
        files.tick()
        os.write(files._descriptor, b'{{"url": "ha')
        os.kill(os.getpid(), signal.SIGKILL)
    """
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "include")}
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], env=environment, check=False)
    running = claim(spool, "running")
    (running.directory / "shop-running.jsonl.part").write_bytes(line(7))
    made = Files(inbox, spool)
    made.files.recover()
    made.files.close()
    assert [row["url"] for row in iter_rows(inbox)] == ["whole"]
    assert made.files.counts.recovered == 1
    assert (running.directory / "shop-running.jsonl.part").exists()
    assert list(abandoned(spool)) == []
    running.lock.release()


def test_a_page_that_ends_the_writing_process_costs_no_row(tmp_path: Path) -> None:
    warnings: list[str] = []
    log = CrawlLog(tmp_path / "in", source="shop", warn=warnings.append)
    log.write({"ts": moment(time.time()), "url": "https://a.example/1"})
    until(lambda: log.counts()["rows"] == 1, "the first row")
    assert log._writer is not None
    assert log._writer._child is not None
    log._writer._child.kill()
    for number in range(2, 5):
        log.write(
            {"ts": moment(time.time()), "url": f"https://a.example/{number}"}, page=Page(b"x")
        )
    log.close()
    assert sorted(row["url"][-1] for row in iter_rows(tmp_path)) == ["1", "2", "3", "4"]
    assert sum("started again" in warning for warning in warnings) == 1


def test_rows_beyond_what_memory_holds_are_counted_and_pages_go_first(tmp_path: Path) -> None:
    warnings: list[str] = []
    log = CrawlLog(tmp_path / "in", source="shop", buffer_bytes=100_000, warn=warnings.append)
    log._rows_wait.set = lambda: None  # type: ignore[method-assign]  # nothing is handed over
    for number in range(200):
        log.write(
            {"ts": moment(number + 1), "url": f"https://a.example/{number}"},
            page=Page(b"x" * 20_000),
        )
    counts = log.counts()
    assert counts["taken"] + counts["lost"] == 200
    assert counts["lost"] > 0
    assert counts["unread"] > 0
    assert len(warnings) == 1
    del log._rows_wait.set
    log.close()
    assert len(list(iter_rows(tmp_path))) == counts["taken"]


def test_a_body_is_decoded_and_classified_and_an_odd_one_keeps_its_row() -> None:
    import gzip

    markers = shipped_markers()
    page = Page(gzip.compress(CHALLENGE), ((b"Content-Type", b"text/html"),), ("gzip",))
    made, looked = line_of(Message({"url": "u", "status": 503}, None, False, page), markers)
    assert looked
    assert json.loads(made)["evidence"] == ["challenge:cloudflare"]
    assert json.loads(made)["bytes"] == len(CHALLENGE)
    broken = Page(b"\x1f\x8b broken", (), ("gzip", "br", "unheard-of"))
    made, _ = line_of(Message({"url": "u", "status": 200}, '{"a": 1}', True, broken), markers)
    assert json.loads(made)["bytes"] == len(broken.body)
    assert json.loads(made)["item"] == {"a": 1}


@pytest.mark.parametrize(
    ("given", "proxy", "route"),
    [
        (None, None, None),
        (None, "http://user:pass@gate.example:8000", {"gateway": "gate.example:8000"}),
        (None, "user:pa@ss@gate.example:1", {"gateway": "gate.example:1"}),
        (None, "socks5://[2001:db8::1]:1080", {"gateway": "[2001:db8::1]:1080"}),
        (None, "http://gate.example:port", None),
        ({"country": "de", "secret": "x"}, None, {"country": "de"}),
        ({"gateway": "http://u:p@g.example"}, "http://other:1", {"gateway": "g.example"}),
        ("gate", None, None),
    ],
)
def test_a_route_holds_no_credentials(given: Any, proxy: Any, route: Any) -> None:
    assert route_of(given, proxy) == route


def test_user_info_of_a_url_is_not_logged() -> None:
    assert without_user("https://u:p@a.example/x@y?q=@") == "https://a.example/x@y?q=@"
    assert without_user("https://a.example/x@y") == "https://a.example/x@y"
