"""The lines of a hex view as data: rows of sixteen bytes, and between them what begins in the row below."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from mswb.cache.bytesview import ROW, Mark
from mswb.files.safety import printable
from mswb.ui.glyphs import glyph

_PLAIN = "".join(chr(code) if 32 <= code < 127 else "." for code in range(256))


@dataclass(frozen=True, slots=True)
class Layout:
    """Which line shows which bytes. ``named`` are the rows (offset // 16) over which a line of names stands."""

    size: int
    marks: tuple[Mark, ...]
    named: tuple[int, ...] = field(default=())
    digits: int = 6

    @property
    def height(self) -> int:
        """How many lines there are."""
        return max(1, -(-self.size // ROW)) + len(self.named)

    def line_of(self, offset: int) -> int:
        """The line that shows a byte."""
        row = max(0, min(offset, self.size - 1)) // ROW
        return row + bisect_right(self.named, row)

    def at(self, line: int) -> tuple[int, bool]:
        """The offset of the first byte of a line, and whether the line only names what follows."""
        before = _names_before(self.named, line)
        row = line - before
        return row * ROW, before < len(self.named) and self.named[before] == row


def _names_before(named: Sequence[int], line: int) -> int:
    """How many lines of names stand above a line: the n-th of them stands on line ``named[n] + n``."""
    low, high = 0, len(named)
    while low < high:
        middle = (low + high) // 2
        if named[middle] + middle < line:
            low = middle + 1
        else:
            high = middle
    return low


def layout(size: int, marks: Sequence[Mark]) -> Layout:
    """The lines of a file of ``size`` bytes."""
    kept = tuple(mark for mark in marks if 0 <= mark.start < max(1, size))
    named = tuple(sorted({mark.start // ROW for mark in kept}))
    return Layout(size, kept, named, max(6, len(f"{max(0, size - 1):x}")))


def names_text(shown: Layout, offset: int) -> tuple[str, bool]:
    """What begins in the row at ``offset``, and whether damage does."""
    begins = [mark for mark in shown.marks if mark.start // ROW == offset // ROW]
    parts = [
        f"{glyph('error') + ' ' if mark.fault else ''}{_place(mark)} {printable(mark.name, 80)}" for mark in begins
    ]
    return f" {glyph('dot')} ".join(parts), any(mark.fault for mark in begins)


def _place(mark: Mark) -> str:
    return f"+{mark.start % ROW:x}" if mark.start % ROW else f"{mark.start:x}"


@dataclass(frozen=True, slots=True)
class Row:
    """A row of bytes as text: the offset, the bytes, the same as characters; ``bad`` are its damaged bytes."""

    offset: str
    hexes: str
    text: str
    bad: frozenset[int] = frozenset()


def hex_row(shown: Layout, offset: int, data: bytes) -> Row:
    """The row at ``offset``. Damaged bytes stand in brackets, since not every terminal has colours."""
    bad = frozenset(index for index in range(len(data)) if _damaged(shown.marks, offset + index))
    cells = []
    for index in range(ROW):
        opens = index in bad and index - 1 not in bad
        closes = index - 1 in bad and index not in bad
        between = "[" if opens else "]" if closes else " "
        cells.append(between + (f"{data[index]:02x}" if index < len(data) else "  "))
    cells.append("]" if len(data) and ROW - 1 in bad else " ")
    text = "".join(_PLAIN[byte] for byte in data)
    return Row(f"{offset:0{shown.digits}x}", "".join(cells), text.ljust(ROW), bad)


def _damaged(marks: Sequence[Mark], place: int) -> bool:
    return any(mark.fault and mark.start <= place < mark.end for mark in marks)


def next_place(places: Sequence[int], now: int, step: int) -> int | None:
    """The nearest of some places after ``now`` (``step`` 1) or before it (-1)."""
    after = [place for place in sorted(places)[::step] if (place - now) * step > 0]
    return after[0] if after else None
