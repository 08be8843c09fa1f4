"""Rows of a table as text for the clipboard."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mswb.ui.widgets.table.data import Column, TableData
from mswb.ui.widgets.table.text import safe


def as_text(data: TableData, columns: Sequence[Column], rows: Iterable[int]) -> str:
    """The titles and the rows as they are drawn, with tabs between cells."""
    lines = [[column.title for column in columns]]
    lines += [[column.text(data.value(row, column.key)) for column in columns] for row in rows]
    return "\n".join("\t".join(safe(cell) for cell in line) for line in lines)
