"""The bytes of many records by position, as arrays: all of them, or of long ones only both ends.

Long records are nearly all one value (an image), and what tells how they are built lies before and after it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Bytes = NDArray[np.uint8]
Bools = NDArray[np.bool_]

HALF, WIDE = 256, 1024
"""Bytes of a long record that are kept of either end: of one of some pages, and of a longer one."""
NOTHING = b"\xff"
"""What is read where a record's bytes were not kept: no tag, and no number that ends."""
BEHIND = 16
"""Bytes behind a record's data that come along: its CRC and the next header."""
SLACK = 256
"""Bytes that a buffer has behind the last record, so that a look at the next few bytes needs no care."""
ENDLESS = 10
"""Bytes in a row that say "more follows": no integer has so many."""


@dataclass(frozen=True)
class Buffer:
    """Bytes, and where in them no packed integers can be."""

    raw: Bytes
    half: int = 0
    """Bytes kept of either end of long records; 0 where all is here."""
    asked: list[tuple[Ints, Ints, Ints]] = field(default_factory=list)
    """Records, beginnings and ends of packed integers (in the record) that are not here to be looked at."""

    @property
    def row(self) -> int:
        """Bytes from one record to the next, where only both ends of each are here."""
        return row_size(self.half)

    @cached_property
    def endless(self) -> Ints:
        """Where :data:`ENDLESS` bytes begin that all say "more follows"."""
        return endless(self.raw)


def row_size(half: int) -> int:
    """Bytes of a row that holds both ends of a record, and what is behind it."""
    return 2 * half + len(NOTHING) + BEHIND


def endless(raw: Bytes) -> Ints:
    """Where :data:`ENDLESS` bytes begin that all say "more follows"."""
    if len(raw) < ENDLESS:
        return np.zeros(0, np.int64)
    run = raw >> 7
    for step in (1, 2, 4):
        run = run[:-step] & run[step:]
    run = run[:-2] & run[2:]
    return np.flatnonzero(run) if run.any() else np.zeros(0, np.int64)


class Records:
    """Records in one buffer; positions are those in the buffer."""

    def __init__(self, buffer: Buffer, starts: Ints, ends: Ints) -> None:
        self.buffer, self.starts, self.ends = buffer, starts, ends

    def __len__(self) -> int:
        return len(self.starts)

    def some(self, which: NDArray[Any]) -> Records:
        """Some of the records, by a mask or by their numbers. Here none is told from another."""
        return self

    def index(self, at: Ints) -> Ints:
        """Where in the buffer the byte at each record's position is."""
        return at

    def take(self, at: Ints) -> Bytes:
        """The byte at a position of each record."""
        return self.buffer.raw.take(self.index(at), mode="clip")

    def windows(self, first: Ints, size: int) -> Bytes:
        """``size`` bytes from an index of each record; what lies behind it may be anything."""
        raw = self.buffer.raw
        views = np.lib.stride_tricks.as_strided(raw, (len(raw) - size + 1, size), (1, 1), writeable=False)
        return np.asarray(views[np.minimum(first, len(views) - 1)])

    def integers(self, start: Ints, end: Ints) -> Bools:
        """Whether packed integers lie in each ``start:end``, by their run of bytes that say "more follows"."""
        found = self.buffer.endless
        if not len(found):
            return np.ones(len(start), np.bool_)
        hit = np.append(found, len(self.buffer.raw)).take(np.searchsorted(found, start))
        return hit + ENDLESS > end

    def bytes(self, at: int, size: int) -> bytes:
        """Up to ``size`` bytes from a position of the first record."""
        return self.buffer.raw[at : at + size].tobytes()


class Ends(Records):
    """Both ends of long records, a row each: beginning, :data:`NOTHING`, end.

    Positions are those in the record, plus the beginning of its row.
    """

    def __init__(self, buffer: Buffer, starts: Ints, ends: Ints) -> None:
        super().__init__(buffer, starts, ends)
        self._tail = ends - buffer.half
        self._nothing = starts + buffer.half
        self._hole = self._tail - self._nothing - 1

    def some(self, which: NDArray[Any]) -> Ends:
        return Ends(self.buffer, self.starts[which], self.ends[which])

    def index(self, at: Ints) -> Ints:
        behind = at >= self._tail
        if behind.all():  # nearly always all records are on the same side
            return at - self._hole
        before = np.minimum(at, self._nothing)
        return np.where(behind, at - self._hole, before) if behind.any() else before

    def integers(self, start: Ints, end: Ints) -> Bools:
        first, last = self.index(start), self.index(end - 1) + 1
        gone = last - first != end - start
        if gone.any():
            rows = self.starts[gone]
            self.buffer.asked.append((rows // self.buffer.row, start[gone] - rows, end[gone] - rows))
        return np.asarray(gone | super().integers(first, last))

    def bytes(self, at: int, size: int) -> bytes:
        first = int(self.some(np.arange(1)).index(np.array([at]))[0])
        place = first % self.buffer.row
        edge = self.buffer.half if place < self.buffer.half else self.buffer.row - BEHIND
        return super().bytes(first, min(size, edge - place))


def of_buffer(data: memoryview | bytes, starts: Ints, ends: Ints) -> Records:
    """Records that lie in ``data``, with :data:`SLACK` bytes behind the last."""
    return Records(Buffer(np.frombuffer(data, np.uint8)), starts, ends)


def of_pieces(pieces: list[bytes], half: int) -> tuple[Bytes, Bytes]:
    """Rows of long records, and what is behind the data of each.

    Args:
        pieces: of each record ``half`` bytes of its beginning, :data:`NOTHING`, and the end with what is behind.
    """
    raw = np.frombuffer(b"".join([*pieces, bytes(SLACK)]), np.uint8)
    return raw, raw[:-SLACK].reshape(-1, row_size(half))[:, -BEHIND:]


def of_ends(raw: Bytes, lengths: Ints, half: int) -> Ends:
    """The records, each longer than two halves, whose rows are at the beginning of ``raw``."""
    starts = np.arange(len(lengths), dtype=np.int64) * row_size(half)
    return Ends(Buffer(raw, half), starts, starts + lengths)
