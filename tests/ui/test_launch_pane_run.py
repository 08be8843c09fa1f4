"""An open run in the Launch pane: ranks, banner, details, log, and the keys between them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from mswb.findings import Where
from mswb.flows.runview import RunProgress
from mswb.launch.foreign import ForeignRun
from mswb.launch.logview.source import ShownLog
from mswb.ui.messages import Copy
from mswb.ui.panes.launch import actions, work
from mswb.ui.panes.launch.pane import LaunchPane
from mswb.ui.panes.launch.ranks_grid import RanksGrid
from mswb.ui.panes.launch.run_part import MERGED_AT_ONCE, RunPart, wanted_logs
from mswb.ui.panes.launch.state import LaunchState, OpenRun
from mswb.ui.screens.curves import CurvesScreen
from mswb.ui.widgets.log import LogPanel
from tests.ui import launch_states as made
from tests.ui.sessions import LARGE, screen_text, until
from tests.ui.test_launch_pane_list import alone, launch, still

__all__ = ["alone"]


@pytest.fixture(autouse=True)
def logs(alone: list[ForeignRun], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the logs that the states name: two ranks, forty lines each."""
    folder = tmp_path / "logs"
    folder.mkdir()
    for number in range(4):
        lines = [f"rank {number} line {line}" for line in range(1, 41)]
        (folder / f"worker_{number}.log").write_text("\n".join(lines) + "\n")
    return folder


async def shown(pane: LaunchPane, pilot: Pilot[Any], state: LaunchState, logs: Path) -> RunPart:
    """Show a state whose logs lie in the folder of this test, and wait until all of it is drawn."""
    await still(pane, pilot)
    pane.show(made.moved(state, str(logs)))
    await until(pilot, lambda: pane.run_part is not None and pane.run_part.ready)
    await pilot.pause()
    await pilot.pause()
    part = pane.run_part
    assert part is not None
    return part


def focus_in(pilot: Pilot[Any], kind: type[Any]) -> bool:
    """Whether the focus is in a widget of this class."""
    focused = pilot.app.focused
    return focused is not None and any(isinstance(one, kind) for one in focused.ancestors_with_self)


@pytest.mark.asyncio
@pytest.mark.parametrize("name", sorted(made.STATES))
@pytest.mark.parametrize("size", [(80, 24), LARGE])
async def test_every_state_is_drawn_from_its_literal(
    tmp_path: Path, logs: Path, name: str, size: tuple[int, int]
) -> None:
    async with launch(tmp_path, size) as (pane, pilot):
        await still(pane, pilot)
        state = made.moved(made.STATES[name], str(logs))
        pane.show(state)
        if state.open is not None:
            await until(pilot, lambda: pane.run_part is not None and pane.run_part.ready)
        await pilot.pause()
        text = screen_text(pilot.app)
        if state.open is None:
            assert "Runs of /project" in text
        elif not state.side or size == LARGE:
            assert "train.py" in text
            assert "Rank" in text
        assert len(text.split("\n")) == size[1]


@pytest.mark.asyncio
async def test_the_focus_follows_the_state(tmp_path: Path, logs: Path) -> None:
    async with launch(tmp_path) as (pane, pilot):
        part = await shown(pane, pilot, made.OPEN_FAILED, logs)
        await until(pilot, lambda: focus_in(pilot, type(part.grid)))
        await pilot.press("d")
        await until(pilot, lambda: focus_in(pilot, type(pane.side.lines)))
        assert "Consequences" in "\n".join(line.text for line in pane.side.lines.lines)
        await pilot.press("escape")
        await until(pilot, lambda: focus_in(pilot, type(part.grid)))
        await pilot.press("escape")
        await until(pilot, lambda: focus_in(pilot, type(pane.list.table)))
        assert pane.state.open is None


@pytest.mark.asyncio
async def test_on_a_wide_terminal_list_run_and_details_stand_side_by_side(tmp_path: Path, logs: Path) -> None:
    async with launch(tmp_path, LARGE) as (pane, pilot):
        part = await shown(pane, pilot, made.OPEN_FAILED, logs)
        assert pane.list.display and part.display and pane.side.display
        text = screen_text(pilot.app)
        for words in ("Runs of /project", "Rank", "FAILED", "What to do"):
            assert words in text
        await pilot.press("escape")
        await until(pilot, lambda: focus_in(pilot, type(pane.list.table)))
        assert pane.state.open is not None
        await pilot.press("escape")
        await until(pilot, lambda: pane.state.open is None)


