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
_PID_END = 48  # bytes of a record up to behind the process id
_ROWS = 1 << 12
_ZERO = np.uint8(ord("0"))
_DATE_DIGITS = [0, 1, 2, 3, 5, 6, 8, 9, 11, 12, 14, 15, 17, 18]
_FRACTION_DIGITS = [0, 1, 2, 4, 5, 6]
_SPARE = _HEAD + _STAMP
_TRIED = 64  # records looked at for the usual lengths of heads
_USUAL = 6


def _word(text: bytes) -> np.uint64:
    return np.uint64(int.from_bytes(text, "little"))


_FRACTION = _word(b"000.000 ")  # a digit becomes its value, a mark in its place 0
_ABOVE_NINE = _word(b"\6\6\6\0\6\6\6\0")  # lifts a value above nine into the upper half of its byte
_NO_DIGIT = _word(b"\xf0\xf0\xf0\xff\xf0\xf0\xf0\xff")
_CLOSE, _TWO_BYTES, _FOUR_BYTES = _word(b"):"), _word(b"\xff" * 2), _word(b"\xff" * 4)
_ONE_BYTE = np.uint64(0xFF)

Times = npt.NDArray[np.int64]
_Words = npt.NDArray[np.uint64]
_Bytes = npt.NDArray[np.uint8]
_Truths = npt.NDArray[np.bool_]


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
    lengths = np.diff(starts, append=np.iinfo(np.int64).max)  # up to the next record
    buffer = bytearray()
    for low, high in _batches(starts):
        found = _batch_times(index, starts[low:high], lengths[low:high], buffer)
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


def _batch_times(index: LogIndex, starts: Times, lengths: Times, buffer: bytearray) -> Times:
    """The times of some records; ``buffer`` is reused, as new memory costs more than reading."""
    begin = int(starts[0])
    size = int(starts[-1]) - begin + _SPARE
    if len(buffer) < size + _SPARE:
        buffer.extend(bytes(size + _SPARE - len(buffer)))
    read = index.read_into(memoryview(buffer)[:size], begin)
    places = starts - begin
    inside = places < read  # the file was cut meanwhile
    array = np.frombuffer(buffer, np.uint8)
    array[read : size + _SPARE] = 0
    times = np.full(len(starts), NO_TIME, np.int64)
    times[inside] = times_at(array, places[inside], lengths[inside])
    return times


def times_at(data: _Bytes, starts: Times, lengths: Times) -> Times:
    """The times of the records that start at ``starts`` in ``data``, which has 124 bytes to spare behind the last.

    Each has its time within ``lengths`` bytes, or none. Most records of a log have heads of a few lengths, and whole
    stamps: these are looked for first, the others one by one.
    """
    words: _Words = np.ndarray((len(data) - 7,), "<u8", data, strides=(1,))
    closes = np.zeros(len(starts), np.int64)
    for close in _usual_heads(data, starts):
        closes[(words[starts + close] & _TWO_BYTES == _CLOSE) & (close < lengths) & (closes == 0)] = close
    times = np.where(closes > 0, _usual_times(data, words, starts + closes + 2), NO_TIME)
    rest = np.flatnonzero(times == NO_TIME)
    if len(rest):
        times[rest] = _any_times(data, starts[rest], lengths[rest])
    return times


