"""Every key of the log view."""

from __future__ import annotations

from pathlib import Path

import pytest

from mswb.launch.logview.model import LogModel
from mswb.launch.logview.rows import Place
from mswb.ui import keymap
from mswb.ui.messages import Copy
from mswb.ui.widgets.log import LogPanel
from mswb.ui.widgets.log.details import LogDetails
from tests.ui.logviews import ranks, shown
from tests.unit.launch.logview.logs import TRACEBACK, append, cpp, write

pytestmark = pytest.mark.asyncio

SECOND = 1_000_000


def lines(count: int) -> str:
    return "".join(f"line {number}\n" for number in range(1, count + 1))


@pytest.fixture
def hundred(tmp_path: Path) -> Path:
    return write(tmp_path / "a.log", lines(100))


async def test_the_end_is_shown_first_and_followed(hundred: Path) -> None:
    async with shown(hundred) as log:
        assert log.line == 100
        assert "line 100" in log.rows()[-1]
        assert log.state.following
        append(hundred, "one more\n")
        await log.until(lambda: "one more" in log.screen())
        assert log.line == 101


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        (["g"], 1),
        (["home"], 1),
        (["g", "j"], 2),
        (["g", "down", "down"], 3),
        (["k"], 99),
        (["up", "up"], 98),
        (["g", "pagedown"], 23),
        (["g", "ctrl+d"], 12),
        (["pageup"], 78),
        (["b"], 78),
        (["ctrl+u"], 89),
        (["g", "G"], 100),
        (["g", "end"], 100),
        (["g", "F"], 100),
        (["g", "k"], 1),
        (["j"], 100),
    ],
)
async def test_moving(hundred: Path, keys: list[str], line: int) -> None:
    async with shown(hundred) as log:
        assert log.view.size.height == 23
        await log.press(*keys)
        assert log.line == line
        assert f"line {line}" in log.screen()


async def test_going_up_leaves_the_end_and_new_lines_are_counted(hundred: Path) -> None:
    async with shown(hundred) as log:
        await log.press("k")
        assert not log.state.following
        before = log.rows()
        append(hundred, "more\nand more\n")
        await log.until(lambda: log.state.new_lines == 2)
        assert log.rows()[:-1] == before[:-1]
        assert log.line == 99
        await log.press("G")
        assert log.state.following and log.state.new_lines == 0
        assert "and more" in log.rows()[-1]


async def test_space_turns_following_on_and_off(hundred: Path) -> None:
    async with shown(hundred) as log:
        await log.press("space")
        assert not log.state.following and log.line == 100
        await log.press("g", "space")
        assert log.state.following and log.line == 100


async def test_long_lines_are_seen_by_going_right_or_wrapping(tmp_path: Path) -> None:
    path = write(tmp_path / "a.log", "first\n" + "".join(f"{number:03d}," for number in range(60)) + "\nlast\n")
    async with shown(path) as log:
        assert "059" not in log.screen()
        for _ in range(21):
            await log.press("right")
        assert "059" in log.screen()
        for _ in range(21):
            await log.press("left")
        assert "first" in log.screen()
        await log.press("a")
        assert "059" in log.screen()
        assert [row.strip(" ❯│█") for row in log.rows()[:6]][-1] == "last"
        await log.press("a")
        assert "059" not in log.screen()


async def test_search_with_counts(hundred: Path) -> None:
    async with shown(hundred) as log:
        await log.press("g", "slash")
        await log.type("LINE 1")
        assert "no line matches LINE 1" in log.notices()
        await log.press("slash")
        await log.type("line 1")
        assert (log.line, log.state.match, log.state.matches) == (1, 1, 12)
        await log.press("n")
        assert (log.line, log.state.match) == (10, 2)
        await log.press("N", "N")
        assert (log.line, log.state.match) == (100, 12)
        assert "from the end again" in log.notices()
        await log.press("n")
        assert log.line == 1
        assert "from the top again" in log.notices()
        await log.press("escape")
        assert log.state.search == "" and log.state.matches == 0
        await log.press("n")
        assert "nothing is searched yet: / asks what" in log.notices()