@pytest.mark.asyncio
async def test_tab_goes_round(tmp_path: Path, logs: Path) -> None:
    async with launch(tmp_path, LARGE) as (pane, pilot):
        part = await shown(pane, pilot, made.OPEN_FAILED, logs)
        await until(pilot, lambda: focus_in(pilot, type(part.grid)))
        seen = []
        for _ in range(4):
            await pilot.press("tab")
            await pilot.pause()
            kinds = {
                "log": LogPanel,
                "side": type(pane.side.lines),
                "list": type(pane.list.table),
                "grid": type(part.grid),
            }
            seen.append(next(name for name, kind in kinds.items() if focus_in(pilot, kind)))
        assert seen == ["log", "side", "list", "grid"]
        await pilot.press("shift+tab")
        await pilot.pause()
        assert focus_in(pilot, type(pane.list.table))


@pytest.mark.asyncio
async def test_o_jumps_to_the_line_of_the_root(tmp_path: Path, logs: Path) -> None:
    async with launch(tmp_path) as (pane, pilot):
        part = await shown(pane, pilot, made.OPEN_FAILED, logs)
        await pilot.press("o")
        await until(pilot, lambda: "rank 1 line 12" in screen_text(pilot.app))
        await until(pilot, lambda: focus_in(pilot, LogPanel))
        assert part.shows(str(logs / "worker_1.log"))


@pytest.mark.asyncio
async def test_enter_on_a_consequence_jumps_to_its_line(tmp_path: Path, logs: Path) -> None:
    async with launch(tmp_path) as (pane, pilot):
        await shown(pane, pilot, made.OPEN_FAILED, logs)
        await pilot.press("d")
        await until(pilot, lambda: focus_in(pilot, type(pane.side.lines)))
        view = pane.side.lines
        view.move_to(next(row for row, line in enumerate(view.lines) if line.finding == 1))
        await pilot.press("enter")
        await until(pilot, lambda: "rank 0 line 30" in screen_text(pilot.app))
        assert pane.state.side == ""


@pytest.mark.asyncio
async def test_the_banner_can_be_clicked(tmp_path: Path, logs: Path) -> None:
    async with launch(tmp_path) as (pane, pilot):
        await shown(pane, pilot, made.OPEN_FAILED, logs)
        await pilot.click("#launch-banner")
        await until(pilot, lambda: "rank 1 line 12" in screen_text(pilot.app))


@pytest.mark.asyncio
async def test_enter_on_a_rank_shows_its_log_and_l_shows_all(tmp_path: Path, logs: Path) -> None:
    async with launch(tmp_path) as (pane, pilot):
        part = await shown(pane, pilot, made.OPEN_RUNNING, logs)
        await until(pilot, lambda: focus_in(pilot, type(part.grid)))
        await pilot.press("j", "enter")
        await until(pilot, lambda: not part.shows(str(logs / "worker_0.log")))
        assert part.shows(str(logs / "worker_1.log"))
        await until(pilot, lambda: focus_in(pilot, LogPanel))
        part.grid.focus()
        await pilot.press("L")
        await until(pilot, lambda: part.shows(str(logs / "worker_0.log")))


@pytest.mark.asyncio
async def test_marked_ranks_are_merged(tmp_path: Path, logs: Path) -> None:
    async with launch(tmp_path) as (pane, pilot):
        part = await shown(pane, pilot, made.OPEN_COMPILING, logs)
        await until(pilot, lambda: focus_in(pilot, type(part.grid)))
        await pilot.press("space", "j", "space", "l")
        await until(pilot, lambda: pane.state.open is not None and len(pane.state.open.logs) == 2)
        shows = [part.shows(str(logs / f"worker_{number}.log")) for number in range(4)]
        assert shows == [True, False, True, False]


@pytest.mark.asyncio
async def test_the_grid_grows_shrinks_and_takes_all_room(tmp_path: Path, logs: Path) -> None:
    async with launch(tmp_path) as (pane, pilot):
        part = await shown(pane, pilot, made.OPEN_HUGE, logs)
        await until(pilot, lambda: part.grid.size.height == 7)
        await pilot.press("plus", "plus")
        await until(pilot, lambda: part.grid.size.height == 9)
        await pilot.press("minus")
        await until(pilot, lambda: part.grid.size.height == 8)
        await pilot.press("equals_sign")
        await until(pilot, lambda: not part.log_panel.display)
        assert part.grid.size.height == 20
        await pilot.press("escape")
        await until(pilot, lambda: part.log_panel.display)


