"""The lines of several growing files in the order of time, as chunks of rows, at four bytes a line.

The first build goes through the files once for the second each line belongs to, cuts time into buckets by that, and
then sorts bucket by bucket from the last to the first, so that the end is right at once. What is written later joins
the last chunk, which is sorted anew until it is full: a line that comes late by less than that still finds its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from mswb.files.logindex import LogIndex
from mswb.launch.logview.rows import Chunk, Place, Range
from mswb.launch.logview.stamps import NO_TIME, Times, line_times, own_times, rising

BUCKET = 1 << 17
"""Rows of a chunk of the first build, about."""
CHUNK = 1 << 16
"""Rows with which a growing chunk is full."""
BEHIND = 1 << 19
"""Lines that came since the last look above which they are cut into buckets, too."""
STEP = 1 << 18
"""Lines whose times are read between two questions whether to go on."""
_SAMPLE = 1 << 10
_SECOND = 1_000_000

Keys = npt.NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class Source:
    """A file of the view: its index, and by how many microseconds its writer's clock is ahead."""

    index: LogIndex
    offset_us: int = 0


Sources = Sequence[Source | None]
"""By file number; None: not there, or not readable."""


@dataclass
class _Open:
    """The last chunk, which still grows: its ranges, and where there are several files, the times of their lines.

    Attributes:
        oldest: nothing in it is meant to be older.
        latest: the latest time seen.
    """

    stops: dict[int, int] = field(default_factory=dict)
    oldest: int = NO_TIME
    latest: int = NO_TIME
    firsts: dict[int, int] = field(default_factory=dict)
    times: dict[int, Times] = field(default_factory=dict)

    def take(self, number: int, stop: int) -> None:
        """Add the lines of a file from where it ended to ``stop``."""
        self.firsts.setdefault(number, self.stops.get(number, 0))
        self.stops[number] = stop

    def take_timed(self, number: int, source: Source, stop: int, arrived: int) -> None:
        """The same, with times; the last known line was perhaps unfinished and is read again.

        A line that names no time, and came without a record before it, has the time of its arrival.
        """
        first = self.firsts.setdefault(number, self.stops.get(number, 0))
        known = self.times.get(number, np.zeros(0, np.int64))
        done = max(0, len(known) - 1)
        own = own_times(source.index, first + done, stop, source.offset_us)
        for at, otherwise in ((0, known[-1] if len(known) else arrived), (len(known) - done, arrived)):
            if at < len(own) and own[at] == NO_TIME:
                own[at] = otherwise
        self.keep(number, stop, rising(np.concatenate([known[:done], own])))

    def keep(self, number: int, stop: int, times: Times) -> None:
        """These are the times of the file's lines in this chunk."""
        self.times[number], self.stops[number] = times, stop
        self.latest = max(self.latest, int(times[-1]) if len(times) else NO_TIME)

    def chunk(self, *, timed: bool) -> Chunk:
        numbers = sorted(self.firsts)
        ranges = [Range(number, self.firsts[number], self.stops[number]) for number in numbers]
        return Chunk.of(ranges, _sorted([self.times[number] for number in numbers]) if timed else None)

    def next(self) -> _Open:
        """The chunk behind this one, still empty."""
        return _Open(dict(self.stops), self.latest, self.latest)