async def test_a_search_can_be_left(hundred: Path) -> None:
    async with shown(hundred) as log:
        await log.press("slash")
        await log.pilot.press("x", "y", "j")
        assert log.body.prompt.value == "xyj"
        await log.press("escape")
        assert log.state.search == "" and log.app.focused is log.view
        assert not log.body.prompt.has_class("-open")


async def test_earlier_searches_are_recalled(hundred: Path) -> None:
    async with shown(hundred) as log:
        for text in ("line 5", "line 7"):
            await log.press("slash")
            await log.type(text)
        await log.press("slash")
        await log.pilot.press("up")
        assert log.body.prompt.value == "line 7"
        await log.pilot.press("up")
        assert log.body.prompt.value == "line 5"
        await log.pilot.press("down", "down")
        assert log.body.prompt.value == ""


MIXED = (
    "start\n"
    + cpp(1 * SECOND, "w1")
    + cpp(2 * SECOND, "e1", "ERROR")
    + "step 1\n"
    + TRACEBACK
    + "step 2\n"
    + cpp(3 * SECOND, "i1", "INFO")
    + cpp(100 * SECOND, "w2")
    + cpp(101 * SECOND, "e2", "ERROR", module="DEVICE", pid=7)
    + "step 3\n"
)


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    return write(tmp_path / "a.log", MIXED)


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        (["g", "e"], 3),
        (["g", "e", "e"], 5),
        (["g", "e", "e", "e"], 12),
        (["E"], 12),
        (["E", "E"], 5),
        (["g", "w"], 2),
        (["g", "w", "w"], 3),
        (["W", "W"], 11),
    ],
)
async def test_errors_and_warnings(mixed: Path, keys: list[str], line: int) -> None:
    async with shown(mixed) as log:
        await log.press(*keys)
        for _ in keys:  # answers come one by one
            await log.quiet()
        assert log.line == line


async def test_keys_pressed_in_a_row_are_all_answered(mixed: Path) -> None:
    async with shown(mixed) as log:
        await log.pilot.press("g", "e")
        await log.until(lambda: log.line == 3)
        await log.pilot.press("e")
        await log.until(lambda: log.line == 5)
        await log.press("G", "e")
        assert "no error below" in log.notices()


async def test_time_and_silence(mixed: Path) -> None:
    async with shown(mixed) as log:
        await log.press("g", "s")
        assert log.line == 10
        assert "silent for 97.0 s after this line" in log.notices()
        await log.press("s")
        assert "no silence of 10 s below" in log.notices()
        await log.press("S", "G", "S")
        assert log.line == 10
        await log.press("right_square_bracket")
        assert log.line == 11
        await log.press("left_square_bracket")
        assert log.line == 10
        await log.press("left_square_bracket")
        assert log.line == 1


async def test_a_line_without_a_time_says_so(hundred: Path) -> None:
    async with shown(hundred) as log:
        await log.press("left_square_bracket")
        assert "no record near this line tells the time" in log.notices()


async def test_level_goes_round(mixed: Path) -> None:
    async with shown(mixed) as log:
        shown_rows = []
        for _ in range(4):
            await log.press("l")
            shown_rows.append((log.state.filtered, log.state.rows))
        assert shown_rows == [("level:info", 9), ("level:warning", 8), ("level:error", 6), ("", 13)]


async def test_filter_line(mixed: Path) -> None:
    async with shown(mixed) as log:
        await log.press("f")
        await log.type("module:DEVICE")
        assert log.state.filtered == "module:DEVICE"
        assert log.state.rows == 1 and log.line == 12
        await log.press("f")
        assert log.body.prompt.value == "module:DEVICE"
        await log.type(" level:loud")
        assert any("level:loud" in notice for notice in log.notices())
        assert log.state.filtered == "module:DEVICE"
        await log.press("escape")
        assert log.state.filtered == "" and log.state.rows == 13


