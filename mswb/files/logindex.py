"""Where each line of a log of any size starts, and its level: five bytes a line.

The file is read in blocks that fit a core's cache; numpy finds the newlines of a block and gathers the first eight
bytes behind each. A growing file is extended, a replaced or cut one begun anew. The tail can be had without any index.
"""

from __future__ import annotations

import os
import threading
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from mswb.files.levels import PREFIX_BYTES, Level, Levels, levels_at
from mswb.files.safety import open_regular
from mswb.findings import stop

BLOCK = 512 << 10
"""Bytes scanned at once: small enough for the second-level cache."""
SEGMENT = 16 << 20
"""Bytes after which lines are published, progress told and cancellation asked."""
MAX_LINES = 400_000_000
"""Lines after which indexing stops (2 GB of memory): a file of bare newlines must not eat the host."""
MAX_LINE = 1 << 20
"""Bytes returned of one line."""
_MERGE_LINES = 1 << 16
_HEAD = 256

Starts = npt.NDArray[np.uint32]
Lines = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Segment:
    """Consecutive lines: the first one's number, and where each starts, in bytes from ``base``."""

    base: int
    first_line: int
    starts: Starts
    levels: Levels


class LogIndex:
    """Line starts and levels of one file. One thread extends it; any thread may read it meanwhile.

    Lines count from 0. The last line may be unfinished; an empty rest behind the last newline is no line.

    Args:
        hold: keep the descriptor open. Without it each call opens the file anew (thousands of logs are more than a
            process may hold open), and what a deleted or replaced file held can't be read any more.

    Raises:
        MswbError: ``path-missing`` or ``path-unreadable``; when reading too, without ``hold``.

    Attributes:
        generation: counts how often the file was begun anew; line numbers of another generation mean nothing.
    """

    def __init__(self, path: str | os.PathLike[str], *, hold: bool = True) -> None:
        self.path = os.fspath(path)
        self.generation = 0
        descriptor = open_regular(self.path)
        self._identity = _identity(os.fstat(descriptor))
        self._fd = descriptor if hold else None
        if not hold:
            os.close(descriptor)
        self._lock = threading.Lock()
        self._clear()

    def _clear(self) -> None:
        start, level = np.zeros(1, np.uint32), np.zeros(1, np.uint8)
        self._segments = [Segment(0, 0, start, level)]
        self._first_lines = [0]
        self._known = 1  # line starts, the one behind the last newline included
        self._size = 0
        self._head = b""
        self._counts: Counter[int] = Counter({0: 1})

    def close(self) -> None:
        """Give the descriptor back."""
        if self._fd is not None:
            os.close(self._fd)

    @contextmanager
    def _descriptor(self, same: bool = True) -> Iterator[int]:
        """A descriptor for the length of a block; of the file that was indexed only, when ``same``."""
        if self._fd is not None:
            yield self._fd
            return
        descriptor = open_regular(self.path)
        try:
            if same and _identity(os.fstat(descriptor)) != self._identity:
                raise stop("path-missing", values={"path": self.path})
            yield descriptor
        finally:
            os.close(descriptor)

    @property
    def size(self) -> int:
        """Bytes indexed."""
        return self._size

    @property
    def line_count(self) -> int:
        """Lines indexed, an unfinished last one included."""
        with self._lock:
            return self._line_count()

    def _line_count(self) -> int:
        last = self._segments[-1]
        return self._known - (last.base + int(last.starts[-1]) >= self._size)

    @property
    def unfinished(self) -> bool:
        """Whether the last line has no newline so far."""
        with self._lock:
            last = self._segments[-1]
            return last.base + int(last.starts[-1]) < self._size

    @property
    def memory_bytes(self) -> int:
        """Bytes the arrays take."""
        with self._lock:
            return sum(segment.starts.nbytes + segment.levels.nbytes for segment in self._segments)

    @property
    def is_full(self) -> bool:
        """Whether :data:`MAX_LINES` stopped it."""
        return self._known >= MAX_LINES

    def extend(
        self,
        cancelled: Callable[[], bool] = lambda: False,
        progress: Callable[[int, int], object] = lambda done, total: None,
    ) -> bool:
        """Index what was appended since the last call. Returns whether the end was reached.

        Args:
            cancelled: asked every :data:`SEGMENT` bytes; a later call goes on where this one stopped.
            progress: told bytes done and bytes in all.

        Raises:
            MswbError: the file was replaced by one that can't be read.
        """
        with self._descriptor(same=False) as descriptor:
            return self._extend(descriptor, cancelled, progress)

    def _extend(self, descriptor: int, cancelled: Callable[[], bool], progress: Callable[[int, int], object]) -> bool:
        self._notice_restart(descriptor)
        size = os.fstat(descriptor).st_size
        if size > self._size:
            self._recheck_last_lines(descriptor, size)
        while self._size < size and not self.is_full:
            if cancelled():
                return False
            end = min(size, self._size + SEGMENT)
            base = self._size
            blocks = list(_scan(descriptor, base, end))
            if not blocks:  # cut meanwhile: the next call begins anew
                return False
            self._publish(base, end, blocks)
            progress(end, size)
        return self._size >= size

    def _notice_restart(self, descriptor: int) -> None:
        mine = os.fstat(descriptor)
        try:
            status = os.stat(self.path)
        except OSError:  # deleted or renamed: what we hold open is still readable
            status = mine
        replaced = _identity(status) != self._identity
        if replaced or mine.st_size < self._size or os.pread(descriptor, len(self._head), 0) != self._head:
            fresh = open_regular(self.path)
            with self._lock:
                os.dup2(fresh, descriptor, inheritable=False)
                os.close(fresh)
                self._identity = _identity(os.fstat(descriptor))
                self._clear()
                self.generation += 1

    def _recheck_last_lines(self, descriptor: int, size: int) -> None:
        """Levels of lines whose first bytes were not all there when they were looked at."""
        with self._lock:
            last = self._segments[-1]
            count = min(len(last.starts), PREFIX_BYTES + 1)
            starts = last.starts[-count:].astype(np.int64)
            data = _padded(os.pread(descriptor, int(starts[-1] - starts[0]) + PREFIX_BYTES, last.base + int(starts[0])))
            levels = levels_at(data, starts - starts[0])
            self._counts.subtract(last.levels[-count:].tolist())
            self._counts.update(levels.tolist())
            self._segments[-1] = Segment(
                last.base, last.first_line, last.starts, np.concatenate([last.levels[:-count], levels])
            )
            if len(self._head) < _HEAD:
                self._head = os.pread(descriptor, min(_HEAD, size), 0)

    def _publish(self, base: int, end: int, blocks: list[tuple[Starts, Levels]]) -> None:
        starts = np.concatenate([block[0] for block in blocks])
        levels = np.concatenate([block[1] for block in blocks])
        with self._lock:
            last = self._segments[-1]
            if len(starts) and len(last.starts) < _MERGE_LINES and end - last.base < 1 << 32:
                shifted = starts + np.uint32(base - last.base)
                self._segments[-1] = Segment(
                    last.base,
                    last.first_line,
                    np.concatenate([last.starts, shifted]),
                    np.concatenate([last.levels, levels]),
                )
            elif len(starts):
                self._segments.append(Segment(base, self._known, starts, levels))
                self._first_lines.append(self._known)
            self._known += len(starts)
            self._size = end
            for level, count in enumerate(np.bincount(levels, minlength=len(Level)).tolist()):
                self._counts[level] += count

    def segments(self) -> list[Segment]:
        """The index itself, as it is now."""
        with self._lock:
            return list(self._segments)

    def counts(self) -> dict[Level, int]:
        """Lines by level."""
        with self._lock:
            counts = dict(self._counts)
            counts[Level.NONE] -= self._known - self._line_count()
        return {level: counts.get(level, 0) for level in Level}

    def span(self, start: int, stop: int) -> tuple[int, int]:
        """The bytes of lines ``start`` to ``stop`` (exclusive), newlines included, cut to what is indexed."""
        with self._lock:
            return self._offset(start), self._offset(stop)

    def _offset(self, line: int) -> int:
        if line >= self._known:
            return self._size
        segment = self._segments[self._place(line)]
        return segment.base + int(segment.starts[line - segment.first_line])

    def _place(self, line: int) -> int:
        return bisect_right(self._first_lines, line) - 1

    def offsets(self, start: int, stop: int) -> Lines:
        """Where lines ``start`` to ``stop`` (exclusive) begin, in bytes."""
        stop = min(stop, self.line_count)
        parts = [np.zeros(0, np.int64)]
        for segment in self.segments():
            low, high = start - segment.first_line, stop - segment.first_line
            if high > 0 and low < len(segment.starts):
                parts.append(segment.starts[max(0, low) : high].astype(np.int64) + segment.base)
        return np.concatenate(parts)

    def lines(self, start: int, stop: int, limit: int = MAX_LINE) -> list[bytes]:
        """Lines ``start`` to ``stop`` (exclusive) without their newlines; of each at most ``limit`` bytes."""
        stop = min(stop, self.line_count)
        if stop <= start:
            return []
        with self._lock, self._descriptor() as descriptor:
            bounds = [self._offset(line) for line in range(start, stop + 1)]
            if bounds[-1] - bounds[0] <= limit:
                data = os.pread(descriptor, bounds[-1] - bounds[0], bounds[0])
                pieces = [data[a - bounds[0] : b - bounds[0]] for a, b in pairwise(bounds)]
            else:
                sizes = pairwise(bounds)
                pieces = [os.pread(descriptor, min(b - a, limit + 1), a)[: limit + 1] for a, b in sizes]
        return [piece.removesuffix(b"\n")[:limit] for piece in pieces]

    def line_at(self, offset: int) -> int:
        """The line that holds the byte at ``offset``."""
        with self._lock:
            index = max(0, bisect_right(self._segments, offset, key=lambda segment: segment.base) - 1)
            # A segment's first line starts behind its base: the byte may belong to a line that began before.
            while index and self._segments[index].base + int(self._segments[index].starts[0]) > offset:
                index -= 1
            segment = self._segments[index]
            return segment.first_line + int(np.searchsorted(segment.starts, offset - segment.base, "right")) - 1

    def levels(self, start: int, stop: int) -> Levels:
        """The levels of lines ``start`` to ``stop`` (exclusive)."""
        stop = min(stop, self.line_count)
        parts = [np.zeros(0, np.uint8)]
        for segment in self.segments():
            low, high = start - segment.first_line, stop - segment.first_line
            if high > 0 and low < len(segment.levels):
                parts.append(segment.levels[max(0, low) : high])
        return np.concatenate(parts)

    def level_of(self, line: int) -> Level:
        """The level of one line."""
        with self._lock:
            segment = self._segments[self._place(line)]
            return Level(int(segment.levels[line - segment.first_line]))

    def next_at_least(self, level: Level, after: int) -> int | None:
        """The first line behind ``after`` with this level or a higher one (-1: from the top)."""
        for segment in self.segments():
            begin = max(0, after + 1 - segment.first_line)
            hits = np.flatnonzero(segment.levels[begin:] >= level)
            if len(hits):
                return segment.first_line + begin + int(hits[0])
        return None

    def previous_at_least(self, level: Level, before: int) -> int | None:
        """The last line ahead of ``before`` with this level or a higher one."""
        for segment in reversed(self.segments()):
            hits = np.flatnonzero(segment.levels[: max(0, before - segment.first_line)] >= level)
            if len(hits):
                return segment.first_line + int(hits[-1])
        return None

    def read(self, offset: int, size: int) -> bytes:
        """Bytes of the indexed file."""
        with self._descriptor() as descriptor:
            return os.pread(descriptor, size, offset)

    def read_into(self, buffer: memoryview, offset: int) -> int:
        """Fill ``buffer`` from ``offset``. Returns the bytes read."""
        with self._descriptor() as descriptor:
            return os.preadv(descriptor, [buffer], offset)


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _scan(descriptor: int, base: int, end: int) -> Iterator[tuple[Starts, Levels]]:
    """Per block, where lines start behind its newlines (in bytes from ``base``) and their levels."""
    buffer = bytearray(BLOCK + 2 * PREFIX_BYTES)
    view, data = memoryview(buffer), np.frombuffer(buffer, np.uint8)
    mask = np.empty(BLOCK, np.bool_)
    offset = base
    while offset < end:
        # A line that starts at the block's very end has its first bytes in the next one: read a little ahead.
        got = os.preadv(descriptor, [view[: BLOCK + PREFIX_BYTES]], offset)
        view[got : got + PREFIX_BYTES] = bytes(PREFIX_BYTES)
        size = min(got, BLOCK, end - offset)
        if size <= 0:
            break
        starts = np.flatnonzero(np.equal(data[:size], 10, out=mask[:size])) + 1
        yield (starts + (offset - base)).astype(np.uint32), levels_at(data, starts)
        offset += size


def _padded(data: bytes) -> npt.NDArray[np.uint8]:
    return np.frombuffer(data + bytes(2 * PREFIX_BYTES), np.uint8)
