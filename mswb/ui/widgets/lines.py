"""A view of styled lines with a cursor: what the details of a diagnosis and the phase timeline are drawn by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len, chop_cells, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from mswb.findings import Where
from mswb.ui import keymap
from mswb.ui.messages import Copy

COLOURS = ("error", "warning", "success", "accent", "text-muted")


@dataclass(frozen=True, slots=True)
class Line:
    """One line. ``colour`` is a theme variable of :data:`COLOURS` or nothing.

    ``where`` is the place that the line leads to, ``finding`` the index of the finding that it tells of.
    """

    text: str
    colour: str = ""
    bold: bool = False
    where: Where | None = None
    finding: int | None = None


def wrap(text: str, width: int, indent: str = "") -> list[str]:
    """``text`` in rows of at most ``width`` terminal cells, broken between words where it can be.

    ``indent`` starts every row, as do the spaces that the text begins with.
    """
    begin = len(text) - len(text.lstrip(" "))
    indent += " " * min(begin, max(0, width // 2 - len(indent)))
    text = text[begin:]
    room = max(1, width - cell_len(indent))
    rows: list[str] = []
    row = ""
    for word in text.split(" "):
        longer = f"{row} {word}" if row else word
        if cell_len(longer) <= room:
            row = longer
            continue
        if row:
            rows.append(row)
        *full, row = chop_cells(word, room) or [""]
        rows += full
    return [indent + one for one in (*rows, row)]


class LineView(ScrollView, can_focus=True):
    """Lines, made for the width there is, with a cursor. Enter or a click chooses a line that leads somewhere."""

    BINDINGS: ClassVar[list[BindingType]] = keymap.bindings("lines")
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"lines--{name}" for name in (*COLOURS, "cursor")}
    DEFAULT_CSS = """
    LineView { height: 1fr; background: $surface; scrollbar-size-vertical: 1; scrollbar-gutter: stable; }
    LineView > .lines--error { color: $text-error; }
    LineView > .lines--warning { color: $text-warning; }
    LineView > .lines--success { color: $text-success; }
    LineView > .lines--accent { color: $text-accent; }
    LineView > .lines--text-muted { color: $text-muted; }
    LineView > .lines--cursor { background: $boost; }
    LineView:focus > .lines--cursor { background: $block-cursor-background; color: $block-cursor-foreground; }
    """

    class Chosen(Message):
        """A line was chosen."""

        def __init__(self, view: LineView, line: Line) -> None:
            super().__init__()
            self.view = view
            self.line = line

        @property
        def control(self) -> LineView:
            return self.view

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._make: Callable[[int], Sequence[Line]] = lambda width: ()
        self._lines: tuple[Line, ...] = ()
        self._made_for = 0
        self._cursor = 0

    @property
    def lines(self) -> tuple[Line, ...]:
        """The lines as they are drawn now."""
        return self._lines

    @property
    def current(self) -> Line | None:
        """The line under the cursor."""
        return self._lines[self._cursor] if self._lines else None

    def set_lines(self, make: Callable[[int], Sequence[Line]], *, top: bool = False) -> None:
        """Draw what ``make(width)`` gives, now and at every change of the width; ``top``: from the first line."""
        self._make = make
        self._remake(force=True)
        if top:
            self.move_to(0)

    def move_to(self, index: int) -> None:
        """Put the cursor on a line (the nearest there is) and show it."""
        before = self._cursor
        self._cursor = max(0, min(index, len(self._lines) - 1))
        for row in {before, self._cursor}:
            self.refresh_lines(row, 1)
        self.scroll_to_region(Region(0, self._cursor, 1, 1), animate=False, force=True)

    def on_resize(self, event: events.Resize) -> None:
        self._remake()

    def on_show(self) -> None:
        self._remake()

    def on_mount(self) -> None:
        self._remake(force=True)

    def _remake(self, *, force: bool = False) -> None:
        width = self.scrollable_content_region.width
        if width <= 0:  # hidden: made when it is seen again, though the width may be the same
            if force:
                self._made_for, self._lines = 0, ()
            return
        if width == self._made_for and not force:
            return
        lines = tuple(self._make(width))
        if width == self._made_for and lines == self._lines:
            return
        self._made_for, self._lines = width, lines
        self.virtual_size = Size(width, len(lines))
        self._cursor = max(0, min(self._cursor, len(lines) - 1))
        self.refresh()

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        index = y + self.scroll_offset.y
        if not 0 <= index < len(self._lines):
            return Strip.blank(width, self.rich_style)
        line = self._lines[index]
        style = self.rich_style + Style(bold=line.bold)
        if line.colour:
            # of a part of a style Textual gives white where the colour is mixed with the ground
            style += Style(color=self.get_component_rich_style(f"lines--{line.colour}").color)
        if index == self._cursor:
            style += self.get_component_rich_style("lines--cursor", partial=True)
        return Strip([Segment(set_cell_size(line.text, width), style)], width)

    def on_click(self, event: events.Click) -> None:
        index = event.y + self.scroll_offset.y
        if 0 <= index < len(self._lines):
            self.move_to(index)
            if self._lines[index].where is not None:
                self.action_choose()

    def action_step(self, rows: int) -> None:
        """Move the cursor by rows."""
        self.move_to(self._cursor + rows)

    def action_turn(self, pages: int) -> None:
        """Move the cursor by pages."""
        self.move_to(self._cursor + pages * max(1, self.size.height - 1))

    def action_edge(self, end: bool) -> None:
        """Move the cursor to the first or last line."""
        self.move_to(len(self._lines) - 1 if end else 0)

    def action_place(self, step: int) -> None:
        """Move the cursor to the next or previous line that leads somewhere."""
        places = [index for index, line in enumerate(self._lines) if line.where is not None]
        after = [index for index in places[::step] if (index - self._cursor) * step > 0]
        if after:
            self.move_to(after[0])

    def action_copy(self) -> None:
        """Copy the line."""
        if self.current is not None and self.current.text.strip():
            self.post_message(Copy(self.current.text.strip(), "line"))

    def action_choose(self) -> None:
        """Go to the place of the line."""
        if self.current is not None:
            self.post_message(self.Chosen(self, self.current))
