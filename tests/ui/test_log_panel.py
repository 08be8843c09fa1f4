"""The log panel as its owner uses it, on files as they come: merged, growing, hostile, huge, gone."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from rich.cells import cell_len

from mswb.launch.logview.source import ShownLog
from mswb.ui.context import Options
from mswb.ui.glyphs import set_ascii
from mswb.ui.widgets.log import LogPanel
from mswb.ui.widgets.log.paint import name_of
from mswb.ui.widgets.log.status import LogState, parts_of
from tests.ui.logviews import LARGE, LogApp, Shown, shown
from tests.unit.launch.logview.logs import TRACEBACK, append, cpp, write

pytestmark = pytest.mark.asyncio


async def test_several_ranks_are_merged_with_their_names(tmp_path: Path) -> None:
    one = write(tmp_path / "a.log", cpp(1, "from zero") + cpp(3, "zero again", "ERROR"))
    two = write(tmp_path / "b.log", cpp(2, "from one") + "print of one\n")
    async with shown(one, two) as log:
        rows = [row.strip(" │█") for row in log.rows()[:4]]
        assert rows == [
            "r0 04:00:00 ▲ WARNING ME Run: from zero",
            "r1 04:00:00 ▲ WARNING ME Run: from one",
            "r1 print of one",
            "❯r0 04:00:00 ✖ ERROR ME Run: zero again",
        ]
        assert log.state.title == "2 logs"
        assert (log.state.errors, log.state.warnings) == (1, 2)
        assert log.state.line == 2


async def test_files_that_appear_are_added(tmp_path: Path) -> None:
    one = write(tmp_path / "a.log", cpp(1, "first"))
    async with shown(one) as log:
        two = write(tmp_path / "b.log", cpp(2, "second"))
        log.app.panel.add([ShownLog(str(two), "scheduler")])
        await log.until(lambda: "sched 04:00:00 ▲ WARNING ME Run: second" in log.screen())
        append(two, cpp(3, "third"))
        await log.until(lambda: "third" in log.screen())


async def test_opening_other_files_forgets_the_first_ones(tmp_path: Path) -> None:
    one, two = write(tmp_path / "a.log", "first\n" * 50), write(tmp_path / "b.log", "second\n")
    async with shown(one) as log:
        await log.press("g", "m", "ampersand")
        await log.type("first")
        await log.open(ShownLog(str(two)), title="run 7")
        assert log.rows()[0].strip(" ❯") == "second"
        assert (log.state.title, log.state.filtered, log.state.total) == ("run 7", "", 1)
        assert not log.view.marks and log.state.following


async def test_goto_waits_for_the_line(tmp_path: Path) -> None:
    path = write(tmp_path / "a.log", "".join(f"line {number}\n" for number in range(1, 5001)))
    async with shown(folder=tmp_path) as log:
        log.app.panel.open([ShownLog(str(path))])
        log.app.panel.goto(str(path), 2500)
        await log.until(lambda: log.app.panel.body is not None and log.place is not None and log.line == 2500)
        assert "◆line 2500" in log.screen()
        assert log.view.top < 2499 < log.view.top + log.view.size.height
        assert not log.state.following
        log.app.panel.goto(str(path), 5001)
        append(path, "late\n")
        await log.until(lambda: log.line == 5001)
        log.app.panel.follow(True)
        await log.until(lambda: log.state.following)
        log.app.panel.follow(False)
        assert not log.view.following


async def test_goto_reveals_what_is_folded_or_filtered(tmp_path: Path) -> None:
    path = write(tmp_path / "a.log", "step 1\n" + TRACEBACK + "step 2\n")
    async with shown(path) as log:
        await log.press("g", "j", "z")
        log.app.panel.goto(str(path), 4)
        await log.until(lambda: log.line == 4)
        await log.press("f")
        await log.type("step")
        assert log.state.rows == 2
        log.app.panel.goto(str(path), 3)
        await log.until(lambda: log.line == 3)
        assert log.state.filtered == ""


async def test_closing_gives_the_files_back(tmp_path: Path) -> None:
    path = write(tmp_path / "a.log", "first\n")
    async with shown(path) as log:
        log.app.panel.close()
        await log.until(lambda: "No log is open." in log.screen())
    assert not [thread for thread in threading.enumerate() if thread.name in ("mswb-log", "mswb-lines") and
                thread.is_alive() and not _ends(thread)]  # fmt: skip


def _ends(thread: threading.Thread) -> bool:
    thread.join(10)
    return not thread.is_alive()


async def test_before_a_log_is_opened_the_panel_says_so(tmp_path: Path) -> None:
    app = LogApp(tmp_path, Options())
    async with app.run_test() as pilot:
        app.panel.close()
        await pilot.pause()
        assert app.panel.body is None
        assert app.panel.front is app.focused


@pytest.mark.parametrize(
    ("content", "words"),
    [("", "The log is empty so far."), (None, "Not there yet: /")],
)
async def test_why_there_is_nothing_to_see(tmp_path: Path, content: str | None, words: str) -> None:
    path = tmp_path / "missing.log" if content is None else write(tmp_path / "a.log", content)
    async with shown(path) as log:
        await log.until(lambda: words in log.screen())
        append(path, "now\n")
        await log.until(lambda: "now" in log.screen())


HOSTILE = (
    b"\x1b]52;c;ZXZpbA==\x07 clip\n"
    b"[red]markup[/red] [link=x]\n"
    b"\x1b[2J\x1b[H\x9b31m c1\n"
    b"nul \x00\x00 end\n"
    + "\u202eright to left\n".encode()
    + b"tqdm  5%\rtqdm 95%\r\n"
    + "中文日志输出：训练完成\n".encode()
    + b"\xff\xfe\xfd bad bytes\n"
)


@pytest.mark.parametrize("wrap", [False, True])
async def test_hostile_bytes_reach_no_terminal(tmp_path: Path, wrap: bool) -> None:
    path = write(tmp_path / "a.log", HOSTILE)
    async with shown(path) as log:
        if wrap:
            await log.press("a")
        screen = log.screen()
        assert "[red]markup[/red]" in screen
        assert r"\x1b]52;c;ZXZpbA==\x07" in screen
        assert "tqdm 95%" in screen and "tqdm  5%" not in screen
        assert "中文日志输出：训练完成" in screen
        assert all(character.isprintable() for character in screen.replace("\n", ""))
        for y in range(log.view.size.height):
            strip = log.view.render_line(y)
            assert strip.cell_length == log.view.size.width == sum(cell_len(segment.text) for segment in strip)


async def test_wide_characters_are_cut_by_cells(tmp_path: Path) -> None:
    path = write(tmp_path / "a.log", "训" * 200 + "\n")
    async with shown(path) as log:
        for _ in range(3):
            assert log.view.render_line(0).cell_length == 80
            await log.press("right")


async def test_gbk_logs_are_read_and_searched(tmp_path: Path) -> None:
    path = write(tmp_path / "a.log", "训练开始，数据加载完成\n模型训练结束\n".encode("gbk"))
    async with shown(path) as log:
        assert "模型训练结束" in log.screen()
        await log.press("slash")
        await log.type("结束")
        assert (log.line, log.state.matches) == (2, 1)


async def test_a_huge_line_is_drawn_cut(tmp_path: Path) -> None:
    path = write(tmp_path / "a.log", b"start\n" + b"y" * 20_000_000 + b"\nend\n")
    async with shown(path) as log:
        assert "yyyy" in log.screen()
        await log.press("a")
        await log.press("g")
        assert "start" in log.screen()
        await log.press("G", "slash")
        await log.type("^y+$")
        assert log.state.matches == 1
        await log.press("enter")
        await log.until(lambda: log.app.screen is not log.app.screen_stack[0])


async def test_truncation_and_replacement_are_shown(tmp_path: Path) -> None:
    path = write(tmp_path / "a.log", "old\n" * 100)
    async with shown(path) as log:
        await log.press("g")
        write(path, "new\n")
        await log.until(lambda: log.state.total == 1 and "new" in log.screen())


@pytest.mark.parametrize("size", [(80, 24), (40, 10), LARGE, (20, 5)])
async def test_any_size_works(tmp_path: Path, size: tuple[int, int]) -> None:
    path = write(tmp_path / "a.log", cpp(1, "x" * 300, "ERROR") * 3 + "line\n" * 100)
    async with shown(path, size=size) as log:
        await log.press("g", "a", "pagedown", "a", "G")
        assert "line" in log.rows()[-1]
        await log.pilot.resize_terminal(60, 20)
        await log.until(lambda: log.view.size.width == 60)
        await log.quiet()
        assert "line" in log.rows()[-1]


async def test_ascii_only(tmp_path: Path) -> None:
    set_ascii(True)
    try:
        path = write(tmp_path / "a.log", cpp(1, "bad", "ERROR") + TRACEBACK + "line\n" * 50)
        async with shown(path) as log:
            await log.press("g", "m", "z", "slash")
            await log.type("bad")
            assert log.screen().isascii()
            assert log.body.status.render().plain.isascii()
    finally:
        set_ascii(False)


async def test_nothing_is_drawn_while_nothing_changes_or_nobody_looks(tmp_path: Path) -> None:
    path = write(tmp_path / "a.log", "line\n" * 50)
    async with shown(path) as log:
        await log.press("g")
        drawn: list[object] = []
        log.view.refresh = lambda *regions, **named: drawn.append(regions)  # type: ignore[method-assign,assignment,return-value]
        log.body.draw()
        log.body.draw()
        assert drawn == []
        log.app.panel.display = False
        await log.until(lambda: log.body.engine.hidden)
        drawn.clear()
        append(path, "more\n")
        await log.until(lambda: log.body.engine.snapshot.rows.count == 51)
        assert drawn == [] and log.view.count == 50
        log.app.panel.display = True
        await log.until(lambda: log.view.count == 51)


async def test_a_step_of_the_cursor_draws_two_lines(tmp_path: Path) -> None:
    path = write(tmp_path / "a.log", "".join(f"line {number}\n" for number in range(100)))
    async with shown(path) as log:
        await log.press("g")
        drawn: list[int] = []
        log.view.refresh = lambda *regions, **named: drawn.extend(region.y for region in regions)  # type: ignore[method-assign,assignment,return-value]
        log.view.move_to(1)
        assert drawn == [0, 1]


async def test_a_slow_link_draws_once_a_second_at_most(tmp_path: Path) -> None:
    path = write(tmp_path / "a.log", "line\n")
    async with shown(path, options=Options(slow_link=True)) as log:
        log.body.draw()
        log.body._soon()
        timer = log.body._timer
        assert timer is not None and timer._interval > 0.5
        log.body._soon()
        assert log.body._timer is timer


async def test_a_defect_of_the_engine_is_told_and_survived(tmp_path: Path) -> None:
    path = write(tmp_path / "a.log", "line\n")
    async with shown(path) as log:
        log.body.engine.do(lambda model: 1 / 0)
        await log.until(lambda: any("the log view" in notice for notice in log.notices()))


@pytest.mark.parametrize(
    ("log", "name"),
    [
        (ShownLog("x", "worker", 12), "r12"),
        (ShownLog("x", "scheduler"), "sched"),
        (ShownLog("x", "launcher"), "launc"),
    ],
)
async def test_names_in_front_of_merged_lines(log: ShownLog, name: str) -> None:
    assert name_of(log) == name


FULL = LogState(
    title="/a/long/path/to/some/log/file/worker_12.log",
    line=12345,
    row=12344,
    rows=1204332,
    total=1204332,
    errors=3,
    warnings=120,
    search="loss",
    match=3,
    matches=1204,
    following=True,
    work="indexing 43 %",
)


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120, 200])
async def test_the_status_row_keeps_what_matters(width: int) -> None:
    text = "".join(part for part, _ in parts_of(FULL, width))
    assert "line 12,345" in text
    if width >= 60:
        assert "following" in text and "indexing 43 %" in text
        assert cell_len(text) <= width
    if width >= 120:
        assert "3 of 1,204" in text and "3 errors" in text and "worker_12.log" in text


async def test_the_panel_is_found_by_its_messages(tmp_path: Path) -> None:
    path = write(tmp_path / "a.log", "line\n")
    async with shown(path) as log:
        [told] = {event.control for event in log.app.told if isinstance(event, LogPanel.Position)}
        assert told is log.app.panel


async def test_a_log_that_is_followed_before_anything_is_drawn_is_opened(tmp_path: Path) -> None:
    app = LogApp(tmp_path, Options())
    one = write(tmp_path / "a.log", "first\nlast\n")
    async with app.run_test(size=(80, 24)) as pilot:
        app.panel.follow(True)
        app.panel.open([ShownLog(str(one))])
        log = Shown(app, pilot)
        await log.until(lambda: app.panel.body is not None and "last" in log.screen())
