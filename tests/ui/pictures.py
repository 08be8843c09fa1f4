"""A screen as a text: its rows, then which cells of each row have which colours. Small, exact, and a diff can be read.

The three parts of a picture::

    80x24
     mswb ...                          the rows, without the spaces at their ends

    a #e0e0e0 on #272727 bold         the styles
    1 a6 b74                          the cells: row 1 begins with six cells of style a
    2-23 c80                          the rows 2 to 23 look alike
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, zip_longest
from pathlib import Path
from string import ascii_lowercase
from typing import Any, NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.color import Color
from rich.style import Style
from textual.strip import Strip

FOLDER = Path(__file__).parent / "pictures"
_ATTRIBUTES = ("bold", "dim", "italic", "underline", "reverse", "strike")


def picture(app: Any) -> str:
    """What the screen of a running app shows."""
    strips = app.screen._compositor.render_strips()[: app.size.height]
    rows = [strip.text.rstrip() for strip in strips]
    runs = [list(_runs(strip)) for strip in strips]
    names = {
        style: _name(number) for number, style in enumerate(dict.fromkeys(style for row in runs for style, _ in row))
    }
    styles = [f"{name} {style}" for style, name in names.items()]
    looks = [" ".join(f"{names[style]}{width}" for style, width in row) for row in runs]
    return "\n".join([f"{app.size.width}x{app.size.height}", *rows, "", *styles, "", *_numbered(looks)]) + "\n"


class Screen(NamedTuple):
    """A picture taken apart: its size, its rows, and by the number of a row (from 1) its styles with their widths."""

    size: str
    rows: tuple[str, ...]
    looks: Mapping[int, Sequence[tuple[str, int]]]


def read(text: str) -> Screen:
    """A picture taken apart."""
    head, _, cells = text.rstrip("\n").rpartition("\n\n")
    rows, _, styles = head.rpartition("\n\n")
    size, *shown = rows.split("\n")
    known = dict(line.split(" ", 1) for line in styles.split("\n"))
    shown += [""] * (int(size.partition("x")[2]) - len(shown))
    return Screen(size, tuple(shown), dict(_looks(known, cells.split("\n"))))


def difference(expected: str, actual: str) -> str:
    """What a person has to see when two pictures differ: both screens side by side, then the cells that changed."""
    old, new = read(expected), read(actual)
    lines = _beside(old.rows, new.rows) if old.rows != new.rows else []
    for number in sorted({*old.looks, *new.looks}):
        was, now = old.looks.get(number, ()), new.looks.get(number, ())
        if was != now:
            lines.append(f"row {number}: {_spread(was)}\n   now: {_spread(now)}")
    return "\n".join(lines)


def _runs(strip: Strip) -> Iterator[tuple[str, int]]:
    """The styles of a row with their widths; blanks look like what stands before them where the ground is the same."""
    cells: list[tuple[str, int]] = []
    before: Style | None = None
    for segment in strip:
        style = segment.style or Style()
        blank = not segment.text.strip() and not style.underline and not style.reverse
        if blank and before is not None and before.bgcolor == style.bgcolor and not before.underline:
            style = before
        before = style
        cells.append((_words(style), segment.cell_length))
    for words, run in groupby(cells, key=lambda cell: cell[0]):
        yield words, sum(width for _, width in run)


def _words(style: Style) -> str:
    set_ones = [name for name in _ATTRIBUTES if getattr(style, name)]
    return " ".join([f"{_colour(style.color)} on {_colour(style.bgcolor)}", *set_ones])


def _colour(colour: Color | None) -> str:
    if colour is None or colour.is_default:
        return "default"
    return colour.triplet.hex if colour.triplet is not None else colour.name


def _name(number: int) -> str:
    first, last = divmod(number, 26)
    return (ascii_lowercase[first - 1] if first else "") + ascii_lowercase[last]


def _numbered(looks: Sequence[str]) -> Iterator[str]:
    number = 1
    for look, run in groupby(looks):
        last = number + len(list(run)) - 1
        yield f"{number if number == last else f'{number}-{last}'} {look}"
        number = last + 1


def _looks(known: Mapping[str, str], cells: Sequence[str]) -> Iterator[tuple[int, list[tuple[str, int]]]]:
    """The runs of each row, with the styles written out."""
    for line in cells:
        numbers, *runs = line.split(" ")
        first, _, last = numbers.partition("-")
        look = [(known[run.rstrip("0123456789")], int(run.lstrip(ascii_lowercase))) for run in runs]
        yield from ((number, look) for number in range(int(first), int(last or first) + 1))


def _spread(runs: Sequence[tuple[str, int]]) -> str:
    parts, column = [], 1
    for style, width in runs:
        parts.append(f"{column}-{column + width - 1} {style}")
        column += width
    return "; ".join(parts)


def _beside(old: Sequence[str], new: Sequence[str]) -> list[str]:
    width = max(map(cell_len, old), default=0)
    rows = zip_longest(old, new, fillvalue="")
    return [f"{set_cell_size(was, width)} {'|' if was == now else '≠'} {now}".rstrip() for was, now in rows]
