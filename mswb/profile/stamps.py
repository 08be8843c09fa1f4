"""Times as JSON and CSV texts hold them, turned into integer nanoseconds without passing through a float.

A float of microseconds since the epoch is good to 250 ns only, so the digits themselves are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation

import numpy as np
import numpy.typing as npt

MISSING = np.iinfo(np.int64).min
"""Stands for a time that is absent, null, or no number."""
_MOST_DIGITS = 16
_EXACT = float(1 << 53)
"""Whole numbers below this are exact as float64; sixteen digits may be more."""
_WIDEST = 28
"""Bytes of the longest text that the fast way reads; 19 digits are the most that fit in int64 nanoseconds."""
_LARGEST = (1 << 63) // 1000


def nanoseconds(texts: Sequence[bytes]) -> npt.NDArray[np.int64]:
    """Microseconds as decimal texts (quoted or not) to nanoseconds; digits beyond the third are cut.

    What is no plain decimal number goes through :class:`decimal.Decimal`; what that does not take is :data:`MISSING`.
    """
    if not texts:
        return np.empty(0, np.int64)
    table = np.array(texts, dtype=np.bytes_)
    width = table.dtype.itemsize
    if width > _WIDEST:
        return np.fromiter((_slow(text) for text in texts), np.int64, len(texts))
    rows = table.view(np.uint8).reshape(len(texts), width)
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    value = np.full(len(texts), MISSING, np.int64)
    for length in np.unique(lengths):
        members = np.flatnonzero(lengths == length)
        block = rows[:, :length] if len(members) == len(texts) else rows[members, :length]
        value[members] = _of_one_length(block)
    for index in np.flatnonzero(value == MISSING):
        value[index] = _slow(texts[index])
    return value


def _of_one_length(rows: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    """The values of texts of one length; :data:`MISSING` where one is no plain number."""
    inner = rows[:, 1:-1] if rows.shape[1] > 2 and (rows[:, 0] == 34).all() and (rows[:, -1] == 34).all() else rows
    last = inner.shape[1]
    value = np.full(len(rows), MISSING, np.int64)
    rest = np.arange(len(rows))
    for point in (last - 4, last, last - 3, last - 2):
        if point < 1 or point > _MOST_DIGITS or not len(rest):
            continue
        block = inner if len(rest) == len(rows) else inner[rest]
        fits = np.ones(len(rest), np.bool_) if point == last else block[:, point] == 46
        columns = [column for column in range(last) if column != point]
        digits = block[:, columns] - np.uint8(48)
        if digits.max(initial=0) > 9:
            fits &= digits.max(axis=1) <= 9
        weights = np.array([10.0 ** (point - 1 - column + (column > point)) for column in columns]) * 1000
        # Exact: every product and sum is a whole number below 2**53, of microseconds and of their thousandths apart.
        whole = digits[:, :point].astype(np.float64) @ (weights[:point] / 1000)
        fits &= whole < _EXACT
        parts = digits[:, point:].astype(np.float64) @ weights[point:]
        found = whole.astype(np.int64) * 1000 + np.rint(parts).astype(np.int64)
        value[rest[fits]] = found[fits]
        rest = rest[~fits]
    return value


def _slow(text: bytes) -> int:
    try:
        number = Decimal(text.decode("ascii").strip().strip('"').strip())
    except (UnicodeDecodeError, InvalidOperation, ValueError):
        return int(MISSING)
    if not number.is_finite() or abs(number) >= _LARGEST:
        return int(MISSING)
    return int(number * 1000)