async def test_keep_and_drop(hundred: Path) -> None:
    async with shown(hundred) as log:
        await log.press("ampersand")
        await log.type("line 1")
        assert log.state.rows == 12
        await log.press("exclamation_mark")
        await log.type("0$")
        assert log.state.rows == 10
        assert log.state.filtered == "'line 1' !0$" or log.state.filtered == '"line 1" !0$'
        await log.press("exclamation_mark")
        await log.type("")
        assert log.state.rows == 12
        await log.press("ampersand")
        await log.type("nothing like it")
        assert "No line passes the filter" in log.screen()


async def test_the_cursor_stays_on_its_line_when_the_filter_changes(mixed: Path) -> None:
    async with shown(mixed) as log:
        await log.press("g", "e", "l", "l")
        assert log.line == 3
        await log.press("escape")
        assert log.line == 3


async def test_folding_here_and_everywhere(mixed: Path) -> None:
    async with shown(mixed) as log:
        await log.press("g", *["j"] * 5, "z")
        assert log.line == 5
        assert "traceback 4 lines:" in log.screen()
        assert log.state.rows == 10
        await log.press("z")
        assert log.state.rows == 13
        await log.press("g", "z")
        assert "nothing folds here" in log.notices()
        await log.press("Z")
        assert log.state.rows == 10
        await log.press("Z")
        assert log.state.rows == 13


async def test_a_match_that_is_folded_away_is_unfolded(mixed: Path) -> None:
    async with shown(mixed) as log:
        await log.press("Z", "g", "slash")
        await log.type("main\\(\\)")
        await log.until(lambda: log.line == 7)
        assert "main()" in log.screen()


async def test_routine_lines_are_hidden_and_shown(tmp_path: Path) -> None:
    path = write(tmp_path / "a.log", cpp(1, "Cluster currently has 2 alive nodes.", module="DISTRIBUTED").replace(
        "Run]", "Finalize]") + cpp(2, "worth it"))  # fmt: skip
    async with shown(path) as log:
        await log.press("t")
        assert (log.state.rows, log.state.filtered) == (1, "routine:no")
        await log.press("t")
        assert (log.state.rows, log.state.filtered) == (2, "")


async def test_indexing_is_stopped_and_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.log", lines(100))
    monkeypatch.setattr(LogModel, "_index", lambda model, cancelled: bool(model._indexing(1, 2)))
    async with shown(folder=tmp_path) as log:
        log.app.panel.open(ranks([path]))
        await log.until(lambda: log.app.panel.body is not None and log.view.count and log.body.engine.snapshot.work)
        await log.pilot.press("j", "slash", "escape", "escape")
        await log.until(lambda: "indexing stopped" in log.state.work)
        assert "line 100" in log.screen() and not log.view.snapshot.built
        monkeypatch.undo()
        await log.pilot.press("R")
        await log.until(lambda: log.view.snapshot.built and log.line == 100)


async def test_details_asked_for_before_the_lines_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.log", lines(100))
    monkeypatch.setattr(LogModel, "_index", lambda model, cancelled: bool(model._indexing(1, 2)))
    async with shown(folder=tmp_path) as log:
        log.app.panel.open(ranks([path]))
        await log.until(lambda: log.app.panel.body is not None and log.view.count and log.body.engine.snapshot.work)
        await log.pilot.press("enter", "escape")
        await log.until(lambda: "indexing stopped" in log.state.work)
        assert not isinstance(log.app.screen, LogDetails)
        monkeypatch.undo()
        await log.pilot.press("R")
        await log.until(lambda: isinstance(log.app.screen, LogDetails))


