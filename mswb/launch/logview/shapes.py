"""Which lines say the same as the line before them, numbers aside: for folding repetitions.

Each line gets a sum over its pairs of neighbouring bytes, all digits counting as one and their number not at all. Lines
that differ in more than numbers have different sums (but for anagrams of pairs, which don't happen by chance).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mswb.files.logindex import LogIndex
from mswb.files.search import PIECE

HASHED = 1 << 12
"""Bytes of a line that are looked at."""


Shapes = npt.NDArray[np.uint32]


def same_as_before(index: LogIndex, first: int, stop: int) -> npt.NDArray[np.bool_]:
    """For each line from ``first`` to ``stop`` (exclusive) whether it repeats the one before; the first never does."""
    shapes = line_shapes(index, first, stop)
    same = np.zeros(len(shapes), np.bool_)
    same[1:] = (shapes[1:] == shapes[:-1]) & (shapes[1:] != 0)  # 0: nothing but digits, or empty
    return same


def line_shapes(index: LogIndex, first: int, stop: int) -> Shapes:
    """A number for what each line says, numbers aside."""
    offsets = index.offsets(first, stop)
    shapes = np.zeros(len(offsets), np.uint32)
    end = index.span(stop, stop)[0]
    low = 0
    while low < len(offsets):
        high = max(low + 1, int(np.searchsorted(offsets, offsets[low] + PIECE, "right")) - 1)
        high = high if high < len(offsets) - 1 else len(offsets)
        begin = int(offsets[low])
        behind = int(offsets[high]) if high < len(offsets) else end
        size = HASHED if high == low + 1 else behind - begin
        data = np.frombuffer(index.read(begin, min(size, behind - begin)), np.uint8)
        found = _shapes(data, offsets[low:high] - begin)
        shapes[low : low + len(found)] = found
        low = high
    return shapes


def _shapes(data: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64]) -> Shapes:
    starts = starts[starts < len(data) - 1]
    if not len(starts):
        return np.zeros(0, np.uint32)
    pairs: npt.NDArray[np.uint16] = np.ndarray((len(data) - 1,), "<u2", data, strides=(1,))  # at every byte
    sums: Shapes = np.add.reduceat(np.take(_VALUES, pairs), starts)
    return sums


def _values() -> Shapes:
    """A random number for each pair of bytes; none for two digits, nor for what reaches over the line's end."""
    low, high = np.arange(1 << 16) & 0xFF, np.arange(1 << 16) >> 8
    folded = [np.where((byte >= ord("0")) & (byte <= ord("9")), ord("0"), byte) for byte in (low, high)]
    dice = np.random.default_rng(20261130)
    table: Shapes = dice.integers(1, 1 << 32, 1 << 16, dtype=np.uint32)[folded[0] | folded[1] << 8]
    table[(folded[0] == ord("0")) & (folded[1] == ord("0"))] = 0
    table[(low == ord("\n")) | (high == ord("\n"))] = 0
    return table


_VALUES = _values()
