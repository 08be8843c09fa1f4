"""One or two curves as lines of text: braille dots for the first, crosses for the second; no colour is needed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size

from mswb.files.safety import printable
from mswb.findings import language
from mswb.launch.series import Point, Series, align

LABEL_CELLS = 9
"""Cells of the numbers at the left."""
MIN_WIDTH, MIN_HEIGHT = 24, 6
_DOTS_X, _DOTS_Y = 2, 4
_TOP = 8e307  # so that the difference of two places is a number
BRAILLE = 0x2800
"""The code point of the empty braille cell."""
_DOT_BITS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))  # of a cell: by column, then row from the top


Places = list[tuple[float, float]]
"""(step, value on the scale that is drawn)."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A curve and its name."""

    label: str
    series: Series


@dataclass(frozen=True, slots=True)
class Signs:
    """The characters of a plot. ``second`` draws the second curve, ``both`` where the two meet."""

    second: str
    both: str
    broken: str
    axis: str
    corner: str
    line: str
    cursor: str
    dash: str


SIGNS = Signs("×", "◆", "✖", "│", "└", "─", "┴", "–")
ASCII_SIGNS = Signs("x", "#", "X", "|", "+", "-", "^", "-")
ASCII_DOTS = ("'", "-", ".", ":")
"""For the upper, middle and lower third of a cell, and for more than one of them."""


@dataclass(frozen=True, slots=True)
class _Frame:
    """Where things are: cells of the plot, and the ranges of the axes (``y`` after the scale was applied)."""

    columns: int
    rows: int
    left: float
    right: float
    low: float
    high: float

    def column(self, step: float, dots: int = 1) -> int:
        return _cell(step - self.left, self.right - self.left, self.columns * dots)

    def row(self, value: float, dots: int = 1) -> int:
        """Counted from the top."""
        return _cell(self.high - value, self.high - self.low, self.rows * dots)


def _cell(distance: float, span: float, count: int) -> int:
    """Which of ``count`` cells over ``span`` lies at ``distance``; the first or the last for what is outside."""
    share = min(1.0, max(0.0, distance / span)) if span > 0 else 0.0
    return min(count - 1, int(share * count))


def render_curve(
    series: Sequence[Drawn],
    width: int,
    height: int,
    ascii: bool = False,
    *,
    cursor: float | None = None,
    logarithmic: bool = False,
) -> list[str]:
    """``height`` lines of ``width`` cells: a label for each curve, the plot, and the axis of steps.

    Args:
        series: one or two curves; the second is drawn by other signs.
        cursor: a step whose values are told in the last line.
        logarithmic: the scale of values; those that are not positive are left out.
    """
    signs = ASCII_SIGNS if ascii else SIGNS
    shown = list(series[:2])
    labels = [_label(one, number, ascii, signs, width) for number, one in enumerate(shown)]
    rows = height - len(labels) - 2
    columns = width - LABEL_CELLS - 1
    if width < MIN_WIDTH or rows < 1 or not any(len(one.series) for one in shown):
        return _filled([*labels, "", _say("no values yet", "还没有数值")], width, height)
    places = [_places(one.series, logarithmic) for one in shown]
    frame = _frame(shown, places, columns, rows)
    if frame is None:
        return _filled([*labels, "", _say("no finite values", "没有有限的数值")], width, height)
    grid = _first(places[0], frame, ascii)
    if len(shown) > 1:
        _draw_second(grid, places[1], frame, signs)
    body = [f"{text}{signs.axis}{''.join(row)}" for text, row in zip(_left(frame, logarithmic), grid, strict=True)]
    axis = " " * LABEL_CELLS + signs.corner + _axis(shown, frame, signs, cursor)
    return _filled([*labels, *body, axis, _bottom(shown, frame, cursor, width)], width, height)


def short(value: float, most: int = 5) -> str:
    """A number with at most ``most`` digits, in at most :data:`LABEL_CELLS` cells."""
    if not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    texts = (f"{value:.{digits}g}" for digits in range(most, 1, -1))
    return next((text for text in texts if len(text) <= LABEL_CELLS), f"{value:.1g}")


