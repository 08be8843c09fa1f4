"""The table widget: every key, every message, and what it draws."""

from __future__ import annotations

import pytest
from textual.widgets import Input

from mswb.ui import keymap
from mswb.ui.messages import Copy
from mswb.ui.widgets.table.data import Column
from mswb.ui.widgets.table.widget import Table
from tests.ui.tables import TableApp, press, ranks

pytestmark = pytest.mark.asyncio


async def test_rows_titles_and_count() -> None:
    app = TableApp(ranks(3), title="Ranks")
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        title, head, first, second, third = app.lines[:5]
        assert title == " Ranks 3"
        assert head.split() == ["Rank", "State", "Step", "Memory", "Last", "line"]
        assert "running" in first and "line 0" in first
        assert second.split()[:4] == ["1", "✖", "failed", "-"]
        assert "2.0 MiB" in third


async def test_an_optional_column_is_left_out_while_it_says_nothing() -> None:
    columns = (
        Column("rank", "Rank", "number"),
        Column("state", "State", width=9, optional=True),
        Column("line", "Last"),
    )
    app = TableApp({"rank": [0, 1], "state": ["", ""], "line": ["a", "b"]}, columns)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert app.lines[1].split() == ["Rank", "Last"]
        app.table.set_data({"rank": [0, 1], "state": ["", "odd"], "line": ["a", "b"]})
        await pilot.pause()
        assert app.lines[1].split() == ["Rank", "State", "Last"]


@pytest.mark.parametrize(
    ("keys", "row"),
    [
        ("j", 1),
        ("down down", 2),
        ("j j k", 1),
        ("j up", 0),
        ("k", 0),
        ("G", 49),
        ("end g", 0),
        ("G home", 0),
        ("pagedown", 21),
        ("ctrl+f ctrl+f", 42),
        ("G pageup", 28),
        ("ctrl+d", 11),
        ("G ctrl+u", 38),
        ("G j", 49),
    ],
)
async def test_the_cursor_moves(keys: str, row: int) -> None:
    app = TableApp(ranks(50))
    async with app.run_test(size=(80, 24)) as pilot:
        await press(pilot, *keys.split())
        assert app.table.cursor_row == row
        assert str(row) in app.ranks_shown
        assert app.rows_told(Table.Highlighted)[-1] == row or row == 0
        assert app.rows_told(Table.Highlighted)[0] == 0


async def test_sorting_goes_through_both_directions_and_back() -> None:
    app = TableApp(ranks(4, step=[5, None, 7, 6]))
    async with app.run_test() as pilot:
        await press(pilot, "greater_than_sign", "greater_than_sign", "s")
        assert app.table.column_key == "step"
        assert app.ranks_shown == ["0", "3", "2", "1"]
        assert "Step▲" in app.lines[1]
        await press(pilot, "s")
        assert app.ranks_shown == ["2", "3", "0", "1"]
        assert "Step▼" in app.lines[1]
        await press(pilot, "s")
        assert app.ranks_shown == ["0", "1", "2", "3"]
        assert "▲" not in app.lines[1] and "▼" not in app.lines[1]


async def test_reverse() -> None:
    app = TableApp(ranks(4))
    async with app.run_test() as pilot:
        await press(pilot, "r")
        assert app.ranks_shown == ["3", "2", "1", "0"]
        await press(pilot, "r")
        assert app.ranks_shown == ["0", "1", "2", "3"]


async def test_the_worst_state_sorts_first() -> None:
    app = TableApp(ranks(4, state=["ok", "note", "failed", "warning"]))
    async with app.run_test() as pilot:
        await press(pilot, "right", "s")
        assert app.ranks_shown == ["2", "3", "1", "0"]
        await press(pilot, "left", "s")
        assert app.ranks_shown == ["0", "1", "2", "3"]


async def test_the_filter_line() -> None:
    app = TableApp(ranks(40), title="Ranks")
    async with app.run_test(size=(80, 24)) as pilot:
        await press(pilot, "f", *"step", "greater_than_sign", "9", "8")
        assert app.query_one(Input).value == "step>98"
        assert app.ranks_shown == ["0"]
        assert app.lines[0].startswith(" Ranks 1 of 40  filter step>98")
        assert app.lines[23].strip() == "step>98"
        await press(pilot, "enter")
        assert not app.query(Input) and app.body.has_focus
        assert app.ranks_shown == ["0"]
        await press(pilot, "escape")
        assert len(app.table.view.rows) == 40
        assert app.lines[0] == " Ranks 40"


async def test_escape_closes_and_clears_the_filter_line() -> None:
    app = TableApp(ranks(5))
    async with app.run_test() as pilot:
        await press(pilot, "f", "4", "escape")
        assert not app.query(Input) and app.body.has_focus
        assert len(app.table.view.rows) == 5


async def test_letters_type_into_the_filter_line_and_arrows_move_the_cursor() -> None:
    app = TableApp(ranks(5, line=["jk sg", "jk sg", "b", "z", "y"]))
    async with app.run_test() as pilot:
        await press(pilot, "f", "j", "k", "space", "s", "g", "down")
        assert app.query_one(Input).value == "jk sg"
        assert app.table.shape.sort is None
        assert app.table.cursor_row == 1
        await press(pilot, "enter", "f")
        assert app.query_one(Input).value == "jk sg"


async def test_a_filter_that_can_not_be_used_says_so() -> None:
    app = TableApp(ranks(5))
    async with app.run_test() as pilot:
        app.table.set_filter("step>soon")
        await pilot.pause()
        assert "▲ Step > soon: not a number" in app.lines[0]
        assert len(app.ranks_shown) == 5


