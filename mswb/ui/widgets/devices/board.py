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

GAP = 8
"""Unchanged cells that are sent again rather than skipped: moving the cursor costs as much."""


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
            row = number - self.scroll_offset.y
            if old != new and 0 <= row < self.size.height:
                self.refresh(*(Region(start, row, end - start, 1) for start, end in changed(old, new)))

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self._lines)

    def render_line(self, y: int) -> Strip:
        number = y + self.scroll_offset.y
        base = self.rich_style
        line = self._lines[number] if number < len(self._lines) else ()
        segments = [Segment(text, base + self._style(base, name)) for text, name in line if text]
        return Strip(segments).adjust_cell_length(self.size.width, base).simplify()

    def _style(self, base: Style, name: str) -> Style:
        return coloured(base, self.app.theme_variables.get(name)) if name else Style()


def changed(old: Line, new: Line) -> list[tuple[int, int]]:
    """The runs of cells, from the first to past the last, in which two lines differ."""
    one, two = _cells(old), _cells(new)
    runs: list[tuple[int, int]] = []
    for index, (before, after) in enumerate(zip_longest(one, two)):
        if before == after:
            continue
        if runs and index - runs[-1][1] <= GAP:
            runs[-1] = (runs[-1][0], index + 1)
        else:
            runs.append((index, index + 1))
    return runs


def _cells(line: Line) -> list[tuple[str, str]]:
    """What each cell shows; the second cell of a wide character is its own thing, so that it is drawn with it."""
    cells: list[tuple[str, str]] = []
    for text, style in line:
        for char in text:
            cells += [(char, style)] + [(char, "second half")] * (cell_len(char) - 1)
    return cells
