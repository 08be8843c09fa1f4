"""When the records of a log were written, for many lines at once: numpy reads the time stamps of whole blocks.

The rules are those of :func:`mswb.launch.records.parse_record`, Python's odd fraction included; what that function
refuses further behind in the line is not looked at here.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from mswb.files.logindex import LogIndex
from mswb.files.search import PIECE

NO_TIME = -1
"""Stands for the time of lines ahead of a file's first record."""
_HEAD = 96  # bytes of a record ahead of its time: level, module, (pid,tid,process)
_STAMP = 28  # "2026-11-30-04:06:28.123.456 "
_ROWS = 1 << 14

Times = npt.NDArray[np.int64]
_Bytes = npt.NDArray[np.uint8]


def line_times(index: LogIndex, first: int, stop: int, offset_us: int = 0) -> Times:
    """The time of each line from ``first`` to ``stop`` (exclusive), never falling; in microseconds, as a record's.

    A line that is no record, or one that claims to be older than the line before it, has the time of that line: so
    sorting the lines of several files by these times keeps each file's own order.

    Args:
        offset_us: what the writer's clock is ahead of the others'.
    """
    return rising(own_times(index, first, stop, offset_us))


def own_times(index: LogIndex, first: int, stop: int, offset_us: int = 0) -> Times:
    """The time that each line itself names; :data:`NO_TIME` for those that name none."""
    times = np.full(stop - first, NO_TIME, np.int64)
    records = np.flatnonzero(index.levels(first, stop))
    starts = index.offsets(first, stop)[records]
    for low, high in _batches(starts):
        found = _batch_times(index, starts[low:high])
        times[records[low:high]] = np.where(found == NO_TIME, NO_TIME, found - offset_us)
    return times


def rising(times: Times) -> Times:
    """Each time, or the latest one before it."""
    highest: Times = np.maximum.accumulate(times)
    return highest


def _batches(starts: Times) -> Iterator[tuple[int, int]]:
    """Records whose first bytes lie close enough together to be read at once."""
    low = 0
    while low < len(starts):
        high = int(np.searchsorted(starts, starts[low] + PIECE, "right"))
        high = min(high, low + _ROWS)
        yield low, high
        low = high


def _batch_times(index: LogIndex, starts: Times) -> Times:
    begin = int(starts[0])
    data = index.read(begin, int(starts[-1]) - begin + _HEAD + _STAMP)
    array = np.frombuffer(data + bytes(2 * (_HEAD + _STAMP)), np.uint8)
    places = starts - begin
    inside = places < len(data)  # the file was cut meanwhile
    times = np.full(len(starts), NO_TIME, np.int64)
    times[inside] = times_at(array, places[inside])
    return times


def times_at(data: _Bytes, starts: Times) -> Times:
    """The times of the records that start at ``starts`` in ``data``, which has 124 bytes to spare behind the last."""
    heads = np.lib.stride_tricks.sliding_window_view(data, _HEAD)[starts]
    close = np.argmax(heads == ord(")"), axis=1)
    separator = np.argmax((heads == ord(",")) | (heads == ord(":")), axis=1)
    rows = np.arange(len(starts))
    python = (heads[rows, separator] == ord(":")) & (separator < close)
    stamps = np.lib.stride_tricks.sliding_window_view(data, _STAMP)[starts + close + 2].T.copy()
    seconds, good = _seconds(stamps)
    good &= (close > 0) & (data[starts + close + 1] == ord(":"))
    micros, whole = _micros(stamps[20:], python)
    return np.where(good & whole, seconds * 1_000_000 + micros, NO_TIME)


def _seconds(stamps: _Bytes) -> tuple[Times, npt.NDArray[np.bool_]]:
    """Seconds since 1970 of ``YYYY-MM-DD-HH:MM:SS.``, and whether it is that."""
    digits = stamps[:20].astype(np.int64) - ord("0")
    places = (0, 1, 2, 3, 5, 6, 8, 9, 11, 12, 14, 15, 17, 18)
    good = np.all([(digits[place] >= 0) & (digits[place] <= 9) for place in places], axis=0)
    for place, mark in ((4, "-"), (7, "-"), (10, "-"), (13, ":"), (16, ":"), (19, ".")):
        good &= stamps[place] == ord(mark)
    year = digits[0] * 1000 + digits[1] * 100 + digits[2] * 10 + digits[3]
    month, day, hour, minute, second = (digits[place] * 10 + digits[place + 1] for place in (5, 8, 11, 14, 17))
    good &= (year > 0) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)
    good &= (hour <= 23) & (minute <= 59) & (second <= 60)
    return ((_days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second, good


def _days(year: Times, month: Times, day: Times) -> Times:
    """Days since 1970 in the Gregorian calendar, counting years from March so that leap days come last."""
    early = month <= 2
    year = year - early
    month = np.where(early, month + 9, month - 3)
    days: Times = 365 * year + year // 4 - year // 100 + year // 400 + (153 * month + 2) // 5 + day - 719469
    return days


def _micros(fraction: _Bytes, python: npt.NDArray[np.bool_]) -> tuple[Times, npt.NDArray[np.bool_]]:
    """Microseconds of ``mmm.uuu `` (or of Python's digits, cut after three), and whether it is that.

    The first part has one to three digits; the second, with its dot, may lack digits or be missing.
    """
    count = fraction.shape[1]
    first, second, head, tail = (np.zeros(count, np.int64) for _ in range(4))  # values, and digits seen of each
    part = np.zeros(count, np.int8)  # 0: ahead of the dot, 1: behind it, 2: ended well, 3: ended badly
    for column in fraction:
        value = column.astype(np.int64) - ord("0")
        digit = (value >= 0) & (value <= 9)
        early, late = (part == 0) & digit & (head < 3), (part == 1) & digit & (tail < 3)
        dot, end = (part == 0) & (head > 0) & (column == ord(".")), (part < 2) & (head > 0) & (column == ord(" "))
        first, second = np.where(early, first * 10 + value, first), np.where(late, second * 10 + value, second)
        head, tail = head + early, tail + late
        part[(part < 2) & ~(early | late | dot)] = 3
        part[dot] = 1
        part[end] = 2
    joined = first * 10**tail + second
    return np.where(python, joined, first * 1000 + second), part == 2
