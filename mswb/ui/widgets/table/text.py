"""Text of a cell: made safe, and cut or padded to a number of terminal cells (wide characters take two)."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size

from mswb.files.safety import printable
from mswb.ui.glyphs import glyph
from mswb.ui.widgets.table.data import Cut

_LONGEST = 400
"""Characters of one cell that are looked at; no terminal is wider."""


def safe(text: str) -> str:
    """One line that no terminal acts on."""
    return printable(text[:_LONGEST]).replace("\t", " ")


def fit(text: str, width: int, right: bool = False, cut: Cut = "end") -> str:
    """Exactly ``width`` cells of a safe text; an ellipsis stands for what is left out."""
    size = len(text) if text.isascii() else cell_len(text)
    if size > width:
        return _cut(text, width, cut)
    blank = " " * (width - size)
    return blank + text if right else text + blank


def _cut(text: str, width: int, cut: Cut) -> str:
    sign = glyph("ellipsis")
    if width <= cell_len(sign):
        return sign[:width]
    room = width - cell_len(sign)
    if cut == "end" or (cut == "path" and "/" not in text):
        return set_cell_size(text, room) + sign
    return sign + _tail(text, room)


def _tail(text: str, room: int) -> str:
    """The last cells of a text; a blank stands for half a wide character."""
    start = len(text)
    size = 0
    while start and size + cell_len(text[start - 1]) <= room:
        start -= 1
        size += cell_len(text[start])
    return " " * (room - size) + text[start:]
