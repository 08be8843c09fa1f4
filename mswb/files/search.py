"""Search an indexed log for a pattern, in the background and in order.

The file is read in pieces of whole lines. Words that every match must contain are looked for by numpy, all at once;
RE2 sees only the lines that hold one. When nothing is known, or the words are everywhere, RE2 scans the piece and
jumps to the next line behind each match.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mswb.files.logindex import Lines, LogIndex, Segment, Starts
from mswb.files.patterns import Pattern

PIECE = 1 << 20
"""Bytes of whole lines that are searched at once, unless one line is longer."""
MAX_SEARCHED = 16 << 20
"""Bytes that are searched of one line."""
THREADS = 2
_SAMPLE, _LEAST_SAMPLE = 256 << 10, 32 << 10
_DENSE_PER_MIB = 2000  # words more frequent than this don't help
_RARE = 100  # a byte that is less than one in so many is looked for alone, else together with the next rarest
_SPARSE = 16  # a mask is sparse when fewer than one of so many of its words of eight hold a true value
_CALLS_PER_MIB = 200  # so many calls of RE2 make two threads fight for the interpreter's lock

Data = bytes | bytearray | memoryview
Bytes = npt.NDArray[np.uint8]
Positions = npt.NDArray[np.int64]
LOWER: Bytes = np.frombuffer(bytes(range(256)).lower(), np.uint8)


@dataclass(frozen=True, slots=True)
class Piece:
    """Consecutive whole lines of the file; ``starts`` are in bytes from ``offset``."""

    offset: int
    end: int
    first_line: int
    starts: Positions


@dataclass(frozen=True, slots=True)
class Hits:
    """Numbers of matching lines, rising, and how far the search has come."""

    lines: Lines
    searched_bytes: int
    total_bytes: int


def search(
    index: LogIndex,
    pattern: Pattern,
    *,
    cancelled: Callable[[], bool] = lambda: False,
    first_line: int = 0,
    stop_line: int | None = None,
) -> Iterator[Hits]:
    """The matching lines among those indexed now, ``first_line`` to ``stop_line`` (exclusive), by pieces, in order.

    It ends early when ``cancelled()`` or when the file has been begun anew. For a growing file search again from the
    line where the last search ended (an unfinished last line may have become longer).
    """
    generation, total = index.generation, index.size
    if stop_line is not None:
        begin, total = index.span(first_line, stop_line)
        if total - begin <= PIECE:  # not worth a look at what is frequent, nor a second thread
            yield from _search_little(index, pattern, first_line, stop_line)
            return
    begin = index.span(first_line, first_line)[0]
    pieces = _pieces(index, first_line, total)
    size = min(_SAMPLE, max(_LEAST_SAMPLE, (total - begin) // 256))
    sample = index.read(max(0, (begin + total) // 2 - size // 2), size)
    scratch = _Scratch()
    find, threads = _choose(pattern, sample, scratch)

    def one(piece: Piece) -> Lines:
        return find(scratch.read(index, piece), piece.starts) + piece.first_line

    for piece, lines in _in_order(one, pieces, threads):
        if cancelled() or index.generation != generation:
            return
        yield Hits(lines, piece.end, total)


def _search_little(index: LogIndex, pattern: Pattern, first_line: int, stop_line: int) -> Iterator[Hits]:
    begin, end = index.span(first_line, stop_line)
    data = index.read(begin, end - begin)
    starts = index.offsets(first_line, stop_line) - begin
    starts = starts[: np.searchsorted(starts, len(data), "left")]
    if len(starts):
        yield Hits(_scan(pattern, data, starts) + first_line, end, end)


def matching_lines(index: LogIndex, pattern: Pattern, *, cancelled: Callable[[], bool] = lambda: False) -> Lines:
    """All matching lines (those found so far when cancelled)."""
    parts = [hits.lines for hits in search(index, pattern, cancelled=cancelled)]
    return np.concatenate([np.zeros(0, np.int64), *parts])


Find = Callable[[Data, Positions], Lines]
"""(bytes of whole lines, where each begins) → which of them match, counted from 0."""


def _choose(pattern: Pattern, sample: bytes, scratch: _Scratch) -> tuple[Find, int]:
    """How to search, judged by how frequent things are in the sample, and with how many threads.

    numpy and RE2 let go of the interpreter's lock, but with many short calls two threads only fight for it.
    """
    haystack = sample.lower() if pattern.ignore_case else sample
    rank = np.bincount(np.frombuffer(haystack, np.uint8), minlength=256)
    if pattern.exact:
        exact = [_Word(word, rank, pattern.ignore_case) for word in pattern.exact]
        return lambda data, starts: _lines_with(exact, data, starts, pattern.at_start, scratch), THREADS
    mib = max(len(sample), 1) / (1 << 20)
    frequency = {option: sum(map(haystack.count, option)) / mib for option in pattern.options}
    option = min(frequency, key=lambda each: frequency[each], default=())
    if not option or frequency[option] > _DENSE_PER_MIB:
        return lambda data, starts: _scan(pattern, data, starts), _threads(_hits(pattern, sample) / mib)
    words = [_Word(word, rank, pattern.ignore_case) for word in option]
    find = lambda data, starts: _confirmed(pattern, data, starts, _lines_with(words, data, starts, False, scratch))  # noqa: E731
    return find, _threads(frequency[option])


def _threads(calls_per_mib: float) -> int:
    return 1 if calls_per_mib > _CALLS_PER_MIB else THREADS


def _hits(pattern: Pattern, sample: bytes) -> int:
    starts = np.flatnonzero(np.frombuffer(sample, np.uint8) == 10) + 1
    return len(_scan(pattern, sample, np.concatenate([np.zeros(1, np.int64), starts])))


def _in_order(work: Callable[[Piece], Lines], pieces: Iterator[Piece], threads: int) -> Iterator[tuple[Piece, Lines]]:
    """Results in the pieces' order, a few pieces ahead."""
    if threads == 1:
        yield from ((piece, work(piece)) for piece in pieces)
        return
    waiting: deque[tuple[Piece, Future[Lines]]] = deque()
    with ThreadPoolExecutor(threads, "mswb-search") as pool:
        try:
            for piece in pieces:
                waiting.append((piece, pool.submit(work, piece)))
                if len(waiting) > 2 * threads:
                    done, future = waiting.popleft()
                    yield done, future.result()
            while waiting:
                done, future = waiting.popleft()
                yield done, future.result()
        finally:
            for _, future in waiting:
                future.cancel()


