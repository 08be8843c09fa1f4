"""Draws lines of counters and sends only the cells that changed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from mswb.ui.widgets.devices.lines import Line
from mswb.ui.widgets.table.colours import coloured


class Board(ScrollView, can_focus=True):
    """Lines that are replaced as a whole each second; as high as they are many, up to what its style allows."""

    DEFAULT_CSS = """
    Board { height: auto; width: 1fr; overflow-x: hidden; overflow-y: auto; scrollbar-size-vertical: 1; }
    """
    _lines: tuple[Line, ...] = ()

    def show(self, lines: Sequence[Line]) -> None:
        """Draw other lines."""
        before, self._lines = self._lines, tuple(lines)
        if len(before) != len(self._lines):
            self.virtual_size = Size(self.size.width, len(self._lines))
            self.refresh(layout=True)
            return
        for number, (old, new) in enumerate(zip(before, self._lines, strict=True)):
            span = changed(old, new)
            if span is not None:
                self._refresh_cells(number, *span)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self._lines)

    def render_line(self, y: int) -> Strip:
        number = y + self.scroll_offset.y
        base = self.rich_style
        line = self._lines[number] if number < len(self._lines) else ()
        segments = [Segment(text, base + self._style(base, name)) for text, name in line if text]
        return Strip(segments).adjust_cell_length(self.size.width, base)

    def _refresh_cells(self, number: int, start: int, end: int) -> None:
        row = number - self.scroll_offset.y
        if 0 <= row < self.size.height:
            self.refresh(Region(start, row, end - start, 1))

    def _style(self, base: Style, name: str) -> Style:
        return coloured(base, self.app.theme_variables.get(name)) if name else Style()


def changed(old: Line, new: Line) -> tuple[int, int] | None:
    """The cells, from the first to past the last, in which two lines differ; None when they are the same."""
    if old == new:
        return None
    one, two = _characters(old), _characters(new)
    differing = [index for index, pair in enumerate(zip_longest(one, two)) if pair[0] != pair[1]]
    if not differing:
        return None
    start = _cells(one[: differing[0]])
    if any(cell_len(char) != 1 for char, _ in (*one, *two)):  # behind a wide character everything may move
        return start, max(_cells(one), _cells(two))
    return start, differing[-1] + 1


def _characters(line: Line) -> list[tuple[str, str]]:
    return [(char, style) for text, style in line for char in text]


def _cells(characters: Sequence[tuple[str, str]]) -> int:
    return sum(cell_len(char) for char, _ in characters)
