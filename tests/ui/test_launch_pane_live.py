"""The Launch pane on real runs: plain Python ranks under the real supervisor, started as from another terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from mswb.jobs import runs
from mswb.launch.foreign import ForeignRun
from mswb.ui.messages import RunFinished
from mswb.ui.panes.launch.confirm import Confirm
from mswb.ui.panes.launch.pane import LaunchPane
from tests.ui.sessions import screen_text, until
from tests.ui.test_launch_pane_list import alone, launch
from tests.unit.jobs.conftest import Lab

__all__ = ["alone"]
LONG = 4000
"""Pauses of 10 ms: processes start and end here."""


@pytest.fixture
def labs(alone: list[ForeignRun]) -> Iterator[list[Lab]]:
    """Laboratories whose runs are ended after the test."""
    made: list[Lab] = []
    yield made
    for lab in made:
        lab.close()


def lab_of(pane: LaunchPane, labs: list[Lab]) -> Lab:
    """A laboratory whose runs are of the pane's folder."""
    labs.append(Lab(pane.context.folder, pane.context.settings))
    return labs[-1]


def finished(pane: LaunchPane, monkeypatch: pytest.MonkeyPatch) -> list[RunFinished]:
    """The ends that the pane tells the app of."""
    told: list[RunFinished] = []
    original = pane.post_message

    def caught(message: Any) -> bool:
        if isinstance(message, RunFinished):
            told.append(message)
            return True
        return original(message)

    monkeypatch.setattr(pane, "post_message", caught)
    return told


async def open_newest(pane: LaunchPane, pilot: Pilot[Any], count: int = 1) -> None:
    """Open the run on top of the list once it is there."""
    await until(pilot, lambda: len(pane.state.listing.runs) == count and pane.state.listing.runs[0].live, LONG)
    await pilot.press("enter")
    await until(pilot, lambda: pane.state.open is not None and pane.state.open.view is not None, LONG)


@pytest.mark.asyncio
async def test_a_failure_is_seen_explained_and_told_once(
    tmp_path: Path, labs: list[Lab], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with launch(tmp_path) as (pane, pilot):
        lab = lab_of(pane, labs)
        told = finished(pane, monkeypatch)
        run = lab.start(lab.spec(["say+forever", "say+ready+wait:go+fail"], backend="direct"))
        await open_newest(pane, pilot)
        lab.until(run, "ready_worker_0", "ready_worker_1")
        await until(pilot, lambda: "hello from worker" in screen_text(pilot.app), LONG)
        assert "▶ running" in screen_text(pilot.app)
        lab.mark(run, "go")
        await until(pilot, lambda: "rank 1 failed first" in screen_text(pilot.app), LONG)
        await until(pilot, lambda: told, LONG)
        await until(pilot, lambda: pane.state.open is not None and pane.state.open.diagnosis is not None, LONG)
        assert [(one.run.id, one.diagnosis.verdict) for one in told] == [(run.id, "failed")]
        state = pane.state.open
        assert state is not None and state.diagnosis is not None and state.diagnosis.root is not None
        assert state.diagnosis.findings[state.diagnosis.root].where.rank == 1
        await until(pilot, lambda: "◆1st" in screen_text(pilot.app), LONG)
        pane.follow.look()
        await until(pilot, lambda: pane.follow.resting)
        assert len(told) == 1


@pytest.mark.asyncio
async def test_a_success_is_told_though_the_run_is_not_open_and_another_pane_is_in_front(
    tmp_path: Path, labs: list[Lab], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with launch(tmp_path) as (pane, pilot):
        lab = lab_of(pane, labs)
        told = finished(pane, monkeypatch)
        run = lab.start(lab.spec(["ready+wait:go+ok"], backend="direct", scheduler="wait:go"))
        await until(pilot, lambda: [one.live for one in pane.state.listing.runs] == [True], LONG)
        await pilot.press("2")
        await until(pilot, lambda: pilot.app.main.front == "cache")
        lab.until(run, "ready_worker_0")
        lab.mark(run, "go")
        await until(pilot, lambda: told, LONG)
        assert (told[0].run.id, told[0].diagnosis.verdict) == (run.id, "succeeded")
        assert runs.run_state(told[0].run) == "succeeded"


@pytest.mark.asyncio
async def test_the_newest_live_run_is_opened_at_the_start_and_stopped_by_its_keys(
    tmp_path: Path, labs: list[Lab]
) -> None:
    async with launch(tmp_path) as (pane, _):
        settings, folder = pane.context.settings, pane.context.folder
    labs.append(Lab(folder, settings))
    run = labs[0].start(labs[0].spec(["say+forever", "say+forever"], backend="direct", stop_grace_s=1.0))
    labs[0].until(run, "ready_worker_0", "ready_worker_1")
    async with launch(tmp_path) as (pane, pilot):
        await until(pilot, lambda: pane.state.open is not None and pane.state.open.view is not None, LONG)
        await until(pilot, lambda: "hello from worker" in screen_text(pilot.app), LONG)
        await pilot.press("x")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirm), LONG)
        text = screen_text(pilot.app)
        pids = [one.pid for one in runs.read_status(run).processes]
        assert all(f"pid {pid} " in text for pid in pids)
        assert "  rank 0  python" in text and "  rank 1  python" in text
        await pilot.press("x")
        await until(pilot, lambda: runs.read_status(run).state == "ended", LONG)
        await until(pilot, lambda: "■ stopped" in screen_text(pilot.app), LONG)
        assert labs[0].ended(run).stopped_by == "user"


@pytest.mark.asyncio
async def test_a_run_whose_supervisor_was_killed_is_ended_and_told(tmp_path: Path, labs: list[Lab]) -> None:
    import os
    import signal

    async with launch(tmp_path) as (pane, pilot):
        lab = lab_of(pane, labs)
        run = lab.start(lab.spec(["forever"], backend="direct"))
        lab.until(run, "ready_worker_0")
        await until(pilot, lambda: [one.live for one in pane.state.listing.runs] == [True], LONG)
        os.kill(runs.read_status(run).pid, signal.SIGKILL)
        words = "had lost its supervisor"
        await until(pilot, lambda: any(words in one.message for one in pilot.app._notifications), LONG)
        await until(pilot, lambda: [one.live for one in pane.state.listing.runs] == [False], LONG)


@pytest.mark.asyncio
async def test_nothing_of_a_run_is_left_open_after_it_was_left(tmp_path: Path, labs: list[Lab]) -> None:
    import threading

    async with launch(tmp_path) as (pane, pilot):
        lab = lab_of(pane, labs)
        run = lab.start(lab.spec(["say+forever"], backend="direct"))
        lab.until(run, "ready_worker_0")
        await open_newest(pane, pilot)
        await until(pilot, lambda: "hello from worker" in screen_text(pilot.app), LONG)
        await pilot.press("escape")
        await until(pilot, lambda: pane.state.open is None)
        names = {"task Watch " + run.id}
        await until(pilot, lambda: not names & {thread.name for thread in threading.enumerate()}, LONG)
        logs = str(lab.logs(run))
        await until(pilot, lambda: not [one for one in _open_files() if one.startswith(logs)], LONG)


def _open_files() -> list[str]:
    import os

    found = []
    for number in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink(f"/proc/self/fd/{number}"))
        except OSError:
            continue
    return found