def _pieces(index: LogIndex, first_line: int, total: int) -> Iterator[Piece]:
    segments = index.segments()
    ends = [segment.base + int(segment.starts[0]) for segment in segments[1:]] + [total]
    for segment, end in zip(segments, ends, strict=True):
        begin = max(0, first_line - segment.first_line)
        if begin < len(segment.starts) and segment.base + int(segment.starts[begin]) < total:
            for piece in _pieces_of(segment, begin, end):
                if piece.end <= total:
                    yield piece
                elif piece.offset < total:
                    inside = piece.starts < total - piece.offset
                    yield Piece(piece.offset, total, piece.first_line, piece.starts[inside])


def _pieces_of(segment: Segment, begin: int, end: int) -> Iterator[Piece]:
    starts, base = segment.starts, segment.base
    while begin < len(starts):
        first = int(starts[begin])
        stop = _count_up_to(starts, first + PIECE)
        if stop < len(starts) or end - base - first > PIECE:  # the last line begun within PIECE reaches beyond it
            stop = max(begin + 1, stop - 1)
        stop_at = base + int(starts[stop]) if stop < len(starts) else end
        if base + first < stop_at:
            relative = starts[begin:stop].astype(np.int64) - first
            yield Piece(base + first, stop_at, segment.first_line + begin, relative)
        begin = stop


def _count_up_to(starts: Starts, value: int) -> int:
    """How many starts are at most ``value``, which is kept in the array's type: else numpy converts all of it."""
    return int(np.searchsorted(starts, np.uint32(value), "right")) if value < 1 << 32 else len(starts)


class _Scratch(threading.local):
    """Each thread's buffers: fresh memory for each piece would cost more than the search."""

    def __init__(self) -> None:
        self.data = bytearray(PIECE)
        self.masks = (np.empty(PIECE, np.bool_), np.empty(PIECE, np.bool_))

    def read(self, index: LogIndex, piece: Piece) -> Data:
        size = min(piece.end - piece.offset, MAX_SEARCHED)
        if size > PIECE:
            return index.read(piece.offset, size)
        view = memoryview(self.data)[:size]
        return view[: index.read_into(view, piece.offset)]

    def mask(self, number: int, size: int) -> npt.NDArray[np.bool_]:
        return self.masks[number][:size] if size <= PIECE else np.empty(size, np.bool_)


