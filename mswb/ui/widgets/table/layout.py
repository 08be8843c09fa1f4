"""Where the columns of a table stand, in terminal cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from rich.cells import cell_len

from mswb.ui.widgets.table.coded import is_array
from mswb.ui.widgets.table.data import Column, TableData
from mswb.ui.widgets.table.text import safe
from mswb.ui.widgets.table.view import View

GUTTER = 2
"""Cells before the first column: the sign of the cursor or a mark, and a blank."""
_SAMPLE = 100
_WHOLE = 5_000
"""Rows up to which the longest text is looked for among all."""
_NARROW = 16
_WIDEST = 40
"""Cells that a text column is narrowed to while columns still fit, and has when they don't."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A column on the line that would hold all columns; ``x`` counts from the left edge of the table."""

    column: Column
    x: int
    width: int

    @property
    def end(self) -> int:
        """The first cell behind it."""
        return self.x + self.width


@dataclass(frozen=True, slots=True)
class Layout:
    """``fixed`` cells at the left never scroll: the gutter and the first column."""

    slots: tuple[Slot, ...] = ()
    fixed: int = GUTTER
    total: int = GUTTER

    def seen(self, scroll: int, width: int) -> tuple[Slot, ...]:
        """The columns that show, at least in part, when the others are scrolled by so many cells."""
        return tuple(
            slot
            for index, slot in enumerate(self.slots)
            if index == 0 or (slot.end > self.fixed + scroll and slot.x < scroll + width)
        )


def natural_widths(data: TableData) -> dict[str, int]:
    """For each column the cells its values need, as far as a sample of them tells; 0 for one that is left out."""
    return {column.key: 0 if _says_nothing(column, data) else _natural(column, data) for column in data.columns}


def _says_nothing(column: Column, data: TableData) -> bool:
    if not column.optional:
        return False
    values = data.arrays[column.key]
    if isinstance(values, list):
        return not any(values)
    return not any(data.value(row, column.key) for row in range(len(data)))


def sum_widths(view: View) -> dict[str, int]:
    """For each summed column of free width the cells that the sums of groups need."""
    summed = [column for column in view.data.columns if column.summed and column.width is None]
    groups = view.groups[:_SAMPLE]
    return {c.key: max(cell_len(safe(c.text(group.sums[c.key]))) for group in groups) for c in summed}


def place(columns: Sequence[Column], wanted: Mapping[str, int], width: int, terminal: int) -> Layout:
    """Lay the columns out in ``width`` cells of a terminal of ``terminal`` cells.

    Long text columns give way first; where even that is not enough, the line is longer than the table and scrolls.
    """
    shown = [column for column in columns if terminal >= column.hide_below and wanted.get(column.key, 1)]
    widths = {column.key: wanted.get(column.key, 1) for column in shown}
    gap = 2 if GUTTER + sum(widths.values()) + 2 * len(shown) <= width + 2 else 1
    room = width - GUTTER - gap * (len(shown) - 1)
    soft = [column.key for column in shown if column.width is None and not column.numeric]
    return _slots(shown, _fitted(widths, soft, room), gap)


def _fitted(widths: dict[str, int], soft: list[str], room: int) -> dict[str, int]:
    least = {key: min(width, _NARROW) if key in soft else width for key, width in widths.items()}
    if sum(least.values()) > room:
        return {key: min(width, _WIDEST) if key in soft else width for key, width in widths.items()}
    fitted = dict(widths)
    while sum(fitted.values()) > room:
        widest = max((key for key in soft if fitted[key] > least[key]), key=fitted.__getitem__)
        fitted[widest] -= 1
    return fitted


def _slots(columns: Sequence[Column], widths: Mapping[str, int], gap: int) -> Layout:
    slots, x = [], GUTTER
    for column in columns:
        slots.append(Slot(column, x, widths[column.key]))
        x += widths[column.key] + gap
    fixed = slots[0].end + gap if slots else GUTTER
    return Layout(tuple(slots), fixed, slots[-1].end if slots else GUTTER)


def _natural(column: Column, data: TableData) -> int:
    if column.width is not None:
        return column.width
    head = cell_len(safe(column.title)) + 1  # room for the arrow
    values = data.arrays[column.key]
    count = len(data)
    step = max(1, count // _SAMPLE)
    rows = chain(range(min(count, _SAMPLE)), range(0, count, step))
    widest = max((cell_len(safe(column.text(data.value(row, column.key)))) for row in rows), default=0)
    if not column.numeric and column.show is None and count <= _WHOLE and not is_array(values):
        texts = [value for value in values if isinstance(value, str)]
        widest = max(widest, cell_len(safe(max(texts, key=len, default=""))))
    return max(head, widest)