class Order:
    """All lines of some files as chunks. One thread builds and extends it, and hands the chunks out."""

    def __init__(self) -> None:
        self.chunks: list[Chunk] = []
        self.changed = 0
        """The first chunk that :meth:`build` or :meth:`catch_up` made anew."""
        self._unsorted: list[int] = []  # chunks that still hold each file's lines together
        self._open = _Open()
        self._timed = False
        self._sizes: dict[int, int] = {}
        self._unfinished: set[int] = set()  # files whose last line had no newline

    @property
    def unsorted(self) -> int:
        """Chunks that still hold each file's lines together."""
        return len(self._unsorted)

    def build(self, sources: Sources) -> Iterator[float]:
        """Begin anew with all lines indexed so far; yields the share done. Stopping early leaves it unbuilt."""
        self._timed = sum(source is not None for source in sources) > 1
        self._open, self._unsorted, self.changed = _Open(), [], 0
        yield from self._take_in(sources, ())

    def is_behind(self, sources: Sources) -> bool:
        """Whether so much was indexed since that :meth:`catch_up` is better than :meth:`grow`."""
        reached = self._open.stops
        counts = (source.index.line_count - reached.get(number, 0) for number, source in enumerate(sources) if source)
        return self._timed and sum(counts) > BEHIND

    def catch_up(self, sources: Sources) -> Iterator[float]:
        """Take in very much that has been indexed since, as a build does; yields the share done. Stopping early leaves
        everything as it was."""
        kept = self.chunks[:-1]
        self.changed = min([len(kept), *map(self._chunk_of, self._rewritten(sources))])
        yield from self._take_in(sources, kept)

    def _rewritten(self, sources: Sources) -> Iterator[Place]:
        """Lines ahead of the last chunk that were unfinished, and are not any more."""
        for number in self._unfinished - self._open.firsts.keys():
            source = sources[number]
            if source is not None and source.index.size != self._sizes.get(number, 0):
                yield Place(number, self._open.stops[number] - 1)

    def _take_in(self, sources: Sources, kept: Sequence[Chunk]) -> Iterator[float]:
        """All lines from where the last chunk begins as chunks behind those that are kept."""
        sizes = {number: source.index.size for number, source in enumerate(sources) if source is not None}
        ends = {number for number, source in enumerate(sources) if source is not None and source.index.unfinished}
        stops = [0 if source is None else source.index.line_count for source in sources]
        reached = self._open.stops | self._open.firsts
        whole = [Range(number, min(stop, reached.get(number, 0)), stop) for number, stop in enumerate(stops)]
        total = sum(one.size for one in whole)
        plan = [whole]
        if not self._timed:
            plan = [[piece] for one in whole for piece in _cut_range(one)]
        elif total > 2 * BUCKET:
            keys = [np.zeros(one.size, np.uint32) for one in whole]
            done = 0
            for read in (
                lines for one, key in zip(whole, keys, strict=True) for lines in _fill_keys(sources, one, key)
            ):
                done += read
                yield done / total
            plan = list(_buckets(keys, [one.first for one in whole]))
        self._sizes, self._unfinished = sizes, ends
        self.chunks = [*kept, *map(Chunk.of, plan)]
        self._unsorted += range(len(kept), len(self.chunks)) if self._timed else ()
        self._begin_open(sources, stops)

    def sort_next(self, sources: Sources) -> int | None:
        """Sort the last chunk that isn't yet. Returns its number; None when all are."""
        if not self._unsorted:
            return None
        number = self._unsorted.pop()
        chunk = self.chunks[number]
        times = [_times_of(sources, one) for one in chunk.ranges]
        self.chunks[number] = Chunk(chunk.ranges, chunk.ends, _sorted(times))
        return number

    def grow(self, sources: Sources) -> int | None:
        """Take in what has been indexed since. Returns the first chunk that changed; None without news."""
        taking = self._open
        arrived = taking.latest + 1
        grown, changed = False, len(self.chunks) - 1
        for number, source in enumerate(sources):
            if source is None or source.index.size == self._sizes.get(number, 0):
                continue
            grown = True  # perhaps by the rest of an unfinished line only
            if number in self._unfinished and number not in taking.firsts:
                changed = min(changed, self._chunk_of(Place(number, taking.stops[number] - 1)))
            self._note_end(number, source)
            self._sizes[number], stop = source.index.size, source.index.line_count
            if self._timed:
                taking.take_timed(number, source, stop, arrived)
            else:
                taking.take(number, stop)
        if not grown:
            return None
        whole = taking.chunk(timed=self._timed)
        cut = [Chunk.of([one]) for one in _cut_range(whole.ranges[0])] if whole.size and not self._timed else [whole]
        self.chunks[-1:] = cut
        if whole.size >= CHUNK:
            self._close()
        return changed

    def fits(self, sources: Sources) -> bool:
        """Whether what has been indexed since the build can join at the end; else everything must be built anew."""
        if self._timed != (sum(source is not None for source in sources) > 1):
            return False
        reached = self._open.stops
        return all(
            reached.get(number, 0) > 0 or source is None or self._joins(source) for number, source in enumerate(sources)
        )

    def _joins(self, source: Source) -> bool:
        """A file that appeared, or had no lines so far, may join with few lines, none older than the last chunk."""
        if not self._timed or not source.index.line_count:
            return True
        if source.index.line_count > CHUNK:
            return False
        own = own_times(source.index, 0, min(source.index.line_count, _SAMPLE), source.offset_us)
        known = own[own != NO_TIME]
        return not len(known) or int(known[0]) >= self._open.oldest

    def _begin_open(self, sources: Sources, stops: Sequence[int]) -> None:
        """The last chunk goes on growing when it is small; else an empty one follows."""
        self._open = _Open(dict(enumerate(stops)))
        if not self.chunks or self.chunks[-1].size >= CHUNK:
            ranges = self.chunks[-1].ranges if self.chunks and self._timed else ()
            self._open.latest = max((_latest(sources, one) for one in ranges), default=NO_TIME)
            self._close()
            return
        for one in self.chunks[-1].ranges:
            self._open.firsts[one.file] = one.first
            if self._timed:
                self._open.keep(one.file, one.stop, _times_of(sources, one))
        if self._timed:
            self.chunks[-1] = self._open.chunk(timed=True)
            self._unsorted.pop()
            if len(self.chunks) > 1:
                self._open.oldest = min(int(times[0]) for times in self._open.times.values())

    def _note_end(self, number: int, source: Source | None) -> None:
        unfinished = source is not None and source.index.unfinished
        (self._unfinished.add if unfinished else self._unfinished.discard)(number)

    def _chunk_of(self, place: Place) -> int:
        """The chunk that holds a line; a late one is looked for first."""
        numbers = range(len(self.chunks) - 1, -1, -1)
        return next((number for number in numbers if self.chunks[number].row_of(place) is not None), 0)

    def _close(self) -> None:
        self._open = self._open.next()
        self.chunks.append(Chunk.of(()))


