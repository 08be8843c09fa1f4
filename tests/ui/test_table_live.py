"""The table while its data changes, with many rows, in narrow terminals, and with text that means harm."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from textual import events
from textual.geometry import Region
from textual.pilot import Pilot

from mswb.ui.glyphs import set_ascii
from mswb.ui.widgets.table import shaper
from mswb.ui.widgets.table.body import TableBody
from mswb.ui.widgets.table.data import Column, TableData
from mswb.ui.widgets.table.shaper import Built
from mswb.ui.widgets.table.view import Shape, build
from mswb.ui.widgets.table.widget import Table
from tests.ui.sessions import until
from tests.ui.tables import COLUMNS, TableApp, press, ranks

pytestmark = pytest.mark.asyncio


class Watched:
    """What the body of a table asks the screen to draw from now on."""

    def __init__(self, body: TableBody, monkeypatch: pytest.MonkeyPatch) -> None:
        self.lines: set[int] = set()
        self._refresh = body.refresh
        monkeypatch.setattr(body, "refresh", self.refresh)

    def refresh(self, *regions: Region, **options: Any) -> TableBody:
        self.lines |= {region.y for region in regions} if regions else {-1}
        return self._refresh(*regions, **options)


async def settled(app: TableApp, pilot: Pilot[None]) -> None:
    await until(pilot, lambda: not app.table.busy)
    await pilot.pause()


async def test_a_step_draws_two_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    app = TableApp(ranks(50))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        watched = Watched(app.body, monkeypatch)
        await press(pilot, "j")
        assert watched.lines == {1, 2}


async def test_new_data_draws_only_the_lines_that_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    app = TableApp(ranks(50))
    async with app.run_test(size=(80, 24)) as pilot:
        await press(pilot, "j", "j")
        watched = Watched(app.body, monkeypatch)
        app.table.set_data(ranks(50))
        assert watched.lines == set()
        changed = ranks(50)
        changed["step"][3] = 42
        changed["step"][49] = 42  # out of sight
        app.table.set_data(changed)
        assert watched.lines == {4}
        assert app.table.cursor_row == 2


async def test_cursor_and_scroll_stay_with_their_row() -> None:
    app = TableApp(ranks(100))
    async with app.run_test(size=(80, 24)) as pilot:
        await press(pilot, "pagedown", "pagedown")
        assert app.table.cursor_key == 42
        top = app.body.top
        app.table.set_data({key: values[3:] for key, values in ranks(100).items()})
        await pilot.pause()
        assert app.table.cursor_key == 42 and app.table.cursor_row == 39
        assert app.body.top == top
        app.table.set_data({key: values[:30] for key, values in ranks(100).items()})
        await pilot.pause()
        assert app.table.cursor_row == 29
        assert "29" in app.ranks_shown
        assert app.rows_told(Table.Highlighted)[-3:] == [42, 39, 29]


async def test_new_data_does_not_scroll() -> None:
    app = TableApp(ranks(100))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        app.body.scroll_to(y=50, animate=False)
        await pilot.pause()
        app.table.set_data(ranks(100, line=["new"] * 100))
        await pilot.pause()
        assert app.body.top == 50 and app.ranks_shown[0] == "50"
        assert app.table.cursor_row == 0
        await press(pilot, "j")
        assert app.body.top == 1


async def test_the_order_is_kept_while_values_change() -> None:
    app = TableApp(ranks(4))
    async with app.run_test() as pilot:
        app.table.sort_by("memory", reverse=True)
        await press(pilot, "g")
        assert app.table.cursor_key == 3
        app.table.set_data(ranks(4, memory=[9, 8, 7, 6]))
        await pilot.pause()
        assert app.ranks_shown == ["0", "1", "2", "3"]
        assert app.table.cursor_key == 3
        assert app.lines[5].startswith("❯")


async def test_below_the_top_the_cursor_follows_its_row_into_another_order() -> None:
    app = TableApp(ranks(60))
    async with app.run_test(size=(80, 24)) as pilot:
        await press(pilot, "j", "r")
        assert app.table.cursor_key == 1 and "1" in app.ranks_shown
        await press(pilot, "g", "r")
        assert app.table.cursor_key == 0


async def test_rows_without_names_keep_their_number() -> None:
    app = TableApp(ranks(10), keys_column=None)
    async with app.run_test() as pilot:
        await press(pilot, "j", "space")
        app.table.set_data({key: values[5:] for key, values in ranks(10).items()})
        await pilot.pause()
        assert app.table.cursor_row == 2 and app.table.marked == (1,)


async def test_a_group_keeps_the_cursor_and_its_fold() -> None:
    app = TableApp(ranks(6))
    async with app.run_test() as pilot:
        app.table.group_by("state")
        await press(pilot, "G", "enter")  # a row of the last group: chosen
        await press(pilot, "k", "k", "enter")
        assert app.table.view.height == 7
        app.table.set_data(ranks(9))
        await pilot.pause()
        assert app.table.view.height == 9
        assert app.table.cursor_row is None


async def test_moving_to_a_row() -> None:
    app = TableApp(ranks(60))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert app.table.move_to(40) and app.table.cursor_row == 40
        assert not app.table.move_to(60)
        app.table.set_filter("state:ok")
        assert not app.table.move_to(40)


async def test_many_rows_are_sorted_beside_the_event_loop() -> None:
    count = 60_000
    columns = (Column("n", "N", "number", total=False), Column("t", "Text"))
    numbers = np.random.default_rng(1).permutation(count)
    app = TableApp({"n": numbers, "t": [f"op{n}" for n in numbers]}, columns, keys_column="n")
    async with app.run_test() as pilot:
        await press(pilot, "s")
        assert app.table.shape.sort == "n"
        await settled(app, pilot)
        assert app.table.data.value(app.table.view.at(0), "n") == 0
        assert app.table.cursor_key == 0  # at the top before, at the top now
        app.table.sort_by("t", reverse=True)
        app.table.set_filter("n>=59990")
        await settled(app, pilot)
        assert [app.table.data.value(row, "t") for row in app.table.view.rows][:2] == ["op59999", "op59998"]
        assert "10 of 60,000" in app.lines[0]


async def test_newer_data_waits_and_a_newer_shape_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[tuple[int, Shape]] = []
    monkeypatch.setattr(shaper, "AT_ONCE", 0)
    app = TableApp(ranks(3))
    async with app.run_test() as pilot:
        work = app.table._shaper._work
        monkeypatch.setattr(app.table._shaper, "_work", lambda data, shape: started.append((len(data), shape)))
        app.table.sort_by("rank", reverse=True)
        app.table.set_data(ranks(4))
        app.table.set_data(ranks(5))
        await pilot.pause()
        assert started == [(3, Shape("rank", True))] and app.table.busy
        assert "working" in app.lines[0]
        app.table.post_message(Built(build(TableData(COLUMNS, ranks(3)), Shape("rank", True))))
        await until(pilot, lambda: len(started) == 2)
        assert started[1] == (5, Shape("rank", True))
        assert [int(row) for row in app.table.view.rows] == [2, 1, 0]
        app.table.sort_by("step")
        app.table.post_message(Built(build(TableData(COLUMNS, ranks(5)), Shape("rank", True))))
        await until(pilot, lambda: len(started) == 3)
        assert len(app.table.data) == 3  # the old shape is shown no more
        monkeypatch.setattr(app.table._shaper, "_work", work)
        app.table.post_message(Built(None, "ValueError: no"))
        await until(pilot, lambda: not app.table.busy)


async def test_text_that_means_harm_is_drawn_as_text() -> None:
    lines = ["\x1b]52;c;AAAA\x07", "[red]no markup[/red]", "tab\there\nand\rthere", "中文\u202ereversed", "x" * 10_000]
    app = TableApp(ranks(5, line=lines), title="[b]\x1b[2J", empty="[i]")
    async with app.run_test(size=(120, 24)) as pilot:
        await pilot.pause()
        screen = "\n".join(app.lines)
        assert "\x1b" not in screen and "\u202e" not in screen
        assert "\\x1b]52" in screen and "[red]no markup[/red]" in screen and "tab here" in screen
        assert screen.startswith(" [b]\\x1b[2J 5")
        await press(pilot, *"JJJ", "f", "[", "/")


async def test_chinese_text_keeps_columns_aligned() -> None:
    app = TableApp(
        {"name": ["节点一", "node", "节"], "n": [1, 2, 3], "end": ["a", "b", "c"]},
        (Column("name", "名称"), Column("n", "数", "number"), Column("end", "末")),
        keys_column=None,
    )
    async with app.run_test(size=(60, 10)) as pilot:
        await pilot.pause()
        strips = app.screen._compositor.render_strips()[2:5]
        assert [strip.crop(0, 8).text.strip("❯ ") for strip in strips] == ["节点一", "node", "节"]
        assert [strip.crop(10, 13).text.strip() for strip in strips] == ["1", "2", "3"]
        assert [strip.crop(13, 20).text.strip() for strip in strips] == ["a", "b", "c"]


async def test_sideways_the_first_column_stays() -> None:
    columns = tuple(Column(f"c{number}", f"Column {number}", "number", width=14) for number in range(12))
    app = TableApp({f"c{number}": [number] * 40 for number in range(12)}, columns, keys_column=None)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert app.lines[1].endswith(">")
        await press(pilot, *["right"] * 11)
        assert app.table.column_key == "c11"
        head, row = app.lines[1], app.lines[2]
        assert "Column 0" in head and "Column 11" in head and "Column 3" not in head and "<" in head
        assert not head.endswith(">")
        assert row.split()[1] == "0" and row.split()[-1].startswith("11")
        column = app.body.region.x + head.index("Column 11")
        await pilot.click(app.body, offset=(column + 1, 0))
        assert app.table.shape.sort == "c11"
        await press(pilot, *["left"] * 11)
        assert app.body.scroll_x == 0 and app.table.column_key == "c0"


async def test_columns_hide_in_narrow_terminals_and_long_text_gives_way() -> None:
    columns = (
        Column("name", "Name"),
        Column("path", "Path", cut="start"),
        Column("n", "N", "number"),
        Column("more", "More", hide_below=100),
    )
    rows = {"name": ["one"], "path": ["/home/user/project/" + "deep/" * 12 + "file.log"], "n": [5], "more": ["extra"]}
    app = TableApp(rows, columns, keys_column=None)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert "extra" not in app.lines[2] and "More" not in app.lines[1]
        assert "…" in app.lines[2] and "deep/file.log" in app.lines[2] and app.lines[2].endswith("5")
        await pilot.resize_terminal(160, 45)
        await pilot.pause()
        assert "extra" in app.lines[2] and "…" not in app.lines[2]
        await pilot.resize_terminal(20, 5)
        await press(pilot, "j", "G")
        await pilot.resize_terminal(1, 1)
        await press(pilot, "j", "right")


async def test_columns_do_not_jump_when_values_shrink() -> None:
    app = TableApp(ranks(3, line=["a long line of text"] * 3, memory=[1023 * 2**30] * 3))
    async with app.run_test() as pilot:
        await pilot.pause()
        before = app.lines[1]
        app.table.set_data(ranks(3))
        await pilot.pause()
        assert app.lines[1] == before


async def test_without_focus_the_cursor_stays_visible() -> None:
    app = TableApp(ranks(3))
    async with app.run_test() as pilot:
        await pilot.pause()
        app.set_focus(None)
        await pilot.pause()
        assert app.lines[2].startswith("❯")


async def test_cells_take_the_colours_of_the_theme() -> None:
    app = TableApp(ranks(3, step=[50, 5, None]))
    async with app.run_test() as pilot:
        await press(pilot, "G")

        def colour(line: int, text: str) -> Any:
            segment = next(s for s in app.body.render_line(line) if text in s.text.split())
            assert segment.style is not None
            return segment.style.color

        assert colour(2, "5") != colour(1, "50")
        before = colour(2, "5")
        app.theme = "dracula"
        await pilot.pause()
        assert colour(2, "5") != before
        app.theme = "ansi-dark"
        await pilot.pause()
        assert colour(3, "-") is not None or colour(2, "5") is not None


async def test_ascii_terminals() -> None:
    set_ascii(True)
    try:
        app = TableApp(ranks(6, line=["z" * 300] * 6), title="Ranks")
        async with app.run_test(size=(60, 12)) as pilot:
            app.table.group_by("state")
            app.table.sort_by("rank")
            await press(pilot, "j", "space")
            assert "\n".join(app.lines).isascii()
    finally:
        set_ascii(False)


async def test_titles_and_empty_texts_can_change() -> None:
    app = TableApp(ranks(0), title="Old", title_line=True)
    async with app.run_test() as pilot:
        app.table.set_title("New")
        app.table.set_empty("nothing yet")
        await pilot.pause()
        assert app.lines[0] == " New 0" and app.lines[2].strip() == "nothing yet"


async def test_a_table_without_a_title_line() -> None:
    app = TableApp(ranks(2), title_line=False)
    async with app.run_test() as pilot:
        await pilot.pause()
        assert app.lines[0].split()[0] == "Rank"
        await press(pilot, "space")
        assert app.lines[0].endswith("1 marked") and app.lines[1].split()[0] == "Rank"
        await press(pilot, "escape")
        assert app.lines[0].split()[0] == "Rank"


async def test_rows_can_be_named_by_an_array_that_is_no_column() -> None:
    rows = ranks(10) | {"name": [f"n{number}" for number in range(10)]}
    app = TableApp(rows, keys_column="name")
    async with app.run_test() as pilot:
        await press(pilot, "j", "j")
        assert app.table.cursor_key == "n2"
        app.table.set_data({key: values[1:] for key, values in rows.items()})
        assert app.table.cursor_row == 1


async def test_the_wheel() -> None:
    app = TableApp(ranks(100))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        for _ in range(3):
            await pilot._post_mouse_events([events.MouseScrollDown], app.body, offset=(5, 5), button=0)
        await pilot.pause()
        assert app.body.top > 0 and app.table.cursor_row == 0
