"""Rows to draw as data: which line of which file stands in which row, and which rows are shown.

All rows of a view are cut into chunks of some ten thousand. A chunk joins one range of lines of each file and holds
their order; a set of rows holds one bit a row. Everything here is immutable: one thread makes it, another draws it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Order = npt.NDArray[np.uint32]
Mask = npt.NDArray[np.bool_]

_BLOCK = 512  # bits counted together: one look unpacks so many
_ONES = np.array([bin(byte).count("1") for byte in range(256)], np.uint16)


class Place(NamedTuple):
    """A line: the number of its file in the view, and its own number there, from 0."""

    file: int
    line: int


@dataclass(frozen=True, slots=True)
class Range:
    """Lines ``first`` to ``stop`` (exclusive) of a file."""

    file: int
    first: int
    stop: int

    @property
    def size(self) -> int:
        return self.stop - self.first


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Consecutive rows: the lines of some ranges, at most one of each file, in the order of the files.

    Attributes:
        ends: behind which line, all ranges joined, each range ends.
        order: for each row which line it is, all ranges joined; None: in the order of the ranges.
    """

    ranges: tuple[Range, ...]
    ends: tuple[int, ...]
    order: Order | None = None

    @classmethod
    def of(cls, ranges: Iterable[Range], order: Order | None = None) -> Chunk:
        """A chunk of the ranges that hold lines."""
        full = tuple(one for one in ranges if one.size)
        return cls(full, tuple(accumulate(one.size for one in full)), order)

    @property
    def size(self) -> int:
        return self.ends[-1] if self.ends else 0

    @property
    def nbytes(self) -> int:
        return 0 if self.order is None else self.order.nbytes

    def place(self, row: int) -> Place:
        """The line in a row."""
        joined = row if self.order is None else int(self.order[row])
        number = bisect_right(self.ends, joined)
        before = self.ends[number - 1] if number else 0
        return Place(self.ranges[number].file, self.ranges[number].first + joined - before)

    def row_of(self, place: Place) -> int | None:
        """The row that holds a line; None when this chunk doesn't."""
        number = bisect_left(self.ranges, place.file, key=lambda one: one.file)
        if number == len(self.ranges) or self.ranges[number].file != place.file:
            return None
        one = self.ranges[number]
        if not one.first <= place.line < one.stop:
            return None
        joined = self.ends[number] - one.stop + place.line
        return joined if self.order is None else int(np.flatnonzero(self.order == joined)[0])

    def in_rows(self, masks: Sequence[Mask]) -> Mask:
        """Marks of the lines of each range as marks of rows."""
        joined = np.concatenate([np.zeros(0, np.bool_), *masks])
        rows: Mask = joined if self.order is None else joined[self.order]
        return rows