def _usual_heads(data: _Bytes, starts: Times) -> list[int]:
    """Where the first closing bracket stands in some of the records; the most frequent places first."""
    some = starts[:: len(starts) // _TRIED + 1]
    heads = np.lib.stride_tricks.sliding_window_view(data, _HEAD)[some]
    places, counts = np.unique(np.argmax(heads == ord(")"), axis=1), return_counts=True)
    return [int(place) for place in places[np.argsort(-counts, kind="stable")] if place][:_USUAL]


def _usual_times(data: _Bytes, words: _Words, stamps: Times) -> Times:
    """The times of the stamps that stand at ``stamps``, where they are whole."""
    fractions = words[stamps + 20] ^ _FRACTION
    good = (fractions | (fractions + _ABOVE_NINE)) & _NO_DIGIT == 0
    days, minutes, seconds = words[stamps], words[stamps + 8], words[stamps + 16] & _FOUR_BYTES
    other = (days[1:] != days[:-1]) | (minutes[1:] != minutes[:-1]) | (seconds[1:] != seconds[:-1])
    run = np.concatenate([np.zeros(1, np.int64), np.cumsum(other)])  # consecutive records of one second
    first = np.concatenate([np.zeros(1, np.int64), np.flatnonzero(other) + 1])
    values, whole = _seconds(np.lib.stride_tricks.sliding_window_view(data, _STAMP)[stamps[first]].T.copy())
    pairs = fractions * np.uint64(10) + (fractions >> np.uint64(8))  # each byte and the next as two digits
    micros = _byte(pairs, 0) * 10_000 + _byte(fractions, 2) * 1000 + _byte(pairs, 4) * 10 + _byte(fractions, 6)
    return np.where(good & whole[run], values[run] * 1_000_000 + micros, NO_TIME)


def _byte(words: _Words, number: int) -> Times:
    return ((words >> np.uint64(8 * number)) & _ONE_BYTE).view(np.int64)


def _any_times(data: _Bytes, starts: Times, lengths: Times) -> Times:
    """The times of records of any form."""
    heads = np.lib.stride_tricks.sliding_window_view(data, _HEAD)[starts]
    close = np.argmax(heads == ord(")"), axis=1)
    near = heads[:, :_PID_END]
    separator = np.argmax((near == ord(",")) | (near == ord(":")), axis=1)
    python = (near[np.arange(len(starts)), separator] == ord(":")) & (separator < close)
    stamps = np.lib.stride_tricks.sliding_window_view(data, _STAMP)[starts + close + 2].T.copy()
    seconds, good = _seconds(stamps)
    good &= (close > 0) & (data[starts + close + 1] == ord(":")) & (close < lengths)
    micros, whole = _micros(stamps[20:], python)
    return np.where(good & whole, seconds * 1_000_000 + micros, NO_TIME)


def _seconds(stamps: _Bytes) -> tuple[Times, _Truths]:
    """Seconds since 1970 of ``YYYY-MM-DD-HH:MM:SS.``, and whether it is that."""
    good = (stamps[_DATE_DIGITS] - _ZERO <= 9).all(axis=0)
    for place, mark in ((4, "-"), (7, "-"), (10, "-"), (13, ":"), (16, ":"), (19, ".")):
        good &= stamps[place] == ord(mark)
    digits = (stamps[_DATE_DIGITS] - _ZERO).astype(np.int64)
    year = digits[0] * 1000 + digits[1] * 100 + digits[2] * 10 + digits[3]
    month, day, hour, minute, second = (digits[place] * 10 + digits[place + 1] for place in (4, 6, 8, 10, 12))
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


def _micros(fractions: _Bytes, python: _Truths) -> tuple[Times, _Truths]:
    """Microseconds of ``mmm.uuu `` (or of Python's digits, cut after three), and whether it is that."""
    digits = fractions[_FRACTION_DIGITS] - _ZERO
    usual = (digits <= 9).all(axis=0) & (fractions[3] == ord(".")) & (fractions[7] == ord(" "))
    values = digits.astype(np.int64)
    micros = values[0]
    for value in values[1:]:
        micros = micros * 10 + value
    odd = np.flatnonzero(~usual)
    if len(odd):
        micros[odd], usual[odd] = _odd_micros(fractions[:, odd], python[odd])
    return micros, usual


def _odd_micros(fractions: _Bytes, python: _Truths) -> tuple[Times, _Truths]:
    """The same where digits are missing: one to three ahead of the dot, which may lack, and up to three behind it."""
    count = fractions.shape[1]
    first, second, head, tail = (np.zeros(count, np.int64) for _ in range(4))  # values, and digits seen of each
    part = np.zeros(count, np.int8)  # 0: ahead of the dot, 1: behind it, 2: ended well, 3: ended badly
    for column in fractions:
        value = column.astype(np.int64) - ord("0")
        digit = (value >= 0) & (value <= 9)
        early, late = (part == 0) & digit & (head < 3), (part == 1) & digit & (tail < 3)
        dot, end = (part == 0) & (head > 0) & (column == ord(".")), (part < 2) & (head > 0) & (column == ord(" "))
        first, second = np.where(early, first * 10 + value, first), np.where(late, second * 10 + value, second)
        head, tail = head + early, tail + late
        part[(part < 2) & ~(early | late | dot)] = 3
        part[dot] = 1
        part[end] = 2
    return np.where(python, first * 10**tail + second, first * 1000 + second), part == 2
