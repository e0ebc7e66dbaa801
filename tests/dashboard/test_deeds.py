"""A person pauses and resumes from a page: as the command line does, in their name."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from target_health.dashboard import deeds
from target_health.paths import SHIPPED_CONFIG, Home
from target_health.warehouse.connection import writer_lock
from target_health.warehouse.published import open_published
from target_health.warehouse.rows import rows_of
from tests.dashboard.conftest import Open
from tests.dashboard.homes import HOSTILE
from tests.dashboard.test_pages import shown
from tests.dashboard.test_security import form_of


@pytest.fixture
def own_home(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    own = Home(tmp_path / "own")
    shutil.copytree(home.root, own.root)
    monkeypatch.setenv("TARGET_HEALTH_HOME", str(own.root))
    monkeypatch.setenv("TARGET_HEALTH_CONFIG", str(SHIPPED_CONFIG))
    return own


def test_resume_is_recorded_with_name_and_reason(open_dashboard: Open, own_home: Home) -> None:
    client = open_dashboard(own_home)
    form = form_of(client, HOSTILE)
    assert form["deed"] == "resume"
    answer = client.post("site/pace", data=form | {"why": "--by=root; 고침", "step": "2"})
    assert answer.status_code == 303
    page = client.get("site/" + answer.headers["location"])
    assert page.status_code == 200
    assert "Resumed, in your name." in shown(page.text)
    assert "slowed, step 2" in shown(page.text)
    with open_published(own_home) as connection:
        (newest,) = rows_of(
            connection,
            "SELECT site, kind, decided_by, why FROM actions ORDER BY sequence DESC LIMIT 1",
        )
    assert newest == {
        "site": HOSTILE,
        "kind": "human_resume",
        "decided_by": "Kim",
        "why": "--by=root; 고침",
    }
    assert json.loads(own_home.control.read_text())["sites"][HOSTILE]["state"] == "slowed"


def test_what_cannot_be_done_is_said_and_changes_nothing(
    open_dashboard: Open, own_home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = open_dashboard(own_home)
    form = form_of(client, HOSTILE)
    before = own_home.control.read_bytes()
    answer = client.post("site/pace", data=form | {"why": "  "})
    assert answer.status_code == 400
    assert "say why" in shown(answer.text)
    monkeypatch.setattr(deeds, "LOCK_WAIT_S", 0)
    with writer_lock(own_home):
        answer = client.post("site/pace", data=form | {"why": "now"})
    assert answer.status_code == 503
    assert "another run has been writing" in shown(answer.text)
    # The page lies one level deeper: its links still lead to the same places.
    assert 'href="../static/' in answer.text
    assert 'action="../site/pace"' in answer.text
    assert own_home.control.read_bytes() == before
