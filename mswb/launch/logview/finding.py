"""Where to jump in a log view: the next error, the next long silence, a moment.

Rows are numbered as in :class:`mswb.launch.logview.rows.Rows`, all lines counted; only rows that pass are jumped to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from mswb.files.levels import Level
from mswb.files.logindex import LogIndex
from mswb.files.patterns import compile_pattern
from mswb.launch.logview.filters import matcher
from mswb.launch.logview.rows import Chunk, Place, Rows, RowSet
from mswb.launch.logview.spans import block_at
from mswb.launch.logview.stamps import NO_TIME, Times, own_times, rising

SILENCE_US = 10_000_000
"""Microseconds without a record that count as a long silence."""
_BACK = 400
_TRACE = compile_pattern(r"^(?:Traceback \(most recent call last\):|Fatal Python error: )")

Cancelled = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Ground:
    """Where is searched: the rows, those of them that pass, and the files' indexes and clock offsets by number."""

    rows: Rows
    passing: RowSet
    indexes: Mapping[int, LogIndex]
    offsets_us: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Silence:
    """Nothing was logged for ``length_us`` microseconds behind ``row``."""

    row: int
    length_us: int


def next_severe(ground: Ground, row: int, level: Level, *, forward: bool, cancelled: Cancelled) -> int | None:
    """The next passing row with a record of at least this level, or a traceback of its own, behind (ahead of) ``row``.

    A traceback is part of an error's record where MindSpore prints it there, and counts once.
    """
    for number in _chunks_from(ground.rows, row, forward):
        if cancelled():
            return None
        chunk, start = ground.rows.chunks[number], ground.rows.starts[number]
        mask = _severe(ground, chunk, level) & ground.passing.mask(number)
        places = np.flatnonzero(mask) + start
        places = places[places > row] if forward else places[places < row][::-1]
        for found in places.tolist():
            if _stands_alone(ground, ground.rows.place_at(found), level):
                return int(found)
    return None


def next_silence(ground: Ground, row: int, *, forward: bool, cancelled: Cancelled) -> Silence | None:
    """The next passing row behind (ahead of) ``row`` after which nothing was logged for :data:`SILENCE_US`."""
    edge: tuple[int, int] | None = None  # the first timed row of the chunk looked at before, and its time
    for number in _chunks_from(ground.rows, row, forward):
        if cancelled():
            return None
        rows, times = _timed_rows(ground, number)
        if not len(rows):
            continue
        joined = _joined(rows, times, edge, forward)
        edge = (int(rows[-1]), int(times[-1])) if forward else (int(rows[0]), int(times[0]))
        gaps = np.diff(joined[1])
        found = joined[0][:-1][gaps >= SILENCE_US]
        lengths = gaps[gaps >= SILENCE_US]
        wanted = np.flatnonzero(found > row) if forward else np.flatnonzero(found < row)[::-1]
        if len(wanted):
            return Silence(int(found[wanted[0]]), int(lengths[wanted[0]]))
    return None


def row_at_time(ground: Ground, time_us: int) -> int | None:
    """The first shown row with this time or a later one; None when there is none. Times are meant to rise."""
    low, high = 0, ground.rows.count
    while low < high:
        middle = (low + high) // 2
        known = time_of(ground, ground.rows.place(middle))
        if known is None or known < time_us:
            low = middle + 1
        else:
            high = middle
    return low if low < ground.rows.count else None


def row_off_by(ground: Ground, place: Place, offset_us: int) -> int | None:
    """The shown row nearest to so many microseconds behind (ahead of) a line; None when no record near tells the time.

    Ahead it is the last row before that moment, behind the first one after it; at most the first or last row there is.
    """
    now = time_of(ground, place)
    if now is None:
        return None
    found = row_at_time(ground, now + offset_us + (offset_us < 0))
    row = ground.rows.count if found is None else found
    return max(0, row - 1) if offset_us < 0 else min(row, ground.rows.count - 1)


def time_of(ground: Ground, place: Place) -> int | None:
    """When a line was written: its record's time, or that of the record before it in its file."""
    index = ground.indexes[place.file]
    times = own_times(index, max(0, place.line - _BACK), place.line + 1, ground.offsets_us.get(place.file, 0))
    known = times[times != NO_TIME]
    return int(known[-1]) if len(known) else None


def _chunks_from(rows: Rows, row: int, forward: bool) -> Iterator[int]:
    """The chunk that holds a row and all behind (ahead of) it."""
    at = int(np.searchsorted(np.array(rows.starts), row, "right")) - 1
    at = min(max(at, 0), len(rows.chunks) - 1)
    yield from range(at, len(rows.chunks)) if forward else range(at, -1, -1)


def _severe(ground: Ground, chunk: Chunk, level: Level) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    masks = []
    for one in chunk.ranges:
        index = ground.indexes[one.file]
        traces = matcher(index)(_TRACE, one.first, one.stop) if level <= Level.ERROR else False
        masks.append((index.levels(one.first, one.stop) >= level) | traces)
    return chunk.in_rows(masks)


def _stands_alone(ground: Ground, place: Place, level: Level) -> bool:
    """Whether a line is not just part of a block whose head is as severe."""
    index = ground.indexes[place.file]
    if index.level_of(place.line) >= level:
        return True
    block = block_at(index, place.line)
    if block is None or block.first == place.line:
        return True
    return block.kind == "record" and index.level_of(block.first) < level


def _timed_rows(ground: Ground, number: int) -> tuple[Times, Times]:
    """The passing rows of a chunk that name a time, and these times, never falling."""
    chunk, start = ground.rows.chunks[number], ground.rows.starts[number]
    parts = [own_times(ground.indexes[one.file], one.first, one.stop, ground.offsets_us.get(one.file, 0))
             for one in chunk.ranges]  # fmt: skip
    times = np.concatenate([np.zeros(0, np.int64), *parts])
    times = times if chunk.order is None else times[chunk.order]
    rows = np.flatnonzero((times != NO_TIME) & ground.passing.mask(number))
    return rows + start, rising(times[rows])


def _joined(rows: Times, times: Times, edge: tuple[int, int] | None, forward: bool) -> tuple[Times, Times]:
    """With the neighbouring chunk's nearest timed row, so that a silence between two chunks is seen."""
    if edge is None:
        return rows, times
    pair = (np.array([edge[0]]), np.array([edge[1]]))
    if forward:
        return np.concatenate([pair[0], rows]), np.concatenate([pair[1], times])
    return np.concatenate([rows, pair[0]]), np.concatenate([times, pair[1]])
