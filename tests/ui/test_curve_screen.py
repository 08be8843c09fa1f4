"""The screen of curves: every key, growing logs, two runs side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from textual.message import Message
from textual.pilot import Pilot

from mswb.files.follow import Block
from mswb.flows.curve_watch import CurveSource, CurveView
from mswb.launch.curves import CurveReader
from mswb.launch.logview.source import ShownLog
from mswb.ui import messages
from mswb.ui.app import Workbench
from mswb.ui.screens.curves import CurvesScreen, CurvesState, status_text, title_text
from mswb.ui.widgets.curve import CurvePlot
from tests.ui.sessions import LARGE, SMALL, plain_panes, screen_text, until, workbench

pytestmark = pytest.mark.asyncio


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    plain_panes(monkeypatch)
    monkeypatch.setattr("mswb.ui.screens.curves.PERIOD_S", 0.02)


def run(folder: Path, name: str, losses: Sequence[float], ranks: int = 2) -> CurveSource:
    (folder / name).mkdir()
    for rank in range(ranks):
        lines = [f"step {step}/100 loss {loss + rank} lr: 0.1 step_time: 500 ms" for step, loss in enumerate(losses, 1)]
        (folder / name / f"worker_{rank}.log").write_text("".join(f"{line}\n" for line in lines))
    return CurveSource(name, folder / name)


async def opened(
    pilot: Pilot[Any], app: Workbench, sources: Sequence[CurveSource], beside: int | None = None
) -> CurvesScreen:
    screen = CurvesScreen(app.context, sources, beside)
    await app.push_screen(screen)
    await until(pilot, lambda: screen.state.views and screen.state.views[0].read == 1.0)
    return screen


def shown(screen: CurvesScreen) -> list[tuple[str, int]]:
    """(label, values) of what is drawn."""
    return [(one.label, one.series.count) for one in screen.state.drawn]


@pytest.mark.parametrize("size", [SMALL, LARGE])
async def test_first_look(tmp_path: Path, size: tuple[int, int]) -> None:
    app = workbench(tmp_path)
    async with app.run_test(size=size) as pilot:
        screen = await opened(pilot, app, [run(tmp_path, "first", [4, 3, 2, 1])])
        await until(pilot, lambda: "rank 0" in screen_text(app))
        text = screen_text(app)
        assert "[loss]" in text and "step 4/100" in text and "2 logs" in text
        assert "first rank 0  last 1 @4  min 1 @4  max 4 @1" in text
        assert "to go 48.0 s" in text
        assert shown(screen) == [("first rank 0", 4)]


async def test_tab_goes_through_the_curves_that_have_values(tmp_path: Path) -> None:
    app = workbench(tmp_path)
    async with app.run_test(size=SMALL) as pilot:
        screen = await opened(pilot, app, [run(tmp_path, "first", [4, 3])])
        seen = [screen.state.name]
        for key in ("tab", "tab", "tab", "shift+tab"):
            await pilot.press(key)
            seen.append(screen.state.name)
        assert seen == ["loss", "step_ms", "lr", "loss", "lr"]  # nothing tells samples a second
        assert "[learning rate]" in screen_text(app)


async def test_ranks(tmp_path: Path) -> None:
    app = workbench(tmp_path)
    async with app.run_test(size=SMALL) as pilot:
        sources = [run(tmp_path, "first", [4, 3], 3), run(tmp_path, "other", [9, 8])]
        screen = await opened(pilot, app, sources, beside=1)
        assert shown(screen) == [("first rank 0", 2), ("other rank 0", 2)]
        await pilot.press("r")
        await until(pilot, lambda: shown(screen) == [("first rank 1", 2), ("other rank 1", 2)])
        assert screen.state.drawn[0].series.last is not None and screen.state.drawn[0].series.last.value == 4
        await pilot.press("r")
        await until(pilot, lambda: shown(screen) == [("first rank 2", 2), ("other rank 0", 2)])  # it has two only
        await pilot.press("r", "R")
        await until(pilot, lambda: shown(screen)[0][0] == "first rank 2")
        await pilot.press("R")
        await until(pilot, lambda: shown(screen)[0][0] == "first rank 1")


async def test_comparing_goes_through_the_other_runs(tmp_path: Path) -> None:
    app = workbench(tmp_path)
    async with app.run_test(size=SMALL) as pilot:
        sources = [run(tmp_path, name, [4, 3]) for name in ("one", "two", "three")]
        screen = await opened(pilot, app, sources)
        for expected in (["one", "two"], ["one", "three"], ["one"]):
            await pilot.press("c")
            await until(pilot, lambda expected=expected: [view.title for view in screen.state.views] == expected)
        await pilot.press("c")
        await until(pilot, lambda: "two rank 0" in screen_text(app))
        assert "×" in screen_text(app) or "◆" in screen_text(app)


async def test_comparing_a_single_run_says_how(tmp_path: Path) -> None:
    app = workbench(tmp_path)
    async with app.run_test(size=SMALL, notifications=True) as pilot:
        await opened(pilot, app, [run(tmp_path, "one", [4, 3])])
        await pilot.press("c")
        await until(pilot, lambda: "Mark two runs" in screen_text(app))


async def test_the_cursor(tmp_path: Path) -> None:
    app = workbench(tmp_path)
    async with app.run_test(size=SMALL) as pilot:
        screen = await opened(pilot, app, [run(tmp_path, "one", [4, 3, 2, 1, 0.5])])
        places = []
        for key in ("left", "h", "left", "H", "right", "l", "L", "home", "end", "g", "G", "shift+left", "pagedown"):
            await pilot.press(key)
            places.append(screen.state.cursor)
        assert places == [4, 3, 2, 1, 2, 3, 5, 1, 5, 1, 5, 1, 5]
        await pilot.press("left")
        await until(pilot, lambda: "step 4: 1" in screen_text(app))


async def test_scale_and_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = workbench(tmp_path)
    async with app.run_test(size=SMALL) as pilot:
        screen = await opened(pilot, app, [run(tmp_path, "one", [4, 3])])
        await pilot.press("s")
        await until(pilot, lambda: "log scale" in screen_text(app))
        copied: list[messages.Copy] = []
        post = screen.post_message

        def watched(message: Message) -> bool:
            if isinstance(message, messages.Copy):
                copied.append(message)
            return post(message)

        monkeypatch.setattr(screen, "post_message", watched)
        await pilot.press("y")
        await until(pilot, lambda: copied)
        assert copied[0].text == "step,loss\n1,4\n2,3\n" and copied[0].what == "values"


async def test_a_log_that_grows_is_drawn_again(tmp_path: Path) -> None:
    app = workbench(tmp_path)
    async with app.run_test(size=SMALL) as pilot:
        screen = await opened(pilot, app, [run(tmp_path, "one", [4, 3])])
        with (tmp_path / "one" / "worker_0.log").open("a") as file:
            file.write("step 3/100 loss nan\n")
        await until(pilot, lambda: shown(screen) == [("one rank 0", 3)])
        await until(pilot, lambda: "✖ 1 nan or inf, first @3" in screen_text(app))


async def test_nothing_is_sent_while_nothing_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = workbench(tmp_path)
    async with app.run_test(size=SMALL) as pilot:
        screen = await opened(pilot, app, [run(tmp_path, "one", [4, 3])])
        drawn: list[object] = []
        monkeypatch.setattr(CurvePlot, "show", lambda self, *arguments: drawn.append(arguments))
        looks: list[int] = []
        original = screen._hurry.wait
        monkeypatch.setattr(screen._hurry, "wait", lambda period: looks.append(1) or original(period))
        await until(pilot, lambda: len(looks) > 5)
        assert drawn == []


async def test_a_folder_without_logs(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    app = workbench(tmp_path)
    async with app.run_test(size=SMALL) as pilot:
        screen = CurvesScreen(app.context, [CurveSource("empty", tmp_path / "empty")])
        await app.push_screen(screen)
        await until(pilot, lambda: "no log yet" in screen_text(app))
        for key in ("tab", "r", "c", "left", "home", "s", "y"):  # nothing of this fails
            await pilot.press(key)
        (tmp_path / "empty" / "worker_0.log").write_text("lr: 0.5 step 1\n")
        await until(pilot, lambda: "[learning rate]" in screen_text(app))  # loss has no values


async def test_what_can_not_be_read_is_said(tmp_path: Path) -> None:
    app = workbench(tmp_path)
    async with app.run_test(size=(160, 24), notifications=True) as pilot:
        await app.push_screen(CurvesScreen(app.context, [CurveSource("none", tmp_path / "none")]))
        await until(pilot, lambda: str(tmp_path / "none")[:30] in screen_text(app).replace("\n", ""))


async def test_a_bad_pattern_is_said_once(tmp_path: Path) -> None:
    app = workbench(tmp_path, "[progress]\npatterns = ['(']\n")
    async with app.run_test(size=(160, 24), notifications=True) as pilot:
        screen = await opened(pilot, app, [run(tmp_path, "one", [4, 3])])
        await until(pilot, lambda: "[progress] patterns" in screen_text(app))
        assert len(app._notifications) == 1
        assert shown(screen) == [("one rank 0", 2)]


async def test_closing_ends_the_reading(tmp_path: Path) -> None:
    app = workbench(tmp_path)
    async with app.run_test(size=SMALL) as pilot:
        screen = await opened(pilot, app, [run(tmp_path, "one", [4, 3])])
        assert screen._reading is not None
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is not screen)
        await until(pilot, lambda: screen._reading is not None and screen._reading.state == "cancelled")


async def test_texts_of_a_state() -> None:
    reader = CurveReader()
    reader.feed([Block(b"epoch 1/2 step 5/10 loss 3 step_time: 4 s\n", 0)])
    log = ShownLog("/x/console.txt", "launcher", None)
    view = CurveView("run", log, (log,), reader.curves, 0.5, 10)
    state = CurvesState((view,), "loss")
    assert status_text(state) == "epoch 1/2  step 5/10  to go 1m00s  read 50%"
    assert state.drawn[0].label == "run launcher"
    assert str(title_text(state)).split("  ")[0].startswith("[loss]")
    assert status_text(CurvesState()) == "reading …"