class _Word:
    """A word prepared for numpy: its bytes in the order of their rarity."""

    def __init__(self, word: bytes, frequency: npt.NDArray[np.int64], fold: bool) -> None:
        self.size = len(word)
        order = sorted(range(len(word)), key=lambda place: int(frequency[word[place]]))
        self._checks = [(place, word[place]) for place in order]
        self._fold = fold
        rarest = int(frequency[word[order[0]]])
        self._masks = 1 if len(word) == 1 or rarest * _RARE < int(frequency.sum()) else 2

    def find(self, data: Bytes, scratch: _Scratch) -> Positions:
        """Where the word begins in ``data``."""
        count = len(data) - self.size + 1
        if count <= 0:
            return np.zeros(0, np.int64)
        mask = self._equal(data, 0, scratch.mask(0, count))
        if self._masks == 2:
            np.logical_and(mask, self._equal(data, 1, scratch.mask(1, count)), out=mask)
        return self._narrow(data, _true_places(mask), self._masks)

    @property
    def has_rare_byte(self) -> bool:
        """Looking for its rarest byte alone leaves little to check."""
        return self._masks == 1

    def mark_rarest(self, data: Bytes, mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Where its rarest byte stands."""
        return self._marked(data, self._checks[0][1], mask)

    def among(self, data: Bytes, places: Positions) -> Positions:
        """Those of ``places`` where the word stands."""
        return self._narrow(data, places[: np.searchsorted(places, len(data) - self.size, "right")], 0)

    def around(self, data: Bytes, rare: Positions) -> Positions:
        """Where the word begins, given all places of its rarest byte (and others)."""
        begins = rare - self._checks[0][0]
        return self.among(data, begins[np.searchsorted(begins, 0) :])

    def _narrow(self, data: Bytes, places: Positions, done: int) -> Positions:
        for place, byte in self._checks[done:]:
            letters = data[places + place]
            places = places[(LOWER[letters] if self._fold else letters) == byte]
        return places

    def _equal(self, data: Bytes, check: int, mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        place, byte = self._checks[check]
        return self._marked(data[place : place + len(mask)], byte, mask)

    def _marked(self, window: Bytes, byte: int, mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        np.equal(window, np.uint8(byte), out=mask)
        if self._fold and chr(byte).islower():
            mask |= window == byte - 32
        return mask


def _true_places(mask: npt.NDArray[np.bool_]) -> Positions:
    """``np.flatnonzero``, by words of eight where few are true: that skips the rest eight times as fast."""
    whole = len(mask) // 8 * 8
    words = mask[:whole].view(np.uint64)
    hot = np.flatnonzero(words != 0)
    if len(hot) * _SPARSE > len(words):
        return np.flatnonzero(mask)
    inside = np.flatnonzero(words[hot].view(np.bool_))
    return np.concatenate([(hot[inside >> 3] << 3) + (inside & 7), np.flatnonzero(mask[whole:]) + whole])


def _places(words: list[_Word], data: Bytes, scratch: _Scratch) -> Positions:
    """Where any of the words begins, rising. Several with a rare byte each are looked for in one go."""
    if len(words) == 1:
        return words[0].find(data, scratch)
    if all(word.has_rare_byte for word in words):
        mask = words[0].mark_rarest(data, scratch.mask(0, len(data)))
        for word in words[1:]:
            np.logical_or(mask, word.mark_rarest(data, scratch.mask(1, len(data))), out=mask)
        rare = _true_places(mask)
        found = [word.around(data, rare) for word in words]
    else:
        found = [word.find(data, scratch) for word in words]
    return np.sort(np.concatenate(found))


def _lines_with(words: list[_Word], data: Data, starts: Positions, at_start: bool, scratch: _Scratch) -> Lines:
    """The lines that hold one of the words (that begin with one when ``at_start``)."""
    array = np.frombuffer(data, np.uint8)
    if at_start:
        places = np.sort(np.concatenate([word.among(array, starts) for word in words]))
    else:
        places = _places(words, array, scratch)
    lines = np.searchsorted(starts, places, "right") - 1
    return lines[np.flatnonzero(np.diff(lines, prepend=-1))]


def _confirmed(pattern: Pattern, data: Data, starts: Positions, lines: Lines) -> Lines:
    """Those of ``lines`` that match."""
    find = pattern.find
    ends = np.append(starts[1:] - 1, _text_end(data))
    spans = zip(lines.tolist(), starts[lines].tolist(), ends[lines].tolist(), strict=True)
    return np.array([line for line, begin, end in spans if find(data, begin, end) >= 0], np.int64)


def _scan(pattern: Pattern, data: Data, starts: Positions) -> Lines:
    """The matching lines, by RE2 alone."""
    data = bytes(data)
    find, newline = pattern.find, data.find
    end = _text_end(data)
    places = []
    at = 0
    while at <= end:
        place = find(data, at, end)
        if place < 0:
            break
        places.append(place)
        at = newline(b"\n", place, end) + 1
        if at == 0:
            break
    return np.searchsorted(starts, np.array(places, np.int64), "right") - 1


def _text_end(data: Data) -> int:
    """Where the last line's text ends: an empty rest behind the last newline is no line."""
    return len(data) - (data[-1:] == b"\n")
