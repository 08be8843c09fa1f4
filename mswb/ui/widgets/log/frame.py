"""What each line of the screen shows of a log: which rows fit from the top row on, cut or wrapped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from rich.segment import Segment
from textual.strip import Strip

from mswb.ui.glyphs import glyph
from mswb.ui.widgets.log.paint import Look, Parts, Row, content, gutter, is_sign, wrapped

RowAt = Callable[[int], Row]
_SPARE = 64  # characters beyond the width, as some of them may take no cell


@dataclass(frozen=True, slots=True)
class Canvas:
    """The room there is, and how rows are drawn in it."""

    width: int
    height: int
    left: int = 0
    wrap: bool = False
    look: Look = field(default_factory=Look)

    @property
    def room(self) -> int:
        """Cells for the line itself: without the gutter and the scroll bar."""
        return max(4, self.width - 1 - (2 + self.look.names if self.look.names else 1))

    @property
    def limit(self) -> int:
        """Characters of a line that may be seen."""
        return self.room * self.height + _SPARE if self.wrap else self.left + self.room + _SPARE


@dataclass(frozen=True, slots=True)
class FrameLine:
    """One line of the screen: a row, and which of its wrapped pieces. Equal ones look alike."""

    number: int
    row: Row
    piece: int = 0


def lay_out(top: int, count: int, row_at: RowAt, canvas: Canvas) -> list[FrameLine]:
    """The lines of the screen from row ``top`` on."""
    lines: list[FrameLine] = []
    for number in range(top, min(count, top + canvas.height)):
        row = row_at(number)
        lines += [FrameLine(number, row, piece) for piece in range(height_of(row, canvas))]
        if len(lines) >= canvas.height:
            break
    return lines[: canvas.height]


def height_of(row: Row, canvas: Canvas) -> int:
    """Lines of the screen that a row takes; never more than there are."""
    if not canvas.wrap:
        return 1
    return len(wrapped(content(row, canvas.look, canvas.limit), canvas.room, canvas.height))


def top_for(bottom: int, row_at: RowAt, canvas: Canvas) -> int:
    """The top row with which row ``bottom`` is the last one that is seen whole."""
    used = 0
    for number in range(bottom, max(-1, bottom - canvas.height), -1):
        used += height_of(row_at(number), canvas)
        if used > canvas.height:
            return min(number + 1, bottom)
    return max(0, bottom - canvas.height + 1)


def strip_of(line: FrameLine, canvas: Canvas, bar: str) -> Strip:
    """A line of the screen as Textual draws it; ``bar`` is its cell of the scroll bar."""
    row, look, ground = line.row, canvas.look, line.row.ground
    signs = gutter(row, look) if line.piece == 0 else [(" " * (canvas.width - 1 - canvas.room), "")]
    parts = content(row, look, canvas.limit)
    if canvas.wrap:
        parts = wrapped(parts, canvas.room, canvas.height)[line.piece]
    segments = [Segment(text, look.style(names, ground)) for text, names in signs if text]
    segments += _seen(parts, canvas, ground)
    segments.append(Segment(bar, look.style("muted")))
    return Strip(segments, canvas.width)


def _seen(parts: Parts, canvas: Canvas, ground: str) -> list[Segment]:
    """What lies between the left and right edge, filled up with blanks."""
    look, left, room = canvas.look, canvas.left, canvas.room
    if not all(text.isascii() or is_sign(text) for text, _ in parts):
        whole = Strip([Segment(text, look.style(names, ground)) for text, names in parts])
        return list(whole.crop(left, left + room).adjust_cell_length(room, look.style("", ground)))
    segments: list[Segment] = []
    for text, names in parts:
        piece = text[left : left + room]
        left = max(0, left - len(text))
        room -= len(piece)
        if piece:
            segments.append(Segment(piece, look.style(names, ground)))
    return [*segments, Segment(" " * room, look.style("", ground))] if room else segments


def bar_of(top: int, shown: int, count: int, height: int) -> tuple[int, int]:
    """From which line of the screen to which the thumb of the scroll bar reaches; nothing when all is shown."""
    if count <= shown or height < 1:
        return 0, 0
    size = max(1, round(height * shown / count))
    begin = round((height - size) * min(1.0, top / max(1, count - shown)))
    return begin, begin + size


def bar_sign(inside: bool, any_bar: bool) -> str:
    """One cell of the scroll bar."""
    return glyph("bar") if inside else glyph("pipe") if any_bar else " "