def _places(series: Series, logarithmic: bool) -> Places:
    """The values that have a place on the scale, with their steps."""
    pairs = zip(series.steps, series.values, strict=True)
    finite = [(step, min(_TOP, max(-_TOP, value))) for step, value in pairs if math.isfinite(value)]
    if not logarithmic:
        return finite
    return [(step, math.log10(value)) for step, value in finite if value > 0]


def _frame(shown: Sequence[Drawn], all_places: Sequence[Places], columns: int, rows: int) -> _Frame | None:
    places = [place for some in all_places for _, place in some]
    if not places:
        return None
    left = min(one.series.steps[0] for one in shown if len(one.series))
    right = max(one.series.steps[-1] for one in shown if len(one.series))
    low, high = min(places), max(places)
    if not high - low > abs(high) * 1e-12:  # flat: in the middle
        room = abs(high) * 0.1 or 1.0
        low, high = low - room, high + room
    return _Frame(columns, rows, left, right, low, high)


@dataclass(slots=True)
class _Column:
    """The values in one column of dots, as places: first, last, lowest, highest."""

    first: float
    last: float
    low: float
    high: float


def _columns(places: Places, frame: _Frame, dots: int) -> dict[int, _Column]:
    """What falls in each column, in rising order."""
    found: dict[int, _Column] = {}
    span, last = frame.right - frame.left, frame.columns * dots - 1
    factor = (last + 1) / span if span > 0 else 0.0
    for step, place in places:
        at = min(last, int((step - frame.left) * factor))
        column = found.get(at)
        if column is None:
            found[at] = _Column(place, place, place, place)
            continue
        column.last = place
        if place < column.low:
            column.low = place
        elif place > column.high:
            column.high = place
    return found


def _spans(places: Places, frame: _Frame, dots: int) -> Iterator[tuple[int, float, float]]:
    """(column, lowest, highest place) of a line through all points, gaps between columns bridged."""
    before: tuple[int, float] | None = None
    for at, column in _columns(places, frame, dots).items():
        if before is not None:
            start, last = before
            slope = (column.first - last) / (at - start)
            for between in range(start + 1, at + 1):  # each column reaches half-way back, so that there are no holes
                place = last + slope * (between - start)
                back = place - slope / 2
                yield between, min(back, place), max(back, place)
        yield at, column.low, column.high
        before = at, column.last


