"""The rows of a hex view: only what is in sight is read, beside the event loop."""

from __future__ import annotations

from typing import ClassVar

from rich.cells import set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from mswb.cache.bytesview import ROW
from mswb.ui.screens.hexview.lines import Layout, hex_row, layout, names_text

CHUNK = 1 << 16
"""Bytes that are read at once."""
KEPT = 8
"""Chunks that are kept."""


class HexRows(ScrollView, can_focus=True, inherit_bindings=False):
    """Rows of bytes with a cursor. Its owner reads what it asks for, and hands it over by :meth:`fill`."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"hex--offset", "hex--fault", "hex--name", "hex--cursor"}
    DEFAULT_CSS = """
    HexRows { height: 1fr; background: $surface; scrollbar-size-vertical: 1; scrollbar-gutter: stable; }
    HexRows > .hex--offset { color: $text-muted; }
    HexRows > .hex--name { color: $text-accent; }
    HexRows > .hex--fault { color: $text-error; }
    HexRows > .hex--cursor { background: $boost; }
    HexRows:focus > .hex--cursor { background: $block-cursor-background; color: $block-cursor-foreground; }
    """

    class Wanted(Message):
        """The bytes of a chunk are to be read."""

        def __init__(self, chunk: int) -> None:
            super().__init__()
            self.chunk = chunk

    class Moved(Message):
        """The cursor is on another row."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.shown: Layout = layout(0, ())
        self.cursor = 0
        self._chunks: dict[int, bytes] = {}
        self._asked: set[int] = set()

    @property
    def offset_here(self) -> int:
        """The first byte of the row under the cursor."""
        return self.shown.at(self.cursor)[0]

    def show(self, shown: Layout, offset: int) -> None:
        """Draw a file from a place on."""
        self.shown = shown
        self._chunks.clear()
        self._asked.clear()
        self.virtual_size = Size(0, shown.height)
        self.refresh()
        self.go_to(offset)

    def fill(self, chunk: int, data: bytes) -> None:
        """Take the bytes of a chunk."""
        self._asked.discard(chunk)
        self._chunks[chunk] = data
        while len(self._chunks) > KEPT:
            self._chunks.pop(next(iter(self._chunks)))
        self.refresh()

    def go_to(self, offset: int) -> None:
        """Put the cursor on the row of a byte, in the middle of what is in sight."""
        line = self.shown.line_of(offset)
        self._put(line)
        self.scroll_to(y=max(0, line - self.size.height // 2), animate=False, force=True)

    def move(self, rows: int) -> None:
        """Move the cursor by rows."""
        self._put(self.cursor + rows)
        self.scroll_to_region(Region(0, self.cursor, 1, 1), animate=False, force=True)

    def row_text(self) -> str:
        """The row under the cursor, as it is drawn."""
        offset, _ = self.shown.at(self.cursor)
        row = hex_row(self.shown, offset, self._bytes(offset) or b"")
        return f"{row.offset} {row.hexes} |{row.text}|"

    def _put(self, line: int) -> None:
        before = self.cursor
        self.cursor = max(0, min(line, self.shown.height - 1))
        for one in {before, self.cursor}:
            self.refresh_lines(one, 1)
        self.post_message(self.Moved())

    def _bytes(self, offset: int) -> bytes | None:
        """The bytes of a row; None while they are read."""
        chunk, place = divmod(offset, CHUNK)
        data = self._chunks.get(chunk)
        if data is None:
            if chunk not in self._asked:
                self._asked.add(chunk)
                self.post_message(self.Wanted(chunk))
            return None
        return data[place : place + ROW]

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        line = y + self.scroll_offset.y
        if line >= self.shown.height or not self.shown.size:
            return Strip.blank(width, self.rich_style)
        offset, names = self.shown.at(line)
        base = self.rich_style
        here = self.get_component_rich_style("hex--cursor", partial=True) if line == self.cursor else Style()
        if names:
            text, bad = names_text(self.shown, offset)
            style = self._colour("hex--fault" if bad else "hex--name")
            return Strip([Segment(set_cell_size(f" {text}", width), base + style + here)], width)
        return self._row(offset, self._bytes(offset), base, here, width)

    def _row(self, offset: int, data: bytes | None, base: Style, here: Style, width: int) -> Strip:
        row = hex_row(self.shown, offset, data or b"")
        plain, bad = base + here, base + self._colour("hex--fault") + Style(bold=True) + here
        parts = [Segment(f" {row.offset} ", base + self._colour("hex--offset") + here)]
        for index in range(ROW):
            cell = row.hexes[3 * index : 3 * index + 3]
            parts.append(Segment(cell, bad if index in row.bad else plain))
        parts += [Segment(row.hexes[3 * ROW :], plain), Segment("|" if width < 82 else " |", plain)]
        parts += [Segment(one, bad if index in row.bad else plain) for index, one in enumerate(row.text)]
        parts.append(Segment("|", plain))
        return Strip(parts).simplify().adjust_cell_length(width, plain)

    def _colour(self, name: str) -> Style:
        return Style(color=self.get_component_rich_style(name).color)

    def on_click(self, event: events.Click) -> None:
        self._put(event.y + self.scroll_offset.y)
