"""A plot of one or two curves; what it draws is :func:`~mswb.ui.widgets.curve_text.render_curve`'s lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from mswb.ui.glyphs import is_ascii
from mswb.ui.widgets.curve_text import ASCII_DOTS, ASCII_SIGNS, BRAILLE, LABEL_CELLS, SIGNS, Drawn, render_curve
from mswb.ui.widgets.table.colours import coloured

__all__ = ["CurvePlot", "Drawn", "render_curve"]

_COLOURS = ("primary", "warning")  # theme variables of the curves


class CurvePlot(Widget):
    """A plot; :meth:`show` replaces what it draws."""

    DEFAULT_CSS = """
    CurvePlot { width: 1fr; height: 1fr; }
    """
    _series: tuple[Drawn, ...] = ()
    _cursor: float | None = None
    _logarithmic = False
    _lines: tuple[str, ...] = ()

    def show(self, series: Sequence[Drawn], cursor: float | None = None, logarithmic: bool = False) -> None:
        """Draw other curves. Call it once a second at most; lines that stay the same are not sent."""
        self._series, self._cursor, self._logarithmic = tuple(series), cursor, logarithmic
        self._draw()

    @property
    def columns(self) -> int:
        """Cells in which steps are drawn side by side."""
        return max(1, self.size.width - LABEL_CELLS - 1)

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        width, height = self.size
        options = {"cursor": self._cursor, "logarithmic": self._logarithmic}
        drawn = render_curve(self._series, width, height, is_ascii(), **options)  # type: ignore[arg-type]
        before, self._lines = self._lines, tuple(drawn)
        changed = [y for y, line in enumerate(self._lines) if y >= len(before) or before[y] != line]
        if len(before) != len(self._lines):
            self.refresh()
        elif changed:
            self.refresh(*(Region(0, y, width, 1) for y in changed))

    def render_line(self, y: int) -> Strip:
        base = self.rich_style
        line = self._lines[y] if y < len(self._lines) else ""
        parts = _coloured_parts(line, y, len(self._series), self.size.height)
        segments = [Segment(text, base + self._style(base, name)) for text, name in parts]
        return Strip(segments).adjust_cell_length(self.size.width, base).simplify()

    def _style(self, base: Style, name: str) -> Style:
        return coloured(base, self.app.theme_variables.get(name)) if name else Style()


def _coloured_parts(line: str, y: int, curves: int, height: int) -> Iterator[tuple[str, str]]:
    """(text, theme variable): the signs of each curve in its own colour."""
    if y < curves:
        yield line[:1], _COLOURS[y]
        yield line[1:], ""
        return
    if y >= height - 1:
        yield line, "text-muted"
        return
    for kind, group in groupby(enumerate(line), lambda item: _kind(item[1], item[0])):
        yield "".join(char for _, char in group), kind


def _kind(char: str, column: int) -> str:
    signs = ASCII_SIGNS if is_ascii() else SIGNS
    if column <= LABEL_CELLS:
        return "text-muted"
    if char in (signs.second, signs.both):
        return _COLOURS[1]
    if char == signs.broken:
        return "error"
    return _COLOURS[0] if BRAILLE < ord(char) < BRAILLE + 256 or char in ASCII_DOTS else ""