def _first(places: Places, frame: _Frame, ascii: bool) -> list[list[str]]:
    if ascii:
        return _ascii_grid(places, frame)
    bits = [[0] * frame.columns for _ in range(frame.rows)]
    for at, low, high in _spans(places, frame, _DOTS_X):
        for row in range(frame.row(high, _DOTS_Y), frame.row(low, _DOTS_Y) + 1):
            bits[row // _DOTS_Y][at // _DOTS_X] |= _DOT_BITS[at % _DOTS_X][row % _DOTS_Y]
    return [[chr(BRAILLE + cell) if cell else " " for cell in row] for row in bits]


def _ascii_grid(places: Places, frame: _Frame) -> list[list[str]]:
    grid = [[" "] * frame.columns for _ in range(frame.rows)]
    thirds = 3
    for at, low, high in _spans(places, frame, 1):
        top, bottom = frame.row(high, thirds), frame.row(low, thirds)
        for row in range(top // thirds, bottom // thirds + 1):
            several = bottom > top or grid[row][at] != " "
            grid[row][at] = ASCII_DOTS[3] if several else ASCII_DOTS[top % thirds]
    return grid


def _draw_second(grid: list[list[str]], places: Places, frame: _Frame, signs: Signs) -> None:
    """The ends of what falls in each column."""
    for at, low, high in _spans(places, frame, 1):
        for row in {frame.row(high), frame.row(low)}:
            grid[row][at] = signs.second if grid[row][at] in (" ", signs.second) else signs.both


def _left(frame: _Frame, logarithmic: bool) -> Iterator[str]:
    """The numbers of the vertical axis, one a row; only the top, the middle and the bottom have one."""
    for row in range(frame.rows):
        if row in (0, frame.rows - 1, frame.rows // 2):
            share = row / (frame.rows - 1) if frame.rows > 1 else 0.5
            place = frame.high + (frame.low - frame.high) * share
            yield short(10 ** min(place, 308.0) if logarithmic else place).rjust(LABEL_CELLS)
        else:
            yield " " * LABEL_CELLS


def _axis(shown: Sequence[Drawn], frame: _Frame, signs: Signs, cursor: float | None) -> str:
    """The line below the plot: where values are broken, and where the cursor is."""
    cells = [signs.line] * frame.columns
    for one in shown:
        if one.series.broken:
            for step, value in zip(one.series.steps, one.series.values, strict=True):
                if not math.isfinite(value):
                    cells[frame.column(step)] = signs.broken
    if cursor is not None:
        cells[frame.column(cursor)] = signs.cursor
    return "".join(cells)


def _label(one: Drawn, number: int, ascii: bool, signs: Signs, width: int) -> str:
    """The curve's sign and name, then what matters of its values: with the steps, where there is room for them."""
    sign = signs.second if number else (":" if ascii else "⠒")
    series = one.series
    low, high, last, broken = series.low, series.high, series.last, series.first_broken
    told = [(_say("last", "最新"), last), (_say("min", "最小"), low), (_say("max", "最大"), high)]
    full = [f"{name} {_place(point)}" for name, point in told if point is not None]
    brief = [f"{name} {short(point.value, 4)}" for name, point in told if point is not None]
    wrong = []
    if broken is not None:
        wrong = [
            f"{signs.broken} {series.broken} {_say('nan or inf, first', 'nan 或 inf，首个')} @{short(broken.step)}"
        ]
    name = f"{sign} {printable(one.label.replace(chr(9), ' '), 60)}"
    forms = ([name, *full, *wrong], [name, full[0], *brief[1:], *wrong] if full else [name, *wrong])
    texts = ["  ".join(words) for words in (*forms, [name, *brief, *wrong])]
    return next((text for text in texts if cell_len(text) <= width), texts[-1])


def _place(point: Point) -> str:
    return f"{short(point.value, 4)} @{short(point.step)}"


def _bottom(shown: Sequence[Drawn], frame: _Frame, cursor: float | None, width: int) -> str:
    """The first and the last step, and between them the values at the cursor."""
    left, right = short(frame.left), short(frame.right)
    middle = "" if cursor is None else _at(shown, cursor)
    room = width - LABEL_CELLS - 1 - len(left) - len(right) - 2
    middle = set_cell_size(middle, min(cell_len(middle), max(0, room)))
    spare = max(0, room - cell_len(middle))
    return " " * (LABEL_CELLS + 1) + left + " " * (spare // 2 + 1) + middle + " " * (spare - spare // 2 + 1) + right


def _at(shown: Sequence[Drawn], cursor: float) -> str:
    step = f"{_say('step', '步')} {short(cursor)}"
    if len(shown) == 1:
        point = shown[0].series.at(cursor)
        return f"{step}: {short(point.value) if point is not None else '-'}"
    both = align(shown[0].series, shown[1].series, cursor)
    values = [short(value) if value is not None else "-" for value in (both.first, both.second)]
    difference = f"  {both.difference:+.4g}" if both.difference is not None else ""
    return f"{step}: {values[0]} | {values[1]}{difference}"


def _filled(lines: Iterable[str], width: int, height: int) -> list[str]:
    rows = [set_cell_size(line, max(0, width)) for line in lines][: max(0, height)]
    return rows + [" " * max(0, width)] * (height - len(rows))


def _say(english: str, chinese: str) -> str:
    return chinese if language() == "zh" else english
