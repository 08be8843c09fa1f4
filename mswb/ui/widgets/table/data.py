"""The data of a table, without a screen: columns over arrays of one length, sorted, filtered and grouped by row number.

Nothing is copied. What an operation needs of a column (its words, its order) is made once and kept with the data.
Small tables work on lists; numpy is loaded only where a column is an array or there are very many rows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from mswb.ui.widgets.table.coded import Coded, Rows, code, is_array, word_ranks
from mswb.ui.widgets.table.grouping import Group, grouped
from mswb.ui.widgets.table.order import sorted_rows
from mswb.ui.widgets.table.query import Query, matching, parse
from mswb.ui.widgets.table.signs import place_of, sign_text, style_of
from mswb.ui.widgets.table.units import NUMERIC, UNKNOWN, Kind, draw, is_missing

Align = Literal["left", "right"]
Cut = Literal["end", "start", "path"]
Arrays = Mapping[str, Sequence[Any] | Any]
"""For each column key its values: a list, a numpy array, a :class:`Coded`, or any other sequence."""
MANY = 50_000
"""Rows from which on work is done with numpy, whatever the columns are."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    Args:
        key: the name of its array.
        title: the head, in the user's language. Text without a column's name is not looked for where it is "".
        width: terminal cells; None: as wide as the values need.
        align: numbers stand right unless told otherwise.
        style: the theme variable of a value's colour ("error", "text-muted"; "" for none). It and ``show`` are
            not asked about None, ``show`` not about NaN.
        show: the text of a value where its kind does not say it.
        hide_below: hidden in terminals narrower than so many cells.
        cut: which end of a text that does not fit is left out; ``path``: the start where there are folders in it.
        total: whether sums of it make sense (not of a rank, a step or a pid).
        optional: left out until one of its values says something.
    """

    key: str
    title: str
    kind: Kind = "text"
    width: int | None = None
    align: Align | None = None
    style: Callable[[Any], str] | None = None
    show: Callable[[Any], str] | None = None
    hide_below: int = 0
    cut: Cut = "end"
    total: bool = True
    optional: bool = False

    @property
    def numeric(self) -> bool:
        """Whether its values are numbers."""
        return self.kind in NUMERIC

    @property
    def right(self) -> bool:
        """Whether it stands at the right."""
        return self.align == "right" if self.align else self.numeric and self.kind != "time"

    @property
    def summed(self) -> bool:
        """Whether groups show its sum."""
        return self.total and self.kind in ("number", "bytes", "seconds")

    def text(self, value: Any) -> str:
        """What is drawn for a value; it may still hold control characters."""
        if value is None:
            return UNKNOWN
        if self.show is not None and not is_missing(value):
            return self.show(value)
        return sign_text(value) if self.kind == "severity" and isinstance(value, str) else draw(self.kind, value)

    def style_of(self, value: Any) -> str:
        """The name of the theme variable a value is drawn in; "" for the usual colour."""
        if value is None:
            return "text-muted"
        style = self.style(value) if self.style else style_of(value) if self.kind == "severity" else ""
        return style.removeprefix("$")


class TableData:
    """Columns over arrays; arrays without a column are kept for their owner (names of the rows, for one).

    Raises:
        ValueError: an array is missing, or the arrays differ in length.
    """

    def __init__(self, columns: Sequence[Column], arrays: Arrays) -> None:
        self.columns = tuple(columns)
        self.arrays = dict(arrays)
        self.length = _length(self.columns, self.arrays)
        self.fast = self.length > MANY or any(map(_has_arrays, self.arrays.values()))
        self._by_key = {column.key: column for column in self.columns}
        self._coded: dict[str, Coded] = {}
        self._keys: dict[str, Any] = {}

    def __len__(self) -> int:
        return self.length

    def column(self, key: str) -> Column:
        """The column of this key."""
        return self._by_key[key]

    def value(self, row: int, key: str) -> Any:
        """A value as Python knows it (numbers of arrays become int or float)."""
        value = self.arrays[key][row]
        return value.item() if hasattr(value, "item") else value

    def find(self, key: str, value: Any) -> int | None:
        """The first row with this value in a column."""
        values = self.arrays[key]
        if is_array(values):
            found = (values == value).nonzero()[0]
            return int(found[0]) if len(found) else None
        try:
            return int(values.index(value))
        except ValueError:
            return None

    def find_all(self, key: str, wanted: Collection[Any]) -> tuple[int, ...]:
        """All rows whose value in a column is one of ``wanted``, in their order."""
        if not wanted:
            return ()
        values: Any = self.arrays[key]
        listed = values.tolist() if is_array(values) else values
        return tuple(row for row, value in enumerate(listed) if value in wanted)

    def every(self) -> Rows:
        """All rows in their own order."""
        return range(self.length)

    def coded(self, key: str) -> Coded:
        """A text column by its words."""
        values = self.arrays[key]
        if isinstance(values, Coded):
            return values
        if key not in self._coded:
            self._coded[key] = code(values, self.fast)
        return self._coded[key]

    def keys(self, key: str) -> Any:
        """What a column is sorted by: a number for each row, None or NaN for unknown."""
        if key not in self._keys:
            column = self._by_key[key]
            self._keys[key] = _numbers(self.arrays[key], self.fast) if column.numeric else self._ranks(column)
        return self._keys[key]

    def sort(self, key: str, reverse: bool = False, rows: Rows | None = None) -> Rows:
        """Rows (all unless given) by a column: stable, unknown values last in both directions, text in natural order.

        A million rows take some tenths of a second the first time.
        """
        return sorted_rows(self.keys(key), self.every() if rows is None else rows, reverse)

    def query(self, text: str) -> Query:
        """What a filter text asks of these columns; see :mod:`mswb.ui.widgets.table.query`."""
        return parse(text, self.columns)

    def filter(self, text: str, cancelled: Callable[[], bool] = lambda: False) -> Rows:
        """The rows that match a filter text, in their own order."""
        return matching(self.query(text), self, cancelled)

    def group(self, key: str, rows: Rows, sort: str | None = None, reverse: bool = False) -> tuple[Rows, list[Group]]:
        """``rows`` brought together by their value in a column, and the groups, in order."""
        return grouped(self, key, rows, sort, reverse)

    def _ranks(self, column: Column) -> Any:
        coded = self.coded(column.key)
        ranks = word_ranks(coded.words, place_of if column.kind == "severity" else None)
        if not self.fast:
            return [None if rank < 0 else rank for rank in coded.spread(ranks, -1)]
        import numpy as np

        spread = np.asarray(coded.spread(ranks, np.int32(-1)))
        return np.where(spread < 0, np.nan, spread) if (spread < 0).any() else spread


def _length(columns: Sequence[Column], arrays: Arrays) -> int:
    lengths = {key: len(values) for key, values in arrays.items()}
    missing = [column.key for column in columns if column.key not in arrays]
    if missing or len(set(lengths.values())) > 1:
        raise ValueError(f"a table needs an array of one length for each column; missing {missing}, lengths {lengths}")
    return next(iter(lengths.values()), 0)


def _has_arrays(values: Any) -> bool:
    return is_array(values) or (isinstance(values, Coded) and is_array(values.codes))


def _numbers(values: Any, arrays: bool) -> Any:
    if not arrays:
        return [_number(value) for value in values]
    import numpy as np

    if is_array(values) and values.dtype.kind in "iuf":
        return values
    try:
        array = np.asarray(values)
    except ValueError:
        array = np.empty(0, object)
    if array.dtype.kind in "iufb":
        return array
    return np.fromiter((np.nan if (n := _number(value)) is None else n for value in values), np.float64, len(values))


def _number(value: Any) -> Any:
    try:
        return None if value is None or value != value or float(value) != float(value) else value + 0
    except (TypeError, ValueError):
        return None