async def test_empty_states() -> None:
    app = TableApp(ranks(0), empty="no runs yet")
    async with app.run_test() as pilot:
        await pilot.pause()
        assert app.lines[2].strip() == "no runs yet"
        assert app.table.cursor_row is None
        await press(pilot, "j", "G", "s", "space", "enter", "z", "asterisk", "y", "b", "pagedown")
        app.table.set_data(ranks(2))
        app.table.set_filter("nowhere")
        await pilot.pause()
        assert app.lines[2].strip() == "no row matches"
        assert app.rows_told(Table.Chosen) == []


async def test_groups_fold() -> None:
    app = TableApp(ranks(6))
    async with app.run_test(size=(80, 24)) as pilot:
        await press(pilot, "greater_than_sign", "b")
        heads = [line for line in app.lines if "▾" in line]
        assert [line.partition("▾")[2].split()[1:3] for line in heads] == [
            ["failed", "(2)"],
            ["running", "(2)"],
            ["ok", "(2)"],
        ]
        assert "5.0 MiB" in heads[0]
        await press(pilot, "g", "enter")
        assert app.table.cursor_row is None
        assert app.lines[2].startswith("❯ ▸ ✖ failed (2)")
        assert app.ranks_shown[1:] == ["▾ ▶ r", "0", "3", "▾ ✓ o", "2", "5"]
        await press(pilot, "z")
        assert app.table.view.height == 3
        await press(pilot, "z")
        assert app.table.view.height == 9
        await press(pilot, "b")
        assert app.table.view.height == 6


async def test_groups_follow_the_sum_they_are_sorted_by() -> None:
    app = TableApp(ranks(6))
    async with app.run_test() as pilot:
        app.table.group_by("state")
        app.table.sort_by("memory", reverse=True)
        await pilot.pause()
        assert [group.value for group in app.table.view.groups] == ["ok", "failed", "running"]
        assert [int(row) for row in app.table.view.rows] == [5, 2, 4, 1, 3, 0]


async def test_marks_stay_with_their_rows() -> None:
    app = TableApp(ranks(6))
    async with app.run_test() as pilot:
        await press(pilot, "space", "j", "space")
        assert app.table.marked == (0, 2)
        assert app.table.cursor_row == 3
        assert app.lines[0].endswith("2 marked")
        assert app.lines[2].startswith("◆") and app.lines[4].startswith("◆")
        app.table.set_data({key: values[1:] for key, values in ranks(6).items()})
        await pilot.pause()
        assert app.table.marked == (1,)
        await press(pilot, "escape")
        assert app.table.marked == ()
        assert sum(isinstance(event, Table.Marked) for event in app.told) == 3


async def test_mark_all_takes_the_marks_away_again() -> None:
    app = TableApp(ranks(6))
    async with app.run_test() as pilot:
        app.table.set_filter("state:ok")
        await press(pilot, "asterisk")
        assert app.table.marked == (2, 5)
        await press(pilot, "asterisk")
        assert app.table.marked == ()


async def test_too_many_rows_are_not_marked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mswb.ui.widgets.table.widget.MOST_MARKS", 5)
    app = TableApp(ranks(6))
    async with app.run_test() as pilot:
        await press(pilot, "asterisk")
        assert app.table.marked == ()
        app.table.set_filter("state:ok")
        await press(pilot, "asterisk")
        assert app.table.marked == (2, 5)


async def test_marking_the_head_of_a_group_marks_its_rows() -> None:
    app = TableApp(ranks(6))
    async with app.run_test() as pilot:
        app.table.group_by("state")
        await press(pilot, "g", "space")
        assert app.table.marked == (1, 4)


async def test_choosing() -> None:
    app = TableApp(ranks(6))
    async with app.run_test() as pilot:
        await press(pilot, "j", "enter")
        await pilot.double_click(app.body, offset=(5, 3))
        await pilot.pause()
        assert app.rows_told(Table.Chosen) == [1, 2]


async def test_copy() -> None:
    app = TableApp(ranks(3))
    async with app.run_test() as pilot:
        await press(pilot, "y", "space", "space", "y")
        copies = [event for event in app.told if isinstance(event, Copy)]
        assert copies[0].text.splitlines()[1] == "0\t▶ running\t100\t0 B\tline 0"
        assert len(copies[1].text.splitlines()) == 3
        assert [copy.what for copy in copies] == ["row", "2 rows"]


async def test_the_mouse() -> None:
    app = TableApp(ranks(50))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.click(app.body, offset=(10, 4))
        assert app.table.cursor_row == 3
        head = app.lines[1].index("Step")
        await pilot.click(app.body, offset=(head + 1, 0))
        await pilot.pause()
        assert (app.table.shape.sort, app.table.shape.reverse) == ("step", False)
        await pilot.click(app.body, offset=(head + 1, 0))
        await pilot.pause()
        assert (app.table.shape.sort, app.table.shape.reverse) == ("step", True)
        await pilot.click(app.body, offset=(10, 21))
        assert app.table.cursor_row is not None


async def test_the_mouse_folds_a_group_by_its_sign() -> None:
    app = TableApp(ranks(6))
    async with app.run_test() as pilot:
        app.table.group_by("state")
        await pilot.pause()
        await pilot.click(app.body, offset=(2, 1))
        await pilot.pause()
        assert app.table.view.height == 7


async def test_every_key_has_a_test() -> None:
    """The keys above are those of the key map: whoever adds one adds it to a test."""
    assert {key.action.partition("(")[0] for key in keymap.keys_of("table")} == {
        "move",
        "top",
        "bottom",
        "page",
        "column",
        "choose",
        "sort",
        "reverse",
        "filter",
        "group",
        "fold_all",
        "mark",
        "mark_all",
        "copy",
        "leave",
    }