@pytest.mark.asyncio
async def test_the_log_takes_all_room(tmp_path: Path, logs: Path) -> None:
    async with launch(tmp_path) as (pane, pilot):
        part = await shown(pane, pilot, made.OPEN_RUNNING, logs)
        part.log_panel.front.focus()
        await pilot.press("equals_sign")
        await until(pilot, lambda: not part.grid.display)
        await pilot.press("equals_sign")
        await until(pilot, lambda: part.grid.display)


@pytest.mark.asyncio
async def test_the_order_of_the_ranks(tmp_path: Path, logs: Path) -> None:
    async with launch(tmp_path) as (pane, pilot):
        part = await shown(pane, pilot, made.OPEN_FAILED, logs)
        assert [part.grid.data.value(row, "rank") for row in (0, 1)] == ["1", "0"]
        await until(pilot, lambda: focus_in(pilot, type(part.grid)))
        await pilot.press("O")
        await until(pilot, lambda: part.grid.data.value(0, "rank") == "0")


@pytest.mark.asyncio
async def test_the_cursor_goes_to_the_rank_that_fails(tmp_path: Path, logs: Path) -> None:
    async with launch(tmp_path) as (pane, pilot):
        part = await shown(pane, pilot, made.OPEN_RUNNING, logs)
        assert part.grid.cursor_row == 0
        failed = made.OPEN_FAILED.open
        assert failed is not None
        pane.show(made.moved(made.open_state(replace(failed, key=made.RUNNING.key, diagnosis=None)), str(logs)))
        await pilot.pause()
        assert part.grid.cursor_key is not None
        assert "worker:1" in part.grid.cursor_key