def _cut(size: int) -> Iterator[tuple[int, int]]:
    return pairwise([*range(0, size, CHUNK), size])


def _cut_range(one: Range) -> list[Range]:
    return [Range(one.file, one.first + low, one.first + high) for low, high in _cut(one.size)]


def _sorted(times: Sequence[Times]) -> npt.NDArray[np.uint32]:
    """The order of the joined lines by time; lines of one time stay in the order of their files."""
    return np.argsort(np.concatenate([np.zeros(0, np.int64), *times]), kind="stable").astype(np.uint32)


def _times_of(sources: Sources, one: Range) -> Times:
    source = sources[one.file]
    assert source is not None
    return line_times(source.index, one.first, one.stop, source.offset_us)


def _latest(sources: Sources, one: Range) -> int:
    """The latest time among the last lines of a range."""
    return int(_times_of(sources, Range(one.file, max(one.first, one.stop - _SAMPLE), one.stop))[-1])


def _fill_keys(sources: Sources, one: Range, keys: Keys) -> Iterator[int]:
    """Give each line the second it belongs to: never falling, 0 ahead of the first record. Yields lines done."""
    source, highest = sources[one.file], NO_TIME
    for low in range(0, one.size if source is not None else 0, STEP):
        assert source is not None
        begin = one.first + low
        times = own_times(source.index, begin, min(one.stop, begin + STEP), source.offset_us)
        times[0] = max(int(times[0]), highest)
        times = rising(times)
        highest = int(times[-1])
        keys[low : low + len(times)] = np.maximum(times // _SECOND, 0)
        yield len(times)


def _untimed(ranges: Sequence[Range]) -> Iterator[list[Range]]:
    """The lines ahead of each file's first record, one file after the other, in groups of about a bucket."""
    group: list[Range] = []
    size = 0
    for one in ranges:
        for low, high in pairwise([*range(one.first, one.stop, BUCKET), one.stop]):
            if group and (size + high - low > BUCKET or group[-1].file == one.file):
                yield group
                group, size = [], 0
            group.append(Range(one.file, low, high))
            size += high - low
    if group:
        yield group


def _buckets(keys: Sequence[Keys], firsts: Sequence[int]) -> Iterator[list[Range]]:
    """Ranges of all files for each bucket of whole seconds; the keys are those of the lines from ``firsts`` on."""
    timed = [int(np.searchsorted(part, 1, "left")) for part in keys]
    yield from _untimed(
        [Range(number, first, first + stop) for number, (first, stop) in enumerate(zip(firsts, timed, strict=True))]
    )
    samples = np.sort(np.concatenate([part[start::_SAMPLE] for start, part in zip(timed, keys, strict=True)]))
    limits = np.unique(samples[BUCKET // _SAMPLE :: BUCKET // _SAMPLE])
    bounds = [
        np.concatenate([[start], np.searchsorted(part, limits, "left"), [len(part)]])
        for start, part in zip(timed, keys, strict=True)
    ]
    for low, high in pairwise(range(len(limits) + 2)):
        pairs = enumerate(zip(firsts, bounds, strict=True))
        ranges = [Range(number, first + int(each[low]), first + int(each[high])) for number, (first, each) in pairs]
        if any(one.size for one in ranges):
            yield ranges
