"""The lines of a table as data: pieces of text with the name of a style each. Two equal lines look the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rich.cells import cell_len

from mswb.ui.glyphs import glyph
from mswb.ui.widgets.table.data import TableData
from mswb.ui.widgets.table.grouping import Group
from mswb.ui.widgets.table.layout import GUTTER, Layout, Slot
from mswb.ui.widgets.table.text import fit, safe

State = Literal["row", "marked", "group", "cursor", "idle-cursor", "head", "empty"]


@dataclass(frozen=True, slots=True)
class Piece:
    """Text at a place of the line that holds all columns; ``style`` is a theme variable or a state, "" for none."""

    x: int
    text: str
    style: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """One line. Pieces with ``x`` below the layout's ``fixed`` don't scroll."""

    state: State
    pieces: tuple[Piece, ...]


def row_line(data: TableData, row: int, slots: Sequence[Slot], state: State, marked: bool) -> Line:
    """The line of a data row."""
    return Line(state, (_gutter(state, marked), *(_cell(data, row, slot) for slot in slots)))


def group_line(group: Group, key: str, data: TableData, layout: Layout, state: State, folded: bool) -> Line:
    """The head of a group: its value and count, and the sums of number columns under their heads."""
    sign = glyph("fold") if folded else glyph("unfold")
    label = f"{sign} {safe(data.column(key).text(group.value))} ({group.count:,})"
    summed = [slot for slot in layout.slots[1:] if slot.column.summed and slot.column.key != key]
    room = (summed[0].x if summed else layout.total) - GUTTER - 1
    sums = (
        Piece(slot.x, fit(safe(slot.column.text(group.sums[slot.column.key])), slot.width, slot.column.right))
        for slot in summed
    )
    return Line(state, (_gutter(state, False), Piece(GUTTER, fit(label, max(1, room))), *sums))


def head_line(slots: Sequence[Slot], sort: str | None, reverse: bool, cursor: str | None) -> Line:
    """The titles, with the arrow of the sort column; ``cursor`` is the column under the column cursor."""
    pieces = [Piece(0, " " * GUTTER)]
    for slot in slots:
        column = slot.column
        arrow = glyph("down" if reverse else "up") if column.key == sort else ""
        title = fit(safe(column.title), min(cell_len(safe(column.title)), slot.width - cell_len(arrow))) + arrow
        style = "head-cursor" if column.key == cursor else ""
        pieces.append(Piece(slot.x, fit(title, slot.width, column.right), style))
    return Line("head", tuple(pieces))


def empty_line(text: str, width: int) -> Line:
    """A line for a table without rows."""
    return Line("empty", (Piece(0, fit(" " * GUTTER + safe(text), max(1, width))),))


def _gutter(state: State, marked: bool) -> Piece:
    if marked:
        return Piece(0, fit(glyph("mark"), GUTTER), "mark")
    return Piece(0, fit(glyph("cursor") if state in ("cursor", "idle-cursor") else "", GUTTER))


def _cell(data: TableData, row: int, slot: Slot) -> Piece:
    column = slot.column
    value = data.value(row, column.key)
    return Piece(slot.x, fit(safe(column.text(value)), slot.width, column.right, column.cut), column.style_of(value))