async def test_bookmarks(hundred: Path) -> None:
    async with shown(hundred) as log:
        await log.press("u")
        assert "no bookmarks yet: m sets one" in log.notices()
        await log.press("g", "j", "m", "pagedown", "m", "g")
        assert "◆" in log.rows()[1]
        await log.press("u")
        assert log.line == 2
        await log.press("u")
        assert log.line == 24
        await log.press("u")
        assert log.line == 2
        await log.press("U")
        assert log.line == 24
        await log.press("m", "U", "U")
        assert log.line == 2
        assert log.view.marks == {Place(0, 1)}


async def test_copying_a_line_and_a_selection(hundred: Path) -> None:
    async with shown(hundred) as log:
        await log.press("g", "y")
        await log.press("shift+down", "shift+down")
        assert log.state.selected == 3
        await log.press("y")
        assert log.state.selected == 0
        await log.press("v", "j", "j", "shift+up", "y")
        await log.press("v", "escape")
        assert log.state.selected == 0
        await log.press("v", "v")
        assert log.state.selected == 0
        copied = [(message.text, message.what) for message in log.app.told if isinstance(message, Copy)]
        assert copied == [
            ("line 1", "log line"),
            ("line 1\nline 2\nline 3", "3 log lines"),
            ("line 3\nline 4", "2 log lines"),
        ]


async def test_details_of_a_line(mixed: Path) -> None:
    async with shown(mixed) as log:
        await log.press("g", "e", "enter")
        await log.until(lambda: isinstance(log.app.screen, LogDetails))
        details = log.app.screen
        assert isinstance(details, LogDetails)
        assert dict(details.details.fields)["level"] == "ERROR"
        await log.pilot.press("y")
        await log.until(lambda: any(isinstance(message, Copy) for message in log.app.told))
        await log.pilot.press("escape")
        await log.until(lambda: not isinstance(log.app.screen, LogDetails))


async def test_records_short_and_whole(mixed: Path) -> None:
    async with shown(mixed) as log:
        assert "04:00:02 ✖ ERROR ME Run: e1" in log.screen()
        await log.press("h")
        assert "✖ [ERROR] ME(1,7f,python):2026-11-30-04:00:02.000.000 [a.cc:4] Run] e1" in log.screen()
        await log.press("h")
        assert "04:00:02 ✖ ERROR" in log.screen()


async def test_escape_goes_back_step_by_step(hundred: Path) -> None:
    async with shown(hundred) as log:
        await log.press("ampersand")
        await log.type("1")
        await log.press("slash")
        await log.type("2")
        await log.press("v", "escape")
        assert (log.state.selected, log.state.search, log.state.filtered) == (0, "2", "1")
        await log.press("escape")
        assert (log.state.search, log.state.filtered) == ("", "1")
        await log.press("escape")
        assert log.state.filtered == ""


async def test_every_key_has_an_action(hundred: Path) -> None:
    async with shown(hundred) as log:
        for key in keymap.keys_of("log"):
            assert hasattr(log.body, f"action_{key.action.partition('(')[0]}"), key
        for key in keymap.keys_of("log_prompt"):
            assert hasattr(log.body.prompt, f"action_{key.action}"), key


async def test_the_owner_is_told_where_the_cursor_is(hundred: Path) -> None:
    async with shown(hundred) as log:
        await log.press("g")
        told = [(event.path, event.line) for event in log.app.told if isinstance(event, LogPanel.Position)]
        assert told[-1] == (str(hundred), 1)
        assert told[0] == (str(hundred), 100)


async def test_the_mouse(hundred: Path) -> None:
    async with shown(hundred) as log:
        await log.pilot.click(log.view, offset=(5, 3))
        assert log.line == 100 - 22 + 3
        log.view.scroll_rows(-3)
        assert log.view.top == 100 - 23 - 3
        await log.pilot.click(log.view, offset=(79, 0))
        assert log.view.top == 0
        await log.pilot.click(log.view, offset=(5, 3), times=2)
        await log.until(lambda: isinstance(log.app.screen, LogDetails))
