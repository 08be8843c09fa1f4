"""The rows of a table on the screen: draws the lines that show, and only those that changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from mswb.ui.widgets.table.colours import coloured
from mswb.ui.widgets.table.data import Column
from mswb.ui.widgets.table.grouping import Group
from mswb.ui.widgets.table.layout import GUTTER, Layout, natural_widths, place, sum_widths
from mswb.ui.widgets.table.lines import Line, Piece, State, empty_line, group_line, head_line, row_line
from mswb.ui.widgets.table.view import View

HEAD = 1
"""Lines of the table that stay when rows scroll: the titles."""
SIGN = (GUTTER, GUTTER + 1)
"""Where the sign of a fold stands on the head of a group."""


class TableBody(ScrollView, can_focus=True, inherit_bindings=False):
    """Draws a :class:`View`. It knows nothing of sorting or data: :class:`Table` hands it what to show."""

    DEFAULT_CSS = """
    TableBody { height: 1fr; width: 1fr; overflow: auto; scrollbar-size-vertical: 1; }
    TableBody > .table--head { color: $text-muted; background: $panel; text-style: bold; }
    TableBody > .table--head-cursor { color: $foreground; text-style: bold underline; }
    TableBody > .table--cursor {
        color: $block-cursor-foreground; background: $block-cursor-background; text-style: $block-cursor-text-style;
    }
    TableBody > .table--idle-cursor { background: $boost; text-style: bold; }
    TableBody > .table--marked { background: $accent 12%; }
    TableBody > .table--mark { color: $accent; text-style: bold; }
    TableBody > .table--group { color: $foreground; background: $surface; text-style: bold; }
    TableBody > .table--empty { color: $text-muted; }
    """
    COMPONENT_CLASSES = {  # noqa: RUF012 (Textual's own form)
        "table--head",
        "table--head-cursor",
        "table--cursor",
        "table--idle-cursor",
        "table--marked",
        "table--mark",
        "table--group",
        "table--empty",
    }

    class Pressed(Message):
        """The mouse pressed a line (None: the head) at column ``key``; ``times`` 2 is a double click."""

        def __init__(self, line: int | None, key: str | None, times: int, on_sign: bool) -> None:
            super().__init__()
            self.line = line
            self.key = key
            self.times = times
            self.on_sign = on_sign

    view: View | None = None
    cursor = 0
    column = ""
    marks: frozenset[Any] = frozenset()
    placed = Layout()
    width = 0
    """Cells of a line: what the scroll bar leaves."""
    _empty = ""

    def __init__(self, columns: tuple[Column, ...], keys_column: str | None) -> None:
        super().__init__()
        self._columns = columns
        self.keys_column = keys_column
        self.column = columns[0].key if columns else ""
        self._wanted: dict[str, int] = {}
        self._drawn: dict[int, Line] = {}
        self._styles: dict[tuple[State, str], Style] = {}

    # -- what is shown

    @property
    def page(self) -> int:
        """Rows that fit."""
        return max(1, self.size.height - HEAD)

    @property
    def top(self) -> int:
        """The first line in sight."""
        return round(self.scroll_y)

    def show(self, view: View, cursor: int, keep_in_sight: bool) -> None:
        """Show another view. Only lines that look different are drawn."""
        if self.view is None or self.view.data is not view.data:
            self._widen(natural_widths(view.data))
        if view.groups:
            self._widen(sum_widths(view))
        self.view, self.cursor = view, cursor
        self._place()
        if keep_in_sight:
            self.reveal()
        self.redraw()

    def _widen(self, widths: Mapping[str, int]) -> None:
        """Columns only ever get wider, so that data that changes does not make them jump."""
        self._wanted |= {key: max(width, self._wanted.get(key, 0)) for key, width in widths.items()}

    def set_empty(self, text: str) -> None:
        """What to show when there are no lines."""
        if text != self._empty:
            self._empty = text
            self.redraw()

    def move(self, line: int) -> None:
        """Put the cursor on a line and bring it into sight; where nothing scrolls, two lines are drawn."""
        before, self.cursor = self.cursor, line
        if not self.reveal():
            self.redraw({before - self.top + HEAD, line - self.top + HEAD})

    def reveal(self) -> bool:
        """Scroll as little as needed to have the cursor in sight; True when that draws all lines anew."""
        if self.size.height <= HEAD:
            return False
        before = self.top
        top = min(max(before, self.cursor - self.page + 1), self.cursor)
        if top != before:
            self.scroll_to(y=top, animate=False, force=True)
        return self.top != before

    def in_sight(self) -> bool:
        """Whether the cursor's line shows."""
        return self.top <= self.cursor < self.top + self.page

    def reveal_column(self) -> None:
        """Scroll sideways as little as needed to have the column cursor in sight."""
        slot = next((slot for slot in self.placed.slots[1:] if slot.column.key == self.column), None)
        left = round(self.scroll_x)
        wanted = 0 if slot is None else min(max(left, slot.end + 1 - self.width), slot.x - self.placed.fixed)
        if wanted != left:
            self.scroll_to(x=max(0, wanted), animate=False, force=True)
        self.redraw()

    def shown_columns(self) -> tuple[Column, ...]:
        """The columns that this terminal has room for by their ``hide_below``."""
        return tuple(slot.column for slot in self.placed.slots)

    def redraw(self, among: Iterable[int] | None = None) -> None:
        """Draw the lines whose look has changed since they were drawn; ``among`` says which those may be."""
        height = self.size.height
        for y in range(height) if among is None else among:
            if 0 <= y < height and self._drawn.get(y) != self._line(y):
                self.refresh(Region(0, y, self.width, 1))

    def _place(self) -> None:
        """Lay the columns out anew; everything is drawn when they moved."""
        if self.view is None or not self.size.width:
            return
        bar = self.styles.scrollbar_size_vertical if self.view.height + HEAD > self.size.height else 0
        self.width = max(0, self.size.width - bar)
        layout = place(self._columns, self._wanted, self.width, self.app.size.width)
        if layout != self.placed:
            self.placed = layout
            self.refresh()
        size = Size(max(layout.total, 1), self.view.height + HEAD)
        if size != self.virtual_size:
            self.virtual_size = size

    # -- drawing

    def render_line(self, y: int) -> Strip:
        line = self._line(y)
        self._drawn[y] = line
        return self._strip(line)

    def _line(self, y: int) -> Line:
        view, width, scroll = self.view, self.width, round(self.scroll_x)
        slots = self.placed.seen(scroll, width)
        if y < HEAD:
            shape = view.shape if view else None
            column = self.column if self.has_focus else None
            return head_line(slots, shape.sort if shape else None, bool(shape and shape.reverse), column)
        number = self.top + y - HEAD
        if view is None or number >= view.height:
            return empty_line(self._empty if y == HEAD and (view is None or not view.height) else "", width)
        thing = view.at(number)
        state: State = "row"
        if number == self.cursor:
            state = "cursor" if self.has_focus else "idle-cursor"
        if isinstance(thing, Group):
            key = view.shape.group or ""
            return group_line(
                thing, key, view.data, self.placed, "group" if state == "row" else state, view.is_folded(thing)
            )
        marked = bool(self.marks) and self.identity(thing) in self.marks
        return row_line(view.data, thing, slots, "marked" if marked and state == "row" else state, marked)

    def identity(self, row: int) -> Any:
        """What a data row is known by: its value in the key column, else its number."""
        if self.keys_column is None or self.view is None:
            return row
        return self.view.data.value(row, self.keys_column)

    def _strip(self, line: Line) -> Strip:
        width, fixed, scroll = self.width, self.placed.fixed, round(self.scroll_x)
        base = self._style(line.state, "")
        if not scroll:
            strip = self._join(line.pieces, 0, line.state, width)
        else:
            still = self._join([piece for piece in line.pieces if piece.x < fixed], 0, line.state, fixed)
            moving = self._join([piece for piece in line.pieces if piece.x >= fixed], fixed, line.state, width + scroll)
            strip = Strip.join([still.crop(0, fixed), moving.crop(scroll)])
        if strip.cell_length > width:
            strip = strip.crop(0, width)
        return self._hinted(strip, base, scroll) if line.state == "head" else strip

    def _hinted(self, strip: Strip, base: Style, scroll: int) -> Strip:
        """Say at the edges of the titles that there are more columns."""
        width, fixed = self.width, self.placed.fixed
        if scroll:
            strip = Strip.join([strip.crop(0, fixed - 1), Strip([Segment("<", base)], 1), strip.crop(fixed)])
        if self.placed.total > width + scroll:
            strip = Strip.join([strip.crop(0, width - 1), Strip([Segment(">", base)], 1)])
        return strip

    def _join(self, pieces: Sequence[Piece], start: int, state: State, end: int) -> Strip:
        """Pieces from cell ``start`` on, blanks between them and up to ``end``; equal styles become one segment."""
        runs: list[tuple[str, Style]] = []
        base, at = self._style(state, ""), start
        for piece in pieces:
            style = self._style(state, piece.style) if piece.style else base
            text = " " * (piece.x - at) if style is base else ""
            if piece.x > at and not text:
                _add(runs, " " * (piece.x - at), base)
            _add(runs, text + piece.text, style)
            at = max(at, piece.x) + cell_len(piece.text)
        if at < end:
            _add(runs, " " * (end - at), base)
        return Strip([Segment(text, style) for text, style in runs], max(at, end) - start)

    def _style(self, state: State, name: str) -> Style:
        """The style of a piece: of its line, with the colour of a theme variable or as a part with a style of its own.

        On the cursor's line the cursor's colour wins, as others may not be legible there.
        """
        style = self._styles.get((state, name))
        if style is None:
            style = self.rich_style if state == "row" else self.get_component_rich_style(f"table--{state}")
            if name in _PARTS:
                style += self.get_component_rich_style(f"table--{name}", partial=True)
            elif name and state != "cursor":
                style += coloured(style, self.app.theme_variables.get(name))
            self._styles[state, name] = style
        return style

    # -- what happens to it

    def notify_style_update(self) -> None:
        self._styles.clear()
        self._drawn.clear()
        super().notify_style_update()

    def on_mount(self) -> None:
        super().on_mount()  # type: ignore[no-untyped-call]
        self.styles.scrollbar_size_horizontal = 0  # a row is too dear: the titles say that there is more

    def on_resize(self) -> None:
        seen = self.in_sight() or not self._drawn
        self._place()
        if seen:
            self.reveal()
        self.redraw()

    def on_focus(self) -> None:
        self.redraw()

    def on_blur(self) -> None:
        self.redraw()

    def on_click(self, event: events.Click) -> None:
        event.stop()
        line = None if event.y < HEAD else self.top + event.y - HEAD
        if line is not None and (self.view is None or line >= self.view.height):
            return
        x = event.x if event.x < self.placed.fixed else event.x + round(self.scroll_x)
        hit = [slot for slot in self.placed.slots if slot.x <= x]
        self.post_message(self.Pressed(line, hit[-1].column.key if hit else None, event.chain, x in SIGN))


def _add(runs: list[tuple[str, Style]], text: str, style: Style) -> None:
    if runs and runs[-1][1] is style:
        runs[-1] = (runs[-1][0] + text, style)
    elif text:
        runs.append((text, style))


_PARTS = ("mark", "head-cursor")
