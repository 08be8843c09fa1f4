"""The devices screen: its parts, its keys, its samples, at both sizes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from rich.text import Text

from mswb.env.devices.sample import ProcessCounters, RankLink
from mswb.ui.messages import Sampled
from mswb.ui.screens.devices import DevicesScreen, process_arrays
from mswb.ui.widgets.devices.board import Board
from mswb.ui.widgets.table.widget import Table
from tests.ui.machines import gpu, history, lost, machine, strangers
from tests.ui.sessions import LARGE, SMALL, plain_panes, screen_text, until, workbench

pytestmark = pytest.mark.asyncio
EIGHT = machine(*(gpu(number) for number in range(7)), lost(7), notes=("no Ascend driver: npu-smi not found",))


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    plain_panes(monkeypatch)


@pytest.mark.parametrize("size", [SMALL, LARGE])
async def test_it_opens_with_what_is_known(tmp_path: Path, size: tuple[int, int]) -> None:
    app = workbench(tmp_path)
    async with app.run_test(size=size) as pilot:
        app.sample, app.history = EIGHT, history(EIGHT)
        await until(pilot, lambda: app.main.front)
        app.set_focus(None)
        await pilot.press("M")
        await until(pilot, lambda: "no Ascend driver" in screen_text(app))
        shown = screen_text(app)
        assert isinstance(app.screen, DevicesScreen)
        assert "GPU6     46%" in shown or "GPU6    NVIDIA H100 80GB HBM3     46%" in shown
        assert "LOST" in shown and "python train.py" in shown and "anna" in shown


async def test_it_opens_before_the_first_sample(tmp_path: Path) -> None:
    app = workbench(tmp_path)
    async with app.run_test(size=SMALL) as pilot:
        app.push_screen(DevicesScreen(app.context))
        await until(pilot, lambda: "no process holds a device" in screen_text(app))
        app.screen.post_message(Sampled(EIGHT, history(EIGHT)))
        await until(pilot, lambda: "GPU0     40%" in screen_text(app))


async def test_samples_change_what_is_drawn_and_the_cursor_stays(tmp_path: Path) -> None:
    app = workbench(tmp_path)
    async with app.run_test(size=LARGE) as pilot:
        screen = DevicesScreen(app.context, EIGHT, history(EIGHT))
        app.push_screen(screen)
        await until(pilot, lambda: "python train.py" in screen_text(app))
        await pilot.press("j", "j")
        table = screen.query_one(Table)
        assert table.cursor_key == "GPU-2 1002"
        fewer = machine(gpu(2), gpu(5))
        screen.post_message(Sampled(fewer, history(fewer)))
        await until(pilot, lambda: "GPU0" not in screen_text(app))
        assert table.cursor_key == "GPU-2 1002" and table.cursor_row == 0


async def test_keys_for_details_parts_and_leaving(tmp_path: Path) -> None:
    app = workbench(tmp_path)
    async with app.run_test(size=SMALL) as pilot:
        await until(pilot, lambda: app.main.front)
        screen = DevicesScreen(app.context, EIGHT, history(EIGHT))
        app.push_screen(screen)
        await until(pilot, lambda: "python train.py" in screen_text(app))
        assert "memory busy" not in screen_text(app)  # with eight devices only when asked for
        await pilot.press("v")
        await until(pilot, lambda: "python train.py" not in screen_text(app))
        assert isinstance(app.focused, Board)
        await pilot.press("d")
        await until(pilot, lambda: "memory busy 20%" in screen_text(app))
        await pilot.press("d")
        await until(pilot, lambda: "memory busy" not in screen_text(app))
        await pilot.press("v")
        await until(pilot, lambda: "GPU0     40%" not in screen_text(app))
        assert "python train.py" in screen_text(app)
        await pilot.press("v")
        await until(pilot, lambda: "GPU0     40%" in screen_text(app) and "python train.py" in screen_text(app))
        await pilot.press("q")
        await until(pilot, lambda: app.screen is app.main)


async def test_few_devices_show_their_details(tmp_path: Path) -> None:
    app = workbench(tmp_path)
    async with app.run_test(size=LARGE) as pilot:
        one = machine(gpu(0))
        app.push_screen(DevicesScreen(app.context, one, history(one)))
        await until(pilot, lambda: "memory busy 20%" in screen_text(app))


async def test_sorting_and_filtering_are_the_tables(tmp_path: Path) -> None:
    app = workbench(tmp_path)
    async with app.run_test(size=LARGE) as pilot:
        screen = DevicesScreen(app.context, EIGHT, history(EIGHT))
        app.push_screen(screen)
        await until(pilot, lambda: "python train.py" in screen_text(app))
        await pilot.press("f", *"GPU3", "enter")
        await until(pilot, lambda: "1002" not in screen_text(app))
        assert "1003" in screen_text(app)


async def test_many_devices_scroll(tmp_path: Path) -> None:
    many = machine(*(gpu(number) for number in range(64)))
    app = workbench(tmp_path)
    async with app.run_test(size=SMALL) as pilot:
        screen = DevicesScreen(app.context, many, history(many))
        app.push_screen(screen)
        await until(pilot, lambda: "python train.py" in screen_text(app))
        board = screen.query_one(Board)
        board.focus()
        await pilot.press("end")
        await until(pilot, lambda: "GPU63" in screen_text(app))
        assert board.size.height < SMALL[1] * 0.7


async def test_strangers_and_ranks_by_their_variables() -> None:
    arrays = process_arrays(strangers(machine(gpu(0), gpu(1))))
    assert arrays["device"] == ["GPU0", "GPU1", "GPU0", "GPU1"]
    assert arrays["pid"] == [1000, 1001, 50, 51]
    assert arrays["rank"] == [None, None, 0, 1]
    assert arrays["command"][0] == "(another pid namespace)"
    assert arrays["command"][2] == "(rank and device by its variables)"
    assert arrays["memory"] == [None] * 4


async def test_ranks_on_the_host_alone() -> None:
    link = RankLink(77, 3, "worker", "r9", None, "environment")
    gone = RankLink(78, 4, "worker", "r9", None, "environment")
    counters = ProcessCounters(77, 99.0, 3 << 30, 1)
    arrays = process_arrays(replace(machine(), processes=(), links=(link, gone), ranks=(counters,)))
    assert [arrays[name] for name in ("device", "pid", "rank", "run")] == [["-"], [77], [3], ["r9"]]
    assert (arrays["cpu"], arrays["rss"], arrays["command"]) == ([99.0], [3 << 30], ["(worker)"])


async def test_what_changes_behind_it_is_not_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = workbench(tmp_path)
    async with app.run_test(size=SMALL) as pilot:
        await until(pilot, lambda: app.main.front)
        screen = DevicesScreen(app.context, EIGHT, history(EIGHT))
        app.push_screen(screen)
        await until(pilot, lambda: "python train.py" in screen_text(app))
        drawn: list[object] = []
        monkeypatch.setattr(screen, "refresh", lambda *regions, **named: drawn.append(regions))
        app.show_header(counters=Text("GPU0 99%"))
        await pilot.pause(0.1)
        await pilot.pause()
        assert drawn == []
        monkeypatch.undo()
        await pilot.press("q")
        await until(pilot, lambda: "GPU0 99%" in screen_text(app))
