"""The list of runs in the Launch pane: what it shows, how it is kept, and what its keys do."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from mswb.flows.known_runs import Lister
from mswb.launch.foreign import ForeignRun
from mswb.ui.app import Workbench
from mswb.ui.panes.launch import actions, work
from mswb.ui.panes.launch.confirm import Confirm
from mswb.ui.panes.launch.pane import LaunchPane
from tests.ui import launch_states as made
from tests.ui.sessions import SMALL, screen_text, until, workbench
from tests.unit.flows.test_known_runs import foreign, write_run


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> list[ForeignRun]:
    """No services beside the panes, and no other runs of this host than these."""
    strangers: list[ForeignRun] = []
    monkeypatch.setattr("mswb.ui.services.start_services", lambda app: None)
    monkeypatch.setattr(Lister, "_find_foreign", lambda self: tuple(strangers))
    return strangers


@asynccontextmanager
async def launch(
    folder: Path, size: tuple[int, int] = SMALL, **options: Any
) -> AsyncIterator[tuple[LaunchPane, Pilot[Any]]]:
    """A workbench whose Launch pane has looked at the runs once."""
    app = workbench(folder, **options)
    async with app.run_test(size=size) as pilot:
        yield await pane_of(app, pilot), pilot


async def pane_of(app: Workbench, pilot: Pilot[Any]) -> LaunchPane:
    await until(pilot, lambda: app.main.pane("launch") is not None)
    pane = app.main.pane("launch")
    assert isinstance(pane, LaunchPane)
    await until(pilot, lambda: pane.state.listing.loaded)
    await pilot.pause()
    return pane


@pytest.mark.asyncio
async def test_an_empty_folder_says_how_to_begin(tmp_path: Path) -> None:
    async with launch(tmp_path) as (_, pilot):
        text = screen_text(pilot.app)
        assert "No runs here yet." in text
        assert "mswb ui PATH" in text


@pytest.mark.asyncio
async def test_a_read_only_session_offers_no_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(actions, "new_run", lambda *arguments: pytest.fail("it must not start anything"))
    async with launch(tmp_path, read_only=True) as (pane, pilot):
        assert "--read-only" in screen_text(pilot.app)
        assert "New run" not in screen_text(pilot.app)
        await pilot.press("n", "ctrl+n")
        assert pilot.app.screen is pane.screen


@pytest.mark.asyncio
async def test_runs_of_this_folder_and_of_all_folders(tmp_path: Path) -> None:
    async with launch(tmp_path) as (pane, pilot):
        settings = pane.context.settings
        write_run(settings, "20260101_000000_1", pane.context.folder, script="here.py")
        write_run(settings, "20260102_000000_1", tmp_path / "far", script="far.py", exit_code=1)
        await pilot.press("R")
        await until(pilot, lambda: "here.py" in screen_text(pilot.app))
        assert "far.py" not in screen_text(pilot.app)
        await pilot.press("v")
        await until(pilot, lambda: "far.py" in screen_text(pilot.app))
        text = screen_text(pilot.app)
        assert "all folders" in text
        assert "✖ failed" in text
        assert "✓ succeeded" in text
        await pilot.press("v")
        await until(pilot, lambda: "far.py" not in screen_text(pilot.app))


@pytest.mark.asyncio
async def test_the_list_follows_the_disk_by_itself(tmp_path: Path) -> None:
    async with launch(tmp_path) as (pane, pilot):
        write_run(pane.context.settings, "20260101_000000_1", pane.context.folder)
        await until(pilot, lambda: "20260101_000000_1" in [one.name for one in pane.state.listing.runs])


@pytest.mark.asyncio
async def test_a_hidden_pane_does_not_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with launch(tmp_path) as (pane, pilot):
        await pilot.press("2")
        await until(pilot, lambda: pilot.app.main.front == "cache")
        await until(pilot, lambda: pane.follow.resting)
        looks: list[int] = []
        monkeypatch.setattr(work, "look", lambda *arguments: looks.append(1))
        for _ in range(5):
            pane.follow.tick()
        await pilot.pause()
        assert looks == []


@pytest.mark.asyncio
async def test_a_hidden_pane_still_sees_the_end_of_a_live_run(tmp_path: Path) -> None:
    async with launch(tmp_path) as (pane, _):
        pane.show(made.state(made.RUNNING))
        pane.follow.hidden()
        pane.follow.tick()
        assert not pane.follow.resting


@pytest.mark.asyncio
async def test_runs_of_other_folders_are_one_quiet_word(tmp_path: Path, alone: list[ForeignRun]) -> None:
    alone.append(foreign())
    async with launch(tmp_path) as (_, pilot):
        assert "foreign" not in screen_text(pilot.app)
        assert "1 running elsewhere: v" in screen_text(pilot.app)
        await pilot.press("v")
        await until(pilot, lambda: "▶ foreign" in screen_text(pilot.app))
        assert "elsewhere" not in screen_text(pilot.app)


@pytest.mark.asyncio
async def test_a_foreign_run_can_be_adopted_after_a_question(
    tmp_path: Path, alone: list[ForeignRun], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    alone.append(replace(foreign(), cwd=str(tmp_path / "project")))

    def adopt(known: Any, settings: Any) -> Any:
        asked.append(known.key)
        raise OSError("no more")

    monkeypatch.setattr(work, "adopt", adopt)
    async with launch(tmp_path) as (pane, pilot):
        assert "▶ foreign" in screen_text(pilot.app)
        assert "pids 4711 4712" in screen_text(pilot.app)
        await pilot.press("A")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirm))
        text = screen_text(pilot.app)
        assert "pid 4711  launcher  python -m msrun" in text
        assert "pid 4712  rank 0  python train.py" in text
        await pilot.press("n")
        await until(pilot, lambda: pilot.app.screen is pane.screen)
        assert asked == []
        await pilot.press("A")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirm))
        await pilot.press("y")
        await until(pilot, lambda: asked == ["foreign:4711:8"])


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("keys", "expected"), [("x", [False]), ("X", [True]), ("y", [False]), ("enter", [False]), ("n", [])]
)
async def test_stop_shows_the_processes_and_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keys: str, expected: list[bool]
) -> None:
    stopped: list[bool] = []
    monkeypatch.setattr(work, "members", lambda known: work.Members(known, ((101, "python"), (102, "pt_main"))))
    monkeypatch.setattr(work, "stop", lambda known, kill: stopped.append(kill) or True)
    async with launch(tmp_path) as (pane, pilot):
        await still(pane, pilot)
        pane.show(made.state(made.RUNNING))
        await pilot.pause()
        await pilot.press("x")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirm))
        text = screen_text(pilot.app)
        assert f"Stop run {made.RUNNING.name} with its 2 processes?" in text
        assert "pid 101  python" in text
        assert "pid 102  pt_main" in text
        await pilot.press(keys)
        await until(pilot, lambda: pilot.app.screen is pane.screen)
        await until(pilot, lambda: stopped == expected)


@pytest.mark.asyncio
async def test_a_run_that_stops_already_is_killed_by_the_second_x(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped: list[bool] = []
    monkeypatch.setattr(work, "members", lambda known: work.Members(known, ((101, "python"),)))
    monkeypatch.setattr(work, "stop", lambda known, kill: stopped.append(kill) or True)
    async with launch(tmp_path) as (pane, pilot):
        await still(pane, pilot)
        pane.show(made.state(made.known("20261130_040000_9", "stopping")))
        await pilot.pause()
        await pilot.press("x")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirm))
        assert "kill what is left, 1 process?" in screen_text(pilot.app)
        await pilot.press("x")
        await until(pilot, lambda: stopped == [True])


@pytest.mark.asyncio
async def test_a_kill_does_not_say_that_the_run_is_stopping(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "members", lambda known: work.Members(known, ((101, "python"), (102, "python"))))
    async with launch(tmp_path) as (pane, pilot):
        await still(pane, pilot)
        pane.show(made.state(made.RUNNING))
        await pilot.pause()
        await pilot.press("X")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirm))
        assert f"Kill run {made.RUNNING.name} with its 2 processes?" in screen_text(pilot.app)
        assert "is stopping" not in screen_text(pilot.app)


@pytest.mark.asyncio
async def test_the_answers_can_be_clicked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped: list[bool] = []
    monkeypatch.setattr(work, "members", lambda known: work.Members(known, ()))
    monkeypatch.setattr(work, "stop", lambda known, kill: stopped.append(kill) or False)
    async with launch(tmp_path) as (pane, pilot):
        await still(pane, pilot)
        pane.show(made.state(made.RUNNING))
        await pilot.pause()
        await pilot.press("X")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirm))
        await pilot.pause()
        await pilot.click("Confirm .answer")
        await until(pilot, lambda: stopped == [True])


@pytest.mark.asyncio
async def test_a_run_of_another_host_is_not_signalled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "members", lambda known: pytest.fail("it is not of this host"))
    async with launch(tmp_path) as (pane, pilot):
        await still(pane, pilot)
        pane.show(made.state(made.known("20261130_040000_9", here=False, host="far")))
        await pilot.pause()
        await pilot.press("x")
        await until(pilot, lambda: any("never signalled" in one.message for one in pilot.app._notifications))


@pytest.mark.asyncio
@pytest.mark.parametrize("key", ["n", "ctrl+n"])
async def test_new_run_opens_the_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    opened: list[Any] = []
    monkeypatch.setattr(actions, "new_run", lambda pane, *arguments: opened.append(arguments))
    async with launch(tmp_path) as (_, pilot):
        await pilot.press(key)
        await pilot.pause()
        assert opened == [()]


@pytest.mark.asyncio
@pytest.mark.parametrize("key", ["r", "ctrl+r"])
async def test_run_again_gives_the_form_what_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    opened: list[Any] = []
    monkeypatch.setattr(actions, "new_run", lambda pane, *arguments: opened.append(arguments))
    async with launch(tmp_path) as (pane, pilot):
        folder = write_run(pane.context.settings, "20260101_000000_1", pane.context.folder)
        spec = (folder / "spec.json").read_text()
        (folder / "spec.json").write_text(spec.replace('"arguments":[]', '"arguments":["--worker_num","2","train.py"]'))
        await pilot.press("R")
        await until(pilot, lambda: pane.state.listing.runs)
        await pilot.press(key)
        await until(pilot, lambda: opened)
        assert opened == [(("--worker_num", "2", "train.py"), pane.context.folder)]


async def still(pane: LaunchPane, pilot: Pilot[Any]) -> None:
    """Let the pane show what it is given: it does not look by itself any more."""
    pane.follow.close()
    await until(pilot, lambda: pane.follow.resting)
