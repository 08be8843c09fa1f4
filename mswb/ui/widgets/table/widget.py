"""The table widget: title with counts, rows, and a filter line that opens on demand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.message import Message
from textual.widget import Widget

from mswb.ui import keymap
from mswb.ui.messages import Copy
from mswb.ui.widgets.table.body import TableBody
from mswb.ui.widgets.table.coded import Rows
from mswb.ui.widgets.table.data import Arrays, Column, TableData
from mswb.ui.widgets.table.export import as_text
from mswb.ui.widgets.table.grouping import Group
from mswb.ui.widgets.table.shaper import Built, Shaper
from mswb.ui.widgets.table.title import TableTitle
from mswb.ui.widgets.table.view import Shape, View
from mswb.ui.widgets.table.words import word

if TYPE_CHECKING:
    from textual.widgets import Input
    from typing_extensions import Self


MOST_MARKS = 50_000
"""Rows that one key marks; marking a million rows one by one would stop the screen."""


class Table(Widget):
    """Rows and columns of any number, sorted, filtered, grouped and marked.

    Args:
        columns: the columns; the first one never scrolls away.
        keys_column: the key of an array (of a column or not) whose values name the rows for good. The cursor and the
            marks stay with these names when the data changes; without it they stay with the row numbers.
        title: shown before the count in the title line.
        empty: shown when there are no rows.
        title_line: False leaves the title line out while there is no filter, group, mark or work to tell of.
    """

    DEFAULT_CSS = """
    Table { height: 1fr; width: 1fr; layout: vertical; }
    Table > Input.table--filter, Table > Input.table--filter:focus {
        height: 1; width: 1fr; border: none; padding: 0 1; background: $boost;
    }
    """
    BINDINGS: ClassVar = keymap.bindings("table")

    class Highlighted(Message):
        """The cursor is on another row, or on none (``row`` None: no rows, or the head of a group)."""

        def __init__(self, table: Table, row: int | None) -> None:
            super().__init__()
            self.table = table
            self.row = row

        @property
        def control(self) -> Table:
            return self.table

    class Chosen(Message):
        """Enter or a double click on a data row."""

        def __init__(self, table: Table, row: int) -> None:
            super().__init__()
            self.table = table
            self.row = row

        @property
        def control(self) -> Table:
            return self.table

    class Marked(Message):
        """The marks have changed; see ``table.marked``."""

        def __init__(self, table: Table) -> None:
            super().__init__()
            self.table = table

        @property
        def control(self) -> Table:
            return self.table

    def __init__(
        self,
        columns: Sequence[Column],
        *,
        id: str | None = None,
        keys_column: str | None = None,
        title: str = "",
        empty: str | None = None,
        title_line: bool = True,
    ) -> None:
        super().__init__(id=id)
        self.columns = tuple(columns)
        self.shape = Shape()
        self._body = TableBody(self.columns, keys_column)
        self._title = TableTitle(title, always=title_line)
        self._empty = word("no rows") if empty is None else empty
        self._data = TableData(self.columns, {column.key: [] for column in self.columns})
        self._shaper = Shaper(self, self._install)
        self._told: tuple[Any, Any] = (None, None)
        self._install(View(self._data, self.shape, self._data.every()))

    def compose(self) -> ComposeResult:
        yield self._title
        yield self._body

    def focus(self, scroll_visible: bool = True) -> Self:
        """Give the rows the focus."""
        self._body.focus(scroll_visible)
        return self

    # -- for its owner

    @property
    def data(self) -> TableData:
        """The data as shown now (big data may lag behind :meth:`set_data` until it is sorted)."""
        return self._view.data

    @property
    def view(self) -> View:
        """The rows as shown now: their order, and the groups."""
        return self._view

    @property
    def busy(self) -> bool:
        """Whether sorting or filtering goes on in the background."""
        return self._shaper.busy

    @property
    def cursor_row(self) -> int | None:
        """The data row under the cursor; None on the head of a group or when there are no rows."""
        thing = self._thing()
        return thing if isinstance(thing, int) else None

    @property
    def cursor_key(self) -> Any:
        """The value of ``keys_column`` in the row under the cursor (without one: its number); None without a row."""
        row = self.cursor_row
        return None if row is None else self._body.identity(row)

    @property
    def marked(self) -> tuple[int, ...]:
        """The marked data rows that exist, by number; filtered ones too."""
        marks, keys_column = self._body.marks, self._body.keys_column
        if keys_column is None:
            return tuple(sorted(row for row in marks if row < len(self.data)))
        return self.data.find_all(keys_column, marks)

    @property
    def column_key(self) -> str:
        """The column under the column cursor."""
        return self._body.column

    def set_data(self, arrays: Arrays) -> None:
        """Show other data; cursor, scroll position, marks, order, filter and groups stay.

        Raises:
            ValueError: an array is missing, or the arrays differ in length.
        """
        self._data = TableData(self.columns, arrays)
        self._want()

    def set_title(self, title: str) -> None:
        """Change the title."""
        self._title.title = title
        self._draw_title()

    def set_empty(self, text: str) -> None:
        """Change what is shown when there are no rows."""
        self._empty = text
        self._draw_empty()

    def sort_by(self, key: str | None, reverse: bool = False) -> None:
        """Sort by a column, or (None) show the data's own order."""
        self._reshape(replace(self.shape, sort=key, reverse=reverse))

    def set_filter(self, text: str) -> None:
        """Show the rows that match; see :mod:`mswb.ui.widgets.table.query`."""
        self._reshape(replace(self.shape, filter=text))

    def group_by(self, key: str | None) -> None:
        """Bring equal values of a column together, or (None) no longer."""
        self._reshape(replace(self.shape, group=key, folded=frozenset()))

    def move_to(self, row: int) -> bool:
        """Put the cursor on a data row; False when it is filtered away."""
        line = self._view.line_of(row) if 0 <= row < len(self.data) else None
        if line is None:
            return False
        self._move(line)
        return True

    def mark(self, rows: Iterable[int], on: bool = True) -> None:
        """Mark data rows, or take their marks away."""
        named = {self._body.identity(row) for row in rows}
        marks = self._body.marks | named if on else self._body.marks - named
        if marks != self._body.marks:
            self._body.marks = marks
            self._body.redraw()
            self._draw_title()
            self.post_message(self.Marked(self))

    def clear_marks(self) -> None:
        """Take all marks away."""
        self.mark(self.marked, on=False)
        self._body.marks = frozenset()

    # -- shape

    def _reshape(self, shape: Shape) -> None:
        if shape != self.shape:
            self.shape = shape
            self._want()

    def _want(self) -> None:
        self._shaper.want(self._data, self.shape)
        self._draw_title()

    @on(Built)
    def _built(self, event: Built) -> None:
        event.stop()
        if event.problem:
            self.app.notify(event.problem, severity="error", markup=False)
        self._shaper.finished(event)
        self._draw_title()

    def _install(self, view: View) -> None:
        """Show a view with the cursor on the row it was on, or at the same place when that row has gone.

        At the top it stays at the top of another order: whoever sorts from there wants to see what comes first.
        """
        line = self._line_in(view) if self._body.view else 0
        seen = self._body.in_sight()
        self._view = view
        self._body.show(view, line, seen)
        self._draw_empty()
        self._draw_title()
        self._tell()

    def _line_in(self, view: View) -> int:
        if self._body.cursor == 0 and replace(view.shape, folded=self._view.shape.folded) != self._view.shape:
            return 0
        found = None
        thing = self._thing()
        if isinstance(thing, Group):
            found = view.line_of_group(thing.value)
        elif thing is not None:
            row = _row_of(view.data, self._body.keys_column, self._body.identity(thing), thing)
            found = None if row is None else view.line_of(row)
        return max(0, min(self._body.cursor, view.height - 1)) if found is None else found

    def _thing(self) -> int | Group | None:
        return self._view.at(self._body.cursor) if self._body.cursor < self._view.height else None

    def _draw_title(self) -> None:
        marks = len(self._body.marks)
        self._title.show(self._view, self.shape, marks, self._shaper.busy)

    def _draw_empty(self) -> None:
        filtered = bool(self._view.shape.filter) and len(self.data) > 0
        self._body.set_empty(word("no row matches") if filtered else self._empty)

    # -- moving

    def _move(self, line: int) -> None:
        self._body.move(max(0, min(line, self._view.height - 1)))
        self._tell()

    def _tell(self) -> None:
        """Say where the cursor is, when that is another row than last time."""
        row = self.cursor_row
        now = (row, self.cursor_key)
        if now != self._told:
            self._told = now
            self.post_message(self.Highlighted(self, row))

    def action_move(self, rows: int) -> None:
        """Move the cursor by some lines."""
        self._move(self._body.cursor + rows)

    def action_page(self, pages: float) -> None:
        """Move by pages, or halves of them."""
        step = max(1, int(abs(pages) * (self._body.page - (abs(pages) == 1))))
        self._move(self._body.cursor + (step if pages > 0 else -step))

    def action_top(self) -> None:
        """Go to the first line."""
        self._move(0)

    def action_bottom(self) -> None:
        """Go to the last line."""
        self._move(self._view.height - 1)

    def action_column(self, step: int) -> None:
        """Move the column cursor."""
        keys = [column.key for column in self._body.shown_columns()]
        at = keys.index(self._body.column) if self._body.column in keys else 0
        self._choose_column(keys[max(0, min(at + step, len(keys) - 1))] if keys else "")

    def _choose_column(self, key: str) -> None:
        self._body.column = key
        self._body.reveal_column()

    # -- order, groups, marks

    def action_sort(self) -> None:
        """Sort by the column under the column cursor; again: the other way; again: the data's own order."""
        key = self._body.column
        if self.shape.sort != key:
            self.sort_by(key)
        elif not self.shape.reverse:
            self.sort_by(key, True)
        else:
            self.sort_by(None)

    def action_reverse(self) -> None:
        """Turn the order round."""
        if self.shape.sort is None:
            self.sort_by(self._body.column, True)
        else:
            self.sort_by(self.shape.sort, not self.shape.reverse)

    def action_group(self) -> None:
        """Group by the column under the column cursor, or no longer."""
        self.group_by(None if self.shape.group == self._body.column else self._body.column)

    def action_fold_all(self) -> None:
        """Fold all groups, or unfold them when all are folded."""
        if not self._view.groups:
            raise SkipAction
        every = frozenset(group.value for group in self._view.groups)
        self._fold(frozenset() if self._view.shape.folded >= every else every)

    def _fold(self, folded: frozenset[Any]) -> None:
        self.shape = replace(self.shape, folded=folded)
        if self._shaper.busy:
            self._want()
        else:
            self._install(self._view.fold(folded))

    def _toggle(self, group: Group) -> None:
        self._fold(self._view.shape.folded ^ {group.value})

    def action_mark(self) -> None:
        """Mark what is under the cursor (all rows of a group at its head), or take the mark away, and go on."""
        thing = self._thing()
        if thing is None:
            return
        rows = self._view.rows_of(thing) if isinstance(thing, Group) else [thing]
        self._turn_marks(rows)
        self._move(self._body.cursor + 1)

    def action_mark_all(self) -> None:
        """Mark all rows that are shown, or take the marks away when they all have one."""
        self._turn_marks(self._view.rows)

    def _turn_marks(self, rows: Rows) -> None:
        if len(rows) > MOST_MARKS:
            self.app.notify(word("too many to mark", most=f"{MOST_MARKS:,}"), severity="warning", markup=False)
            return
        numbers = [int(row) for row in rows]
        self.mark(numbers, on=not {self._body.identity(row) for row in numbers} <= self._body.marks)

    def action_choose(self) -> None:
        """Open what is under the cursor, or fold and unfold a group."""
        thing = self._thing()
        if isinstance(thing, Group):
            self._toggle(thing)
        elif thing is not None:
            self.post_message(self.Chosen(self, thing))

    def action_copy(self) -> None:
        """Copy the marked rows, or the one under the cursor, as text with tabs."""
        row = self.cursor_row
        rows = self.marked or (() if row is None else (row,))
        if not rows:
            raise SkipAction
        what = word("row") if len(rows) == 1 else word("{count} rows", count=f"{len(rows):,}")
        self.post_message(Copy(as_text(self.data, self._body.shown_columns(), rows), what))

    # -- filter line

    async def action_filter(self) -> None:
        """Open the filter line."""
        for line in self.query("Input"):
            line.focus()
            return
        from textual.widgets import Input  # few tables are ever filtered, and the first frame comes before

        line = Input(self.shape.filter, placeholder=word("filter hint"), classes="table--filter", select_on_focus=False)
        line.cursor_blink = False  # an idle screen sends nothing
        await self.mount(line)
        line.focus()

    def action_leave(self) -> None:
        """Close and clear the filter line; else clear the filter; else the marks; else let others have the key."""
        if self.query("Input") or self.shape.filter:
            self._close_filter()
            self.set_filter("")
        elif self._body.marks:
            self.clear_marks()
        else:
            raise SkipAction

    def _close_filter(self) -> None:
        lines = self.query("Input")
        if lines:
            self._body.focus()
            lines.remove()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.set_filter(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._close_filter()

    # -- mouse

    @on(TableBody.Pressed)
    def _pressed(self, event: TableBody.Pressed) -> None:
        event.stop()
        if event.key is not None:
            self._choose_column(event.key)
        if event.line is None:
            if event.key is not None:
                self.sort_by(event.key, self.shape.sort == event.key and not self.shape.reverse)
            return
        self._move(event.line)
        thing = self._thing()
        if isinstance(thing, Group) and (event.on_sign or event.times == 2):
            self._toggle(thing)
        elif event.times == 2:
            self.action_choose()


def _row_of(data: TableData, keys_column: str | None, name: Any, before: int) -> int | None:
    """The number of the row of this name: most often the same as before."""
    if keys_column is None:
        return before if before < len(data) else None
    if before < len(data) and data.value(before, keys_column) == name:
        return before
    return data.find(keys_column, name)