class Packed:
    """Some rows of a chunk, one bit each, with counts so that the k-th is found by looking at one block."""

    __slots__ = ("_bits", "_counts", "count", "size")

    def __init__(self, mask: Mask) -> None:
        self.size = len(mask)
        self._bits = np.packbits(mask)
        counted = np.add.reduceat(_ONES[self._bits], np.arange(0, max(1, len(self._bits)), _BLOCK // 8)) if (
            self.size
        ) else np.zeros(1, np.uint16)  # fmt: skip
        self._counts = np.concatenate([np.zeros(1, np.uint32), np.cumsum(counted, dtype=np.uint32)])
        self.count = int(self._counts[-1])

    @property
    def nbytes(self) -> int:
        return self._bits.nbytes + self._counts.nbytes

    def mask(self) -> Mask:
        """One truth value a row."""
        return np.unpackbits(self._bits, count=self.size).view(np.bool_)

    def rank(self, row: int) -> int:
        """How many of the rows ahead of ``row`` are in the set."""
        block = min(row, self.size) // _BLOCK
        begin = block * _BLOCK
        inside = self._block(block)[: max(0, row - begin)]
        return int(self._counts[min(block, len(self._counts) - 1)]) + int(np.count_nonzero(inside))

    def select(self, number: int) -> int:
        """The row of the set with so many of the set ahead of it."""
        block = int(np.searchsorted(self._counts, number, "right")) - 1
        return block * _BLOCK + int(np.flatnonzero(self._block(block))[number - int(self._counts[block])])

    def has(self, row: int) -> bool:
        return bool(self._bits[row >> 3] >> (7 - (row & 7)) & 1)

    def _block(self, block: int) -> npt.NDArray[np.uint8]:
        begin = block * _BLOCK
        return np.unpackbits(self._bits[begin // 8 : (begin + _BLOCK) // 8])[: max(0, self.size - begin)]


Bits = Packed | bool
"""The rows of one chunk that are in a set: some, all (True) or none (False)."""


def pack(mask: Mask) -> Bits:
    """A mask in its smallest form."""
    if mask.all():
        return True
    return Packed(mask) if mask.any() else False


class RowSet:
    """A set of rows of all chunks: counted, and found by number, in no time to speak of."""

    def __init__(self, sizes: Sequence[int], bits: Sequence[Bits]) -> None:
        self._bits = tuple(bits)
        self._starts = tuple(accumulate(sizes, initial=0))
        counts = (one.count if isinstance(one, Packed) else size * one for size, one in zip(sizes, bits, strict=True))
        self._counts = tuple(accumulate(counts, initial=0))

    @property
    def count(self) -> int:
        return self._counts[-1]

    def select(self, number: int) -> int:
        """The row that is the set's ``number``-th, from 0."""
        chunk = bisect_right(self._counts, number) - 1
        bits, local = self._bits[chunk], number - self._counts[chunk]
        return self._starts[chunk] + (bits.select(local) if isinstance(bits, Packed) else local)

    def rank(self, row: int) -> int:
        """How many rows of the set lie ahead of ``row``."""
        if row >= self._starts[-1]:
            return self.count
        chunk = bisect_right(self._starts, row) - 1
        bits, local = self._bits[chunk], row - self._starts[chunk]
        return self._counts[chunk] + (bits.rank(local) if isinstance(bits, Packed) else local * bits)

    def mask(self, chunk: int) -> Mask:
        """The rows of one chunk, one truth value each."""
        bits, size = self._bits[chunk], self._starts[chunk + 1] - self._starts[chunk]
        return bits.mask() if isinstance(bits, Packed) else np.full(size, bits)

    def has(self, row: int) -> bool:
        if not 0 <= row < self._starts[-1]:
            return False
        chunk = bisect_right(self._starts, row) - 1
        bits = self._bits[chunk]
        return bits.has(row - self._starts[chunk]) if isinstance(bits, Packed) else bits


@dataclass(frozen=True, eq=False)
class Rows:
    """What is shown: chunks of all lines, and the rows of them that pass the filters and folds."""

    chunks: tuple[Chunk, ...]
    kept: RowSet
    starts: tuple[int, ...]

    @classmethod
    def of(cls, chunks: Sequence[Chunk], kept: Sequence[Bits]) -> Rows:
        sizes = [chunk.size for chunk in chunks]
        return cls(tuple(chunks), RowSet(sizes, kept), tuple(accumulate(sizes, initial=0)))

    @property
    def count(self) -> int:
        """Rows shown."""
        return self.kept.count

    @property
    def total(self) -> int:
        """Lines in all."""
        return self.starts[-1]

    def place(self, shown: int) -> Place:
        """The line in a shown row."""
        return self.place_at(self.kept.select(shown))

    def place_at(self, row: int) -> Place:
        """The line in a row, shown or not."""
        chunk = bisect_right(self.starts, row) - 1
        return self.chunks[chunk].place(row - self.starts[chunk])

    def row_of(self, place: Place) -> int | None:
        """The row, shown or not, of a line; None when there is no such line."""
        for number in range(len(self.chunks) - 1, -1, -1):
            row = self.chunks[number].row_of(place)
            if row is not None:
                return self.starts[number] + row
        return None

    def shown_of(self, place: Place) -> int | None:
        """The shown row of a line, or the next one shown when the line itself is not; None without such a line."""
        row = self.row_of(place)
        return None if row is None else min(self.kept.rank(row), max(0, self.count - 1))


NO_ROWS = Rows.of((), ())
