"""Rows brought together by their value in a column, with the count and the sums of each group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any

from mswb.ui.widgets.table.coded import Rows, is_array
from mswb.ui.widgets.table.units import is_missing

if TYPE_CHECKING:
    from mswb.ui.widgets.table.data import TableData

MOST_GROUPS = 10_000
"""More groups help nobody; grouping by such a column is refused."""


class TooManyGroupsError(ValueError):
    """The column has too many different values to group by; ``args[0]`` says how many."""


@dataclass(frozen=True, slots=True)
class Group:
    """Some rows that share a value. ``start`` is the place of the first among all grouped rows.

    ``sums`` has the columns whose sum makes sense; None where no value is known.
    """

    value: Any
    start: int
    count: int
    sums: Mapping[str, Any]


def grouped(data: TableData, key: str, rows: Rows, sort: str | None, reverse: bool) -> tuple[Rows, list[Group]]:
    """Bring ``rows`` together by a column; inside a group they keep their order.

    The groups are in the order of their value (reversed when the table is sorted so by this very column), or by their
    sum where the table is sorted by a column that has one.

    Raises:
        TooManyGroupsError: there are more than MOST_GROUPS.
    """
    ordered = data.sort(key, reverse and sort == key, rows)
    parts = _parts(data.keys(key), ordered)
    if len(parts) > MOST_GROUPS:
        raise TooManyGroupsError(len(parts))
    groups = _groups(data, key, ordered, parts)
    if sort is None or sort == key or not data.column(sort).summed:
        return ordered, groups
    return _by_sum(ordered, groups, sort, reverse)


def _parts(keys: Any, rows: Rows) -> list[tuple[int, int]]:
    """Start and count of each run of equal keys; unknown ones are one run."""
    if not len(rows):
        return []
    if is_array(keys):
        import numpy as np

        taken = keys[rows]
        changed = (taken[1:] != taken[:-1]) & ~((taken[1:] != taken[1:]) & (taken[:-1] != taken[:-1]))
        edges = [0, *(np.flatnonzero(changed) + 1).tolist(), len(rows)]
        return [(start, stop - start) for start, stop in pairwise(edges)]
    parts, start = [], 0
    for _, run in groupby(rows, lambda row: None if is_missing(keys[row]) else keys[row]):
        count = sum(1 for _ in run)
        parts.append((start, count))
        start += count
    return parts


def _groups(data: TableData, key: str, rows: Rows, parts: list[tuple[int, int]]) -> list[Group]:
    sums = {column.key: _sums(data.keys(column.key), rows, parts) for column in data.columns if column.summed}
    return [
        Group(_value(data, rows[start], key), start, count, {name: values[index] for name, values in sums.items()})
        for index, (start, count) in enumerate(parts)
    ]


def _value(data: TableData, row: int, key: str) -> Any:
    value = data.value(row, key)
    return None if is_missing(value) else value  # NaN equals nothing, not even itself


def _sums(keys: Any, rows: Rows, parts: list[tuple[int, int]]) -> list[Any]:
    if is_array(keys):
        import numpy as np

        taken = keys[rows]
        known = ~np.isnan(taken) if taken.dtype.kind == "f" else np.ones(len(taken), bool)
        starts = [start for start, _ in parts]
        if not starts:
            return []
        wide = np.float64 if taken.dtype.kind == "f" else np.int64
        totals = np.add.reduceat(np.where(known, taken, 0), starts, dtype=wide).tolist()
        counts = np.add.reduceat(known.astype(np.int64), starts).tolist()
        return [total if count else None for total, count in zip(totals, counts, strict=True)]
    return [_sum([keys[row] for row in rows[start : start + count]]) for start, count in parts]


def _sum(values: list[Any]) -> Any:
    known = [value for value in values if not is_missing(value)]
    return sum(known) if known else None


def _by_sum(rows: Rows, groups: list[Group], sort: str, reverse: bool) -> tuple[Rows, list[Group]]:
    known = [group for group in groups if not is_missing(group.sums[sort])]
    unknown = [group for group in groups if is_missing(group.sums[sort])]
    known.sort(key=lambda group: group.sums[sort], reverse=reverse)
    moved: list[Group] = []
    pieces = []
    start = 0
    for group in known + unknown:
        pieces.append(rows[group.start : group.start + group.count])
        moved.append(Group(group.value, start, group.count, group.sums))
        start += group.count
    return _joined(pieces), moved


def _joined(pieces: list[Any]) -> Rows:
    if pieces and is_array(pieces[0]):
        import numpy as np

        return np.concatenate(pieces)
    return [row for piece in pieces for row in piece]
