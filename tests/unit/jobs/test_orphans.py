"""What a killed msrun leaves behind, without mswb and with it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mswb import plan
from mswb.jobs import orphans
from mswb.jobs.orphans import Orphan
from mswb.jobs.runs import is_live, read_status
from mswb.settings import load_settings
from mswb.signals import is_alive
from tests.unit.jobs.conftest import CHILDREN, Lab, carriers
from tests.waiting import wait_until


@pytest.fixture
def msrun(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A fake msrun that mswb did not start, with two ranks."""
    ranks = [str(CHILDREN / "rank.py"), "wait:all_done", "grandchild+forever", "forever"]
    argv = [sys.executable, str(CHILDREN / "msrun.py"), str(tmp_path), "2", "1.0", *ranks]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, start_new_session=True) as process:
        wait_until(lambda: all((tmp_path / f"ready_worker_{rank}").exists() for rank in range(2)))
        yield process
        process.kill()
        process.wait()
    for orphan in left_behind(tmp_path):
        os.kill(orphan.process.pid, signal.SIGKILL)


def left_behind(folder: Path) -> list[Orphan]:
    """The orphans of this test: there may be others on the host."""
    found = orphans.find_foreign_orphans()
    return [one for one in found if str(folder) in " ".join(one.command) + (one.log or "")]


def test_a_live_msrun_has_no_orphans(msrun: subprocess.Popen[bytes], tmp_path: Path) -> None:
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_orphans_are_found_shown_and_ended(msrun: subprocess.Popen[bytes], tmp_path: Path, number: int) -> None:
    msrun.send_signal(number)
    msrun.wait()
    found = left_behind(tmp_path)
    assert sorted((one.role, one.rank) for one in found if one.rank is not None) == [("worker", 0), ("worker", 1)]
    assert sorted(one.role for one in found) == ["child", "scheduler", "tail", "tail", "worker", "worker"]
    made = orphans.orphan_plan(found)
    assert made.warnings
    assert all(is_alive(one.process.id) for one in found)
    assert "worker 0, log " in " ".join(action.detail for action in made.actions)
    assert all(outcome.done or "ended already" in outcome.reason for outcome in plan.apply(made))
    assert left_behind(tmp_path) == []


def test_members_of_a_live_run_are_no_orphans(lab: Lab) -> None:
    run = lab.start(lab.spec(["forever"]))
    lab.until_found(run, 1)
    assert run.id not in {mark for one in orphans.find_own_orphans(lab.settings) for mark in [_mark(one)]}
    assert left_behind(lab.logs(run)) == []


def test_a_live_run_with_another_state_folder_has_no_orphans(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = lab.start(lab.spec(["forever"]))
    lab.until_found(run, 1)
    monkeypatch.setenv("MSWB_STATE_DIR", str(tmp_path / "another"))
    assert run.id not in {_mark(one) for one in orphans.find_own_orphans(load_settings())}


def test_members_of_a_run_whose_folder_is_gone(lab: Lab) -> None:
    run = lab.start(lab.spec(["forever"]))
    lab.until_found(run, 1)
    lab.until(run, "ready_worker_0")
    os.kill(read_status(run).pid, signal.SIGKILL)
    wait_until(lambda: not is_live(run.reload()))
    shutil.rmtree(run.folder)
    mine = [one for one in orphans.find_own_orphans(lab.settings) if _mark(one) == run.id]
    assert {one.process.pid for one in mine} == set(carriers(run.id))
    plan.apply(orphans.orphan_plan(mine))
    assert carriers(run.id) == []


def _mark(orphan: Orphan) -> str:
    from mswb.jobs.procs import environ

    return environ(orphan.process.pid).get("MSWB_RUN_ID", "")
