"""Eight bytes of text at once: digits, zero bytes and decimal numbers in arrays of 64-bit words, first byte highest."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[Any]


def _each(byte: int) -> np.uint64:
    return np.uint64(byte * 0x0101010101010101)


TOPS = _each(0x80)
"""The highest bit of each byte: where the marks below are."""
_LOW = _each(0x7F)
_LEADING = np.array([2**64 - 2 ** (64 - 8 * size) for size in range(9)], np.uint64)


def digits(words: Words) -> Words:
    """The top bit of each byte that is an ASCII digit."""
    low = words & _LOW
    return (low + _each(0x80 - 0x30)) & ~(low + _each(0x80 - 0x3A)) & ~words & TOPS


def zeros(words: Words) -> Words:
    """The top bit of each byte that is zero."""
    return ~(((words & _LOW) + _LOW) | words) & TOPS


def run(marks: Words) -> Words:
    """How many bytes come before the first marked one: 0 to 8."""
    return (64 - np.frexp(marks.astype(np.float64))[1].astype(np.int64)) >> 3


def leading(words: Words, size: Words) -> Words:
    """The words with only their first bytes kept."""
    kept: Words = words & _LEADING[size]
    return kept


def decimal(words: Words, size: Words) -> Words:
    """The number that the first ``size`` bytes spell, all of them digits."""
    shift = (64 - 8 * size).astype(np.uint64)
    value = np.where(size == 0, np.uint64(0), (words & _each(0x0F)) >> np.minimum(shift, np.uint64(63)))
    for bits, factor, mask in _PAIRS:
        value = (value & mask) + ((value >> bits) & mask) * factor
    return value


_PAIRS = tuple(
    (np.uint64(bits), np.uint64(factor), np.uint64(mask))
    for bits, factor, mask in ((8, 10, 0x00FF00FF00FF00FF), (16, 100, 0x0000FFFF0000FFFF), (32, 10_000, 0xFFFFFFFF))
)