@pytest.mark.asyncio
async def test_copies_go_to_the_app(tmp_path: Path, logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with launch(tmp_path) as (pane, pilot):
        copied: list[Copy] = []
        original = pilot.app.post_message

        def caught(message: Any) -> bool:
            if isinstance(message, Copy):
                copied.append(message)
            return original(message)

        monkeypatch.setattr(pilot.app, "post_message", caught)
        await shown(pane, pilot, made.OPEN_FAILED, logs)
        await pilot.press("Y")
        await until(pilot, lambda: copied)
        assert copied[0].what == "finding"
        assert "KeyError: 4" in copied[0].text
        await pilot.press("d")
        await until(pilot, lambda: focus_in(pilot, type(pane.side.lines)))
        await pilot.press("y")
        await until(pilot, lambda: len(copied) > 1)
        assert copied[1].text.startswith("✖ FAILED")


@pytest.mark.asyncio
async def test_diagnose_now_keeps_the_result_and_shows_it(
    tmp_path: Path, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work, "diagnose", lambda known, settings, ticket, **named: made.failed_diagnosis())
    async with launch(tmp_path) as (pane, pilot):
        await shown(pane, pilot, made.OPEN_RUNNING, logs)
        await pilot.press("D")
        await until(pilot, lambda: made.RUNNING.key in pane.state.results)
        assert pane.state.side == "details"
        assert pane.state.open is not None
        assert pane.state.open.diagnosis is pane.state.results[made.RUNNING.key]
        await until(pilot, lambda: "What to do" in screen_text(pilot.app))


@pytest.mark.asyncio
async def test_a_place_in_an_unknown_file_opens_that_file(tmp_path: Path, logs: Path) -> None:
    async with launch(tmp_path) as (pane, pilot):
        assert not pane.open_place(Where(rank=1))
        assert pane.open_place(Where(file=str(logs / "worker_3.log"), line=33))
        await until(pilot, lambda: "rank 3 line 33" in screen_text(pilot.app))


@pytest.mark.asyncio
async def test_a_log_folder_is_opened_by_its_path_and_stays_in_the_list(tmp_path: Path, logs: Path) -> None:
    async with launch(tmp_path) as (pane, pilot):
        assert pane.open_path(logs)
        await until(pilot, lambda: pane.run_part is not None and "line 40" in screen_text(pilot.app))
        await until(pilot, lambda: [one.name for one in pane.state.listing.runs] == [str(logs)])
        await until(pilot, lambda: f"folder:{logs}" in pane.state.results)


@pytest.mark.asyncio
async def test_leaving_a_run_ends_its_threads_and_files(tmp_path: Path, logs: Path) -> None:
    async with launch(tmp_path) as (pane, pilot):
        pane.open_path(logs)
        await until(pilot, lambda: pane.run_part is not None and "line 40" in screen_text(pilot.app))
        assert pane.follow.watching
        pane.follow.close_run()
        await until(pilot, lambda: not pane.follow.watching)
        assert pane.state.open is None


def test_of_very_many_ranks_one_is_shown_first() -> None:
    assert made.OPEN_HUGE.open is not None
    assert [one.rank for one in wanted_logs(made.OPEN_HUGE.open)] == [0]
    few = OpenRun("run:x", made.view(tuple(made.rank(one) for one in range(MERGED_AT_ONCE))))
    assert len(wanted_logs(few)) == MERGED_AT_ONCE
    assert wanted_logs(OpenRun("run:x")) == ()


@pytest.mark.asyncio
async def test_nothing_is_drawn_when_nothing_changed(
    tmp_path: Path, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with launch(tmp_path) as (pane, pilot):
        part = await shown(pane, pilot, made.OPEN_RUNNING, logs)
        drawn: list[Any] = []
        monkeypatch.setattr(part.grid, "set_data", drawn.append)
        monkeypatch.setattr(pane.list.table, "set_data", drawn.append)
        run = pane.state.open
        assert run is not None
        assert run.view is not None
        again = replace(run, view=replace(run.view, version=2))
        pane.show(replace(pane.state, open=again))
        assert drawn == []
        quieter = replace(run.view, ranks=(replace(run.view.ranks[0], step=99), run.view.ranks[1]))
        pane.show(replace(pane.state, open=replace(run, view=quieter)))
        assert len(drawn) == 1


@pytest.mark.asyncio
async def test_a_silence_is_told_and_looked_into(tmp_path: Path, logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    async with launch(tmp_path) as (pane, pilot):
        await shown(pane, pilot, made.OPEN_RUNNING, logs)
        monkeypatch.setattr(pane.follow, "diagnose", lambda known, **options: asked.append(known.key))
        assert pane.state.open is not None
        assert pane.state.open.view is not None
        silent = replace(pane.state.open.view, progress=RunProgress(silent=2), version=5)
        pane.follow.viewed(made.RUNNING, silent)
        assert asked == [made.RUNNING.key]
        pane.follow.viewed(made.RUNNING, replace(silent, version=6))
        assert asked == [made.RUNNING.key]
        longer = tuple(replace(one, state="silent", last_line_age_s=130.0) for one in silent.ranks)
        pane.follow.viewed(made.RUNNING, replace(silent, ranks=longer, version=7))
        assert asked == [made.RUNNING.key] * 2
        pane.follow.viewed(made.RUNNING, replace(silent, ranks=longer, version=8))
        assert asked == [made.RUNNING.key] * 2
        assert "2 ranks are silent" in screen_text(pilot.app) or pane.run_part is not None


@pytest.mark.asyncio
async def test_double_clicks_open_runs_and_logs(tmp_path: Path, logs: Path) -> None:
    async with launch(tmp_path) as (pane, pilot):
        await still(pane, pilot)
        opened: list[str] = []
        pane.follow.open = lambda known: opened.append(known.key)  # type: ignore[method-assign]
        pane.show(made.LISTED)
        await pilot.pause()
        await pilot.click("#launch-runs TableBody", offset=(4, 2), times=2)
        await until(pilot, lambda: opened == [made.FAILED.key])
        part = await shown(pane, pilot, made.OPEN_RUNNING, logs)
        await pilot.click("#launch-grid TableBody", offset=(4, 2), times=2)
        await until(pilot, lambda: not part.shows(str(logs / "worker_0.log")))


@pytest.mark.asyncio
async def test_curves_of_one_run_and_of_two_marked_ones(
    tmp_path: Path, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []
    monkeypatch.setattr(actions, "show_curves", lambda pane, chosen: asked.append([one.name for one in chosen]))
    async with launch(tmp_path) as (pane, pilot):
        await still(pane, pilot)
        pane.show(made.LISTED)
        await pilot.pause()
        await pilot.press("c")
        await pilot.press("space", "space", "c")
        await until(pilot, lambda: len(asked) == 2)
        assert asked == [[made.RUNNING.name], [made.RUNNING.name, made.FAILED.name]]


@pytest.mark.asyncio
async def test_curves_open_on_the_run(tmp_path: Path, logs: Path) -> None:
    async with launch(tmp_path) as (pane, pilot):
        await still(pane, pilot)
        pane.show(made.state(replace(made.RUNNING, source=logs)))
        await pilot.pause()
        await pilot.press("c")
        await until(pilot, lambda: isinstance(pilot.app.screen, CurvesScreen))
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is pane.screen)


@pytest.mark.asyncio
async def test_attach_opens_the_run_and_follows_its_log(tmp_path: Path, logs: Path) -> None:
    async with launch(tmp_path) as (pane, pilot):
        await still(pane, pilot)
        pane.show(made.state(replace(made.RUNNING, source=logs, log_dir=str(logs))))
        await pilot.pause()
        await pilot.press("a")
        await until(pilot, lambda: "line 40" in screen_text(pilot.app))
        await until(pilot, lambda: focus_in(pilot, LogPanel))


@pytest.mark.asyncio
async def test_the_log_stands_at_the_root_of_a_failed_run(tmp_path: Path, logs: Path) -> None:
    async with launch(tmp_path) as (pane, pilot):
        await shown(pane, pilot, made.OPEN_FAILED, logs)
        await until(pilot, lambda: "rank 1 line 12" in screen_text(pilot.app))
        assert not focus_in(pilot, LogPanel)


@pytest.mark.asyncio
@pytest.mark.parametrize("moved", [False, True])
async def test_files_that_appear_leave_the_log_where_it_was_put(tmp_path: Path, logs: Path, moved: bool) -> None:
    async with launch(tmp_path) as (pane, pilot):
        part = await shown(pane, pilot, made.OPEN_FAILED, logs)
        await until(pilot, lambda: "◆r1" in screen_text(pilot.app))
        run = pane.state.open
        assert run is not None and run.view is not None
        first = ShownLog(str(logs / "worker_3.log"), "scheduler")
        known = tuple(replace(one, offset_us=int(moved)) for one in run.view.logs)
        pane.show(replace(pane.state, open=replace(run, view=replace(run.view, logs=(first, *known)))))
        await until(pilot, lambda: part.shows(first.path) and part.log_panel.body is not None)
        await until(pilot, lambda: "of 120" in screen_text(pilot.app))
        await until(pilot, lambda: any(row.startswith("◆r1 ") and "line 12" in row for row in rows_of(pilot)))
        body = part.log_panel.body
        assert body is not None and not body.view.following


def rows_of(pilot: Pilot[Any]) -> list[str]:
    """The rows of the screen."""
    return screen_text(pilot.app).split("\n")


@pytest.mark.asyncio
async def test_ranks_of_a_log_folder_are_as_the_diagnosis_found_them(tmp_path: Path, logs: Path) -> None:
    unknown = tuple(made.rank(one, state="unknown") for one in range(2))
    run = OpenRun(made.FOLDER.key, made.view(unknown, "unknown", kind="folder"), made.failed_diagnosis())
    async with launch(tmp_path) as (pane, pilot):
        part = await shown(pane, pilot, made.open_state(run), logs)
        assert [part.grid.data.value(row, "state") for row in (0, 1)] == ["✖ failed ◆1st", "✖ failed"]
        assert "✖ failed" in screen_text(pilot.app).split("\n")[2]


@pytest.mark.asyncio
@pytest.mark.parametrize("size", [(80, 24), LARGE])
async def test_details_that_were_hidden_are_those_of_the_run_that_is_open_now(
    tmp_path: Path, logs: Path, size: tuple[int, int]
) -> None:
    first = made.OPEN_HANG.open
    assert first is not None and first.diagnosis is not None
    other = replace(first.diagnosis.findings[0], title="another run hangs elsewhere")
    later = replace(first, key=made.FAILED.key, diagnosis=replace(first.diagnosis, findings=(other,)))

    def told(text: str) -> bool:
        return any(text in line.text for line in pane.side.lines.lines)

    async with launch(tmp_path, size) as (pane, pilot):
        await shown(pane, pilot, made.OPEN_HANG, logs)
        await pilot.press("d")
        await until(pilot, lambda: told("AllReduce"))
        await pilot.press("d")
        await until(pilot, lambda: not pane.side.is_on_screen or size == LARGE)
        await shown(pane, pilot, made.open_state(later), logs)
        await pilot.press("d")
        await until(pilot, lambda: told(other.title))


@pytest.mark.asyncio
async def test_a_search_from_the_ranks_is_one_of_the_log(tmp_path: Path, logs: Path) -> None:
    async with launch(tmp_path) as (pane, pilot):
        part = await shown(pane, pilot, made.OPEN_FAILED, logs)
        await until(pilot, lambda: part.log_panel.body is not None and "rank 1 line" in screen_text(pilot.app))
        assert focus_in(pilot, RanksGrid)
        await pilot.press("slash", *"line", "space", "7", "enter")
        await until(pilot, lambda: "/line 7 1 of 2" in screen_text(pilot.app))
        assert focus_in(pilot, LogPanel)
        assert part.log_panel.body is not None and part.log_panel.body.search == "line 7"
