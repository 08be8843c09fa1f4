"""Samples as a source gives them and as a cache holds them: one numpy array a column, in a schema."""

from __future__ import annotations

from typing import Any, List, Sequence, Tuple

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


def schema_of(names: Sequence[str], rows: Sequence[Row], varied: bool = False) -> Tuple[Column, ...]:
    """The columns that hold some rows: a shape is fixed where all have the same, unless ``varied``.

    Raises:
        ValueError: rows have different dtypes.
    """
    return tuple(_column(name, [row[index] for row in rows], varied) for index, name in enumerate(names))


def _column(name: str, arrays: "List[np.ndarray[Any, Any]]", varied: bool) -> Column:
    first = arrays[0]
    if first.dtype.kind in "SU" and all(array.ndim == 0 for array in arrays):
        return Column(name, "bytes" if first.dtype.kind == "S" else "str", None)
    dtypes = {array.dtype.str for array in arrays}
    if len(dtypes) > 1:
        raise ValueError(f"column {name!r} changes its dtype from sample to sample ({', '.join(sorted(dtypes))})")
    same = not varied and all(array.shape == first.shape for array in arrays)
    return Column(name, first.dtype.str, first.shape if same else None)


def fits(schema: Sequence[Column], row: Row) -> bool:
    """Whether the columns can hold a row."""
    for column, array in zip(schema, row):
        if column.dtype in ("bytes", "str"):
            if array.ndim or array.dtype.kind != ("S" if column.dtype == "bytes" else "U"):
                return False
        elif array.dtype.str != column.dtype or (column.shape is not None and array.shape != column.shape):
            return False
    return len(row) == len(schema)


def describe(row: Row) -> str:
    """Dtype and shape of each column, for messages."""
    return ", ".join(f"{array.dtype}{list(array.shape)}" for array in row)


def to_store(schema: Sequence[Column], row: Row) -> List[Any]:
    """What the store takes: arrays, and the bytes or text of a column of these."""
    return [_plain(column.dtype, array) for column, array in zip(schema, row)]


def _plain(dtype: str, array: "np.ndarray[Any, Any]") -> Any:
    if dtype == "bytes":
        return array.tobytes()
    return array.item() if dtype == "str" else array


def from_store(schema: Sequence[Column], values: Sequence[Any]) -> Row:
    """The arrays again. Trailing zero bytes, which numpy drops from texts, are kept."""
    return tuple(value if isinstance(value, np.ndarray) else _scalar(value) for value, column in zip(values, schema))


def _scalar(value: Any) -> "np.ndarray[Any, Any]":
    if isinstance(value, bytes) and value:
        return np.frombuffer(value, dtype=f"S{len(value)}").reshape(())
    return np.array(value)


def size_of(row: Row) -> int:
    """Bytes of its arrays."""
    return sum(array.nbytes for array in row)


def changed_dtype(schema: Sequence[Column], row: Row) -> str:
    """Which columns of a row have another dtype than the schema; shapes may differ from row to row."""
    kinds = {"bytes": "S", "str": "U"}
    wrong = [
        f"{column.name!r} is {column.dtype} in the cache and {describe((array,))} now"
        for column, array in zip(schema, row)
        if (array.dtype.kind != kinds[column.dtype] if column.dtype in kinds else array.dtype.str != column.dtype)
    ]
    return "; ".join(wrong)
