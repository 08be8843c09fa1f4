"""Samples as a source gives them and as a cache holds them: one numpy array a column, in a schema."""

from __future__ import annotations

from typing import Any, List, Mapping, Optional, Sequence, Tuple

import numpy as np

from ..store import Column

Row = Tuple["np.ndarray[Any, Any]", ...]


def row_of(sample: Any, columns: int) -> Row:
    """A sample as arrays: a tuple or list of columns, or the only column itself.

    Raises:
        ValueError: it has another number of columns, or one that is no array, number or text.
    """
    values = list(sample) if isinstance(sample, (tuple, list)) else [sample]
    if len(values) != columns:
        raise ValueError(f"a sample has {len(values)} columns, and {columns} have names")
    return tuple(_array(value) for value in values)


def _array(value: Any) -> "np.ndarray[Any, Any]":
    if not isinstance(value, np.ndarray):
        convert = getattr(value, "asnumpy", None)
        value = np.asarray(convert() if convert is not None else value)
    if value.dtype.hasobject or value.dtype.names:
        raise ValueError(f"a column of dtype {value.dtype} can't be cached: arrays of numbers and texts can")
    array: "np.ndarray[Any, Any]" = value
    return array


class Layout:
    """How the columns of rows lie in a store.

    A text by itself is ``bytes`` or ``str`` there. An array of texts, whose dtype changes with its longest one, is an
    array of their bytes (``S``) or code points (``U``), with a last dimension more.

    Args:
        columns: as the store has them.
        texts: the columns that are arrays of texts, with ``S`` or ``U``.
    """

    def __init__(self, columns: Sequence[Column], texts: Mapping[str, str]) -> None:
        self.columns = tuple(columns)
        self.texts = dict(texts)
        kinds = {"bytes": "S", "str": "U"}
        self._kinds = [kinds.get(column.dtype) or self.texts.get(column.name) for column in self.columns]
        self._any_text = any(self._kinds)

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def names(self) -> List[str]:
        return [column.name for column in self.columns]

    def fits(self, row: Row) -> bool:
        """Whether a row can be stored."""
        return len(row) == len(self.columns) and all(map(self._fits, self.columns, self._kinds, row))

    def _fits(self, column: Column, kind: Optional[str], array: "np.ndarray[Any, Any]") -> bool:
        if kind is not None:
            return array.dtype.kind == kind and (column.dtype not in ("bytes", "str") or not array.ndim)
        return array.dtype.str == column.dtype and (column.shape is None or array.shape == column.shape)

    def changed(self, row: Row) -> str:
        """Which columns of a row have another dtype than the store; shapes may differ from row to row."""
        wrong = [
            f"{column.name!r} is {column.dtype} in the cache and {describe((array,))} now"
            for column, kind, array in zip(self.columns, self._kinds, row)
            if (array.dtype.str != column.dtype if kind is None else array.dtype.kind != kind)
        ]
        return "; ".join(wrong)

    def to_store(self, row: Row) -> List[Any]:
        """What the store takes for a row that fits."""
        return [_stored(column.dtype, kind, array) for column, kind, array in zip(self.columns, self._kinds, row)]

    def from_store(self, values: Sequence[Any]) -> Row:
        """The arrays again, as views where they are none of texts."""
        if not self._any_text:
            return tuple(values)
        return tuple(value if kind is None else _text(kind, value) for kind, value in zip(self._kinds, values))


def layout_of(names: Sequence[str], rows: Sequence[Row], varied: bool = False) -> Layout:
    """The layout for some rows: a shape is fixed where all have the same, unless ``varied``.

    Raises:
        ValueError: rows have different dtypes.
    """
    columns, texts = [], {}
    for index, name in enumerate(names):
        arrays = [row[index] for row in rows]
        columns.append(_column(name, arrays, varied))
        if arrays[0].dtype.kind in _UNITS and columns[-1].dtype not in ("bytes", "str"):
            texts[name] = arrays[0].dtype.kind
    return Layout(columns, texts)


_UNITS = {"S": "|u1", "U": "<u4"}
"""What arrays of texts are stored as."""


def _column(name: str, arrays: "List[np.ndarray[Any, Any]]", varied: bool) -> Column:
    first = arrays[0]
    kind = first.dtype.kind
    if len({array.dtype.kind if kind in _UNITS else array.dtype.str for array in arrays}) > 1:
        dtypes = ", ".join(sorted({array.dtype.str for array in arrays}))
        raise ValueError(f"column {name!r} changes its dtype from sample to sample ({dtypes})")
    if kind in _UNITS:
        alone = all(array.ndim == 0 for array in arrays) and not varied
        return Column(name, {"S": "bytes", "U": "str"}[kind] if alone else _UNITS[kind], None)
    same = not varied and all(array.shape == first.shape for array in arrays)
    return Column(name, first.dtype.str, first.shape if same else None)


def describe(row: Row) -> str:
    """Dtype and shape of each column, for messages."""
    return ", ".join(f"{array.dtype}{list(array.shape)}" for array in row)


def _stored(dtype: str, kind: Optional[str], array: "np.ndarray[Any, Any]") -> Any:
    if kind is None:
        return array
    if dtype == "bytes":
        return array.tobytes()
    if dtype == "str":
        return array.item()
    unit = np.dtype(_UNITS[kind])
    width = array.dtype.itemsize // unit.itemsize
    data = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
    return np.frombuffer(data, unit).reshape((*array.shape, width))


def _text(kind: str, value: Any) -> "np.ndarray[Any, Any]":
    """Texts again. Trailing zero bytes, which numpy drops from a text by itself, are kept."""
    if isinstance(value, np.ndarray):
        width = value.shape[-1]
        if not width:
            return np.zeros(value.shape[:-1], f"{kind}1")
        return np.ascontiguousarray(value).view(f"<U{width}" if kind == "U" else f"S{width}").reshape(value.shape[:-1])
    if isinstance(value, bytes) and value:
        return np.frombuffer(value, dtype=f"S{len(value)}").reshape(())
    return np.array(value)


def size_of(row: Row) -> int:
    """Bytes of its arrays."""
    return sum(array.nbytes for array in row)
