"""What a table shows of its data: which rows in which order, as lines, some of which are heads of groups."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from mswb.ui.widgets.table.coded import Rows, is_array
from mswb.ui.widgets.table.data import TableData
from mswb.ui.widgets.table.grouping import Group, TooManyGroupsError


@dataclass(frozen=True, slots=True)
class Shape:
    """What the user asks for. ``sort`` and ``group`` are column keys; ``folded`` are values of the group column."""

    sort: str | None = None
    reverse: bool = False
    filter: str = ""
    group: str | None = None
    folded: frozenset[Any] = frozenset()

    @property
    def plain(self) -> bool:
        """Whether the rows are shown as they are, so that nothing is to be worked out."""
        return self.sort is None and self.group is None and not self.filter.strip()


@dataclass(frozen=True, slots=True)
class View:
    """Data in a shape.

    ``rows`` are the data rows shown (folded ones too), in order; ``tops`` has the line of each group's head.
    ``problem`` says what of the shape could not be done.
    """

    data: TableData
    shape: Shape
    rows: Rows
    groups: tuple[Group, ...] = ()
    tops: tuple[int, ...] = ()
    height: int = 0
    problem: str = ""

    def at(self, line: int) -> int | Group:
        """The data row of a line, or the group whose head it is."""
        if not self.groups:
            return int(self.rows[line])
        index = bisect_right(self.tops, line) - 1
        group, offset = self.groups[index], line - self.tops[index]
        return int(self.rows[group.start + offset - 1]) if offset else group

    def line_of(self, row: int) -> int | None:
        """The line of a data row, or of the head of its folded group; None when it is filtered away."""
        place = _find(self.rows, row)
        if place is None or not self.groups:
            return place
        index = bisect_right(self.groups, place, key=_start) - 1
        group = self.groups[index]
        return self.tops[index] if self.is_folded(group) else self.tops[index] + 1 + place - group.start

    def line_of_group(self, value: Any) -> int | None:
        """The line of the head of the group of this value."""
        lines = (top for group, top in zip(self.groups, self.tops, strict=True) if group.value == value)
        return next(lines, None)

    def rows_of(self, group: Group) -> Rows:
        """The data rows of a group."""
        return self.rows[group.start : group.start + group.count]

    def is_folded(self, group: Group) -> bool:
        """Whether only the head of a group is shown."""
        return group.value in self.shape.folded

    def fold(self, folded: frozenset[Any]) -> View:
        """The same with other groups folded; at once, whatever the size."""
        return _lined(replace(self, shape=replace(self.shape, folded=folded)))


def build(data: TableData, shape: Shape, cancelled: Callable[[], bool] = lambda: False) -> View:
    """Bring data into a shape; with many rows this takes some tenths of a second, so call it in a thread."""
    query = data.query(shape.filter)
    rows, problem = data.filter(shape.filter, cancelled), query.problem
    if shape.sort is not None and not cancelled():
        rows = data.sort(shape.sort, shape.reverse, rows)
    groups: list[Group] = []
    if shape.group is not None and not cancelled():
        try:
            rows, groups = data.group(shape.group, rows, shape.sort, shape.reverse)
        except TooManyGroupsError as many:
            problem = f"{data.column(shape.group).title}: {many.args[0]:,} groups are too many"
    return _lined(View(data, shape, rows, tuple(groups), problem=problem))


def _lined(view: View) -> View:
    if not view.groups:
        return replace(view, height=len(view.rows))
    heights = (1 if view.is_folded(group) else 1 + group.count for group in view.groups)
    *tops, height = accumulate(heights, initial=0)
    return replace(view, tops=tuple(tops), height=height)


def _start(group: Group) -> int:
    return group.start


def _find(rows: Rows, row: int) -> int | None:
    if is_array(rows):
        found = (rows == row).nonzero()[0]
        return int(found[0]) if len(found) else None
    try:
        return int(rows.index(row))
    except ValueError:
        return None
