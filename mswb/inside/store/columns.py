"""The columns of a cache, and how the values of one sample lie in a payload.

Where every column has a dtype and a shape, the payload is their bytes, each begun at a multiple of 64. Else a table
comes first: for each column the length in bytes u64 and the number of dimensions u64, then the dimensions u64 each
(none for ``bytes`` and ``str``); the first column begins at the next multiple of 64. So a view is always aligned.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from typing import Any, List, Optional, Sequence, Tuple, Union

import numpy as np

GRID = 64
MAX_NDIM = 32
MAX_COLUMNS = 4096
_PAIR = struct.Struct("<QQ")
_DTYPE = re.compile(r"[<>|][biufcSUmM]\d{1,9}(\[\d{0,9}[A-Za-z]{1,2}\])?$")
VALUE_KINDS = ("bytes", "str")

Value = Union["np.ndarray[Any, Any]", bytes, str]


@dataclass(frozen=True)
class Column:
    """One column.

    Attributes:
        dtype: a numpy dtype string with its byte order (``<f4``, ``|u1``), or ``bytes`` or ``str``.
        shape: None when it differs from sample to sample; of no meaning for ``bytes`` and ``str``.
    """

    name: str
    dtype: str
    shape: Optional[Tuple[int, ...]]

    @property
    def is_plain(self) -> bool:
        """Whether its values are ``bytes`` or ``str``, not arrays."""
        return self.dtype in VALUE_KINDS

    @property
    def is_fixed(self) -> bool:
        """Whether every sample takes the same bytes."""
        return not self.is_plain and self.shape is not None


def columns_to_json(columns: Sequence[Column]) -> List[Any]:
    """Columns as headers and manifests hold them."""
    return [[column.name, column.dtype, None if column.shape is None else list(column.shape)] for column in columns]


def columns_from_json(content: Any) -> Tuple[Column, ...]:
    """Columns from a header or a manifest.

    Raises:
        ValueError: it is no list of columns, or a dtype is none that arrays of numbers and texts have.
    """
    if not isinstance(content, list) or not 1 <= len(content) <= MAX_COLUMNS:
        raise ValueError("it names no columns")
    return checked_columns([_column(entry) for entry in content])


def checked_columns(columns: Sequence[Column]) -> Tuple[Column, ...]:
    """The columns, when a cache can hold them: names that differ, dtypes without objects, sizes that exist.

    Raises:
        ValueError: it can't.
    """
    if not columns or len({column.name for column in columns}) != len(columns):
        raise ValueError("columns need names that differ")
    for column in columns:
        if column.is_plain:
            continue
        if not _DTYPE.match(column.dtype):
            raise ValueError("column %.60r has the dtype %.40r, which a cache can't hold" % (column.name, column.dtype))
        try:
            size = np.dtype(column.dtype).itemsize
        except TypeError:
            raise ValueError("column %.60r has the unknown dtype %.40r" % (column.name, column.dtype)) from None
        _elements(column.shape or (), size)
    return tuple(columns)


def _column(entry: Any) -> Column:
    if not isinstance(entry, list) or len(entry) != 3:
        raise ValueError("a column is not name, dtype and shape")
    name, dtype, shape = entry
    if not isinstance(name, str) or not isinstance(dtype, str) or not isinstance(shape, (list, type(None))):
        raise ValueError("a column is not name, dtype and shape")
    if shape is not None and not all(type(size) is int and size >= 0 for size in shape):
        raise ValueError("the shape of column %.60r can't be true" % name)
    return Column(name, dtype, None if shape is None else tuple(shape))


def _elements(shape: Tuple[int, ...], item: int) -> int:
    """Bytes of an array; bounded, since a hostile shape must not become a huge number or array."""
    if len(shape) > MAX_NDIM:
        raise ValueError("%d dimensions" % len(shape))
    total = item
    for size in shape:
        total *= size
    # A dimension of none makes any other one cost nothing, but an array can't have it all the same.
    if total > 1 << 62 or max(shape, default=0) > 1 << 62:
        raise ValueError("a shape of %s" % (shape,))
    return total


class Codec:
    """Puts the values of a sample into a buffer, and makes views of them again."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self.columns = checked_columns(columns)
        self._dtypes = [None if column.is_plain else np.dtype(column.dtype) for column in self.columns]
        self.fixed_length: Optional[int] = None
        """Bytes of every payload, when all columns are fixed."""
        self.fixed: List[Tuple[Tuple[int, ...], "np.dtype[Any]", int]] = []
        """Shape, dtype and offset in the payload of each column, when all are fixed."""
        if all(column.is_fixed for column in self.columns):
            end = 0
            for column, dtype in zip(self.columns, self._dtypes):
                assert dtype is not None and column.shape is not None
                start = -(-end // GRID) * GRID
                self.fixed.append((column.shape, dtype, start))
                end = start + _elements(column.shape, dtype.itemsize)
            self.fixed_length = end

    def prepared(self, values: Sequence[Value]) -> Tuple[List[Tuple[int, Any]], int]:
        """Where each piece goes in the payload, and the payload's length.

        Raises:
            ValueError: a value is not what its column says.
        """
        if len(values) != len(self.columns):
            raise ValueError("a sample has %d values for %d columns" % (len(values), len(self.columns)))
        if self.fixed_length is not None:
            ready: List[Tuple[int, Any]] = []
            for value, (shape, dtype, start) in zip(values, self.fixed):
                if not isinstance(value, np.ndarray) or value.shape != shape or value.dtype != dtype:
                    raise ValueError(_mismatch(self.columns[len(ready)], value))
                ready.append((start, value))
            return ready, self.fixed_length
        pieces = [self._piece(index, value) for index, value in enumerate(values)]
        table = b"".join(
            _PAIR.pack(nbytes, len(shape)) + struct.pack("<%dQ" % len(shape), *shape) for _, nbytes, shape in pieces
        )
        placed: List[Tuple[int, Any]] = [(0, table)]
        end = len(table)
        for content, nbytes, _ in pieces:
            start = -(-end // GRID) * GRID
            placed.append((start, content))
            end = start + nbytes
        return placed, end

    def _piece(self, index: int, value: Value) -> Tuple[Any, int, Tuple[int, ...]]:
        column, dtype = self.columns[index], self._dtypes[index]
        if dtype is None:
            if isinstance(value, str) and column.dtype == "str":
                value = value.encode("utf-8", "surrogatepass")
            elif not isinstance(value, bytes) or column.dtype != "bytes":
                raise ValueError(_mismatch(column, value))
            return value, len(value), ()
        if not isinstance(value, np.ndarray) or value.dtype != dtype or value.ndim > MAX_NDIM:
            raise ValueError(_mismatch(column, value))
        if column.shape is not None and value.shape != column.shape:
            raise ValueError(_mismatch(column, value))
        return value, value.nbytes, value.shape

    def views(self, buffer: Any, start: int, length: int) -> Tuple[Any, ...]:
        """The values of a payload, arrays as views into ``buffer``.

        Raises:
            ValueError: its table does not fit its length.
        """
        if self.fixed_length is not None:
            if length != self.fixed_length:
                raise ValueError("a payload of %d bytes, where the columns take %d" % (length, self.fixed_length))
            return tuple([np.ndarray(shape, dtype, buffer, start + at) for shape, dtype, at in self.fixed])
        values: List[Any] = []
        shapes, end = self._table(buffer, start, length)
        for (nbytes, shape), dtype, column in zip(shapes, self._dtypes, self.columns):
            begin = -(-end // GRID) * GRID
            end = begin + nbytes
            if end > length:
                raise ValueError("column %.60r passes the end of its record" % column.name)
            if dtype is not None:
                values.append(np.ndarray(shape, dtype, buffer, start + begin))
            else:
                raw = bytes(memoryview(buffer)[start + begin : start + end])
                values.append(raw.decode("utf-8", "surrogatepass") if column.dtype == "str" else raw)
        if end != length:
            raise ValueError("its columns take %d bytes of %d" % (end, length))
        return tuple(values)

    def _table(self, buffer: Any, start: int, length: int) -> Tuple[List[Tuple[int, Tuple[int, ...]]], int]:
        found, at = [], 0
        for column, dtype in zip(self.columns, self._dtypes):
            if at + _PAIR.size > length:
                raise ValueError("its table of columns passes the end of the record")
            nbytes, ndim = _PAIR.unpack_from(buffer, start + at)
            at += _PAIR.size
            if ndim > MAX_NDIM or at + 8 * ndim > length:
                raise ValueError("column %.60r has %d dimensions" % (column.name, ndim))
            shape = struct.unpack_from("<%dQ" % ndim, buffer, start + at)
            at += 8 * ndim
            if dtype is not None and _elements(shape, dtype.itemsize) != nbytes:
                raise ValueError("column %.60r has %d bytes for the shape %s" % (column.name, nbytes, shape))
            if column.is_fixed and shape != column.shape:
                raise ValueError("column %.60r has the shape %s, not %s" % (column.name, shape, column.shape))
            found.append((nbytes, shape))
        return found, at


def _mismatch(column: Column, value: Any) -> str:
    got = "%s %s" % (value.dtype.str, value.shape) if isinstance(value, np.ndarray) else type(value).__name__
    want = (
        column.dtype
        if column.is_plain
        else "%s %s" % (column.dtype, "any shape" if column.shape is None else column.shape)
    )
    return "column %.60r takes %s, and a value is %s" % (column.name, want, got)
