"""The details and phases of the Launch pane: always those of the run that is open."""

from __future__ import annotations

from pathlib import Path

import pytest

from mswb.findings import Where
from mswb.launch.timeline import PhaseSpan
from mswb.ui.panes.launch import work
from mswb.ui.panes.launch.state import OpenRun
from mswb.ui.widgets.lines import Line
from tests.ui import launch_states as made
from tests.ui.sessions import LARGE, SMALL, screen_text, until
from tests.ui.test_launch_pane_list import alone, launch
from tests.ui.test_launch_pane_run import logs, shown

__all__ = ["alone", "logs"]
RUNNING = made.open_state(OpenRun(made.RUNNING.key, made.view((made.rank(0), made.rank(1)))))


@pytest.mark.asyncio
async def test_the_details_are_those_of_the_run_that_is_open(tmp_path: Path, logs: Path) -> None:
    async with launch(tmp_path) as (pane, pilot):
        await shown(pane, pilot, made.OPEN_FAILED, logs)
        await pilot.press("d")
        await until(pilot, lambda: "KeyError: 4" in screen_text(pilot.app))
        await pilot.press("escape", "escape")
        await until(pilot, lambda: pane.state.open is None)
        await shown(pane, pilot, RUNNING, logs)
        await pilot.press("d")
        await until(pilot, lambda: pane.side.lines.region.width > 0 and "Details" in screen_text(pilot.app))
        await pilot.pause()
        assert "KeyError" not in screen_text(pilot.app)
        assert "nothing found so far" in screen_text(pilot.app)


@pytest.mark.asyncio
async def test_after_the_phases_the_details_are_details(
    tmp_path: Path, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with launch(tmp_path) as (pane, pilot):
        await shown(pane, pilot, made.OPEN_FAILED, logs)
        assert pane.state.open is not None
        file = str(logs / "worker_0.log")
        span = PhaseSpan("compile", "graph", 10**15, 10**15 + 38 * 10**6, "worker", 0, "node-0", file)
        monkeypatch.setattr(work, "phases", lambda logs, ticket: (span,))
        await pilot.press("t")
        await until(pilot, lambda: "joining the cluster" in screen_text(pilot.app))
        await pilot.press("escape", "d")
        await until(pilot, lambda: "Details" in screen_text(pilot.app))
        await pilot.pause()
        assert "joining the cluster" not in screen_text(pilot.app)
        assert "KeyError: 4" in screen_text(pilot.app)


@pytest.mark.asyncio
@pytest.mark.parametrize("size", [SMALL, LARGE])
async def test_o_outside_the_details_goes_to_the_root(
    tmp_path: Path, logs: Path, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever the cursor of the details was left."""
    async with launch(tmp_path, size) as (pane, pilot):
        part = await shown(pane, pilot, made.OPEN_FAILED, logs)
        await pilot.press("d")
        view = pane.side.lines
        await until(pilot, lambda: view.has_focus)
        view.move_to(next(row for row, line in enumerate(view.lines) if line.finding == 1))
        await pilot.press("escape")
        await until(pilot, lambda: not view.has_focus)
        part.grid.focus()
        await pilot.pause()
        asked: list[Where] = []
        monkeypatch.setattr(pane.follow, "goto", asked.append)
        await pilot.press("o")
        await until(pilot, lambda: asked)
        assert (asked[0].rank, asked[0].line) == (1, 12)


@pytest.mark.asyncio
async def test_lines_lose_nothing_when_the_scrollbar_comes(tmp_path: Path, logs: Path) -> None:
    async with launch(tmp_path) as (pane, pilot):
        await shown(pane, pilot, made.OPEN_FAILED, logs)
        await pilot.press("d")
        view = pane.side.lines
        await until(pilot, lambda: view.has_focus)
        view.set_lines(lambda width: [Line("short")])
        await pilot.pause()
        view.set_lines(lambda width: [Line("x" * (width - 1) + "E")] * 200)
        await pilot.pause()
        await pilot.pause()
        rows = [row for row in screen_text(pilot.app).split("\n") if "xxx" in row]
        assert len(rows) > 10
        assert all("xE" in row for row in rows)
