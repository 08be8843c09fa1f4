"""The last lines of a file of any size at once, by reading backwards: no index is needed."""

from __future__ import annotations

import os
from dataclasses import dataclass

from mswb.files.safety import open_regular

BLOCK = 256 << 10
SCAN_LIMIT = 64 << 20
"""Bytes looked through backwards before giving up on finding more lines."""
MAX_LINE = 1 << 20
"""Bytes returned of one line."""


@dataclass(frozen=True, slots=True)
class Tail:
    """Consecutive lines without their newlines; ``offset`` is where the first begins, ``end`` behind the last."""

    offset: int
    end: int
    lines: tuple[bytes, ...]


def last_lines(path: str | os.PathLike[str], count: int, *, end: int | None = None) -> Tail:
    """The last ``count`` lines of a file, or the last ones that end at or before offset ``end`` (to scroll up).

    An unfinished last line is one. When a line reaches back further than :data:`SCAN_LIMIT`, fewer lines are
    returned, and the first may begin in mid-line. Of each line at most :data:`MAX_LINE` bytes are returned.

    Raises:
        MswbError: ``path-missing`` or ``path-unreadable``.
    """
    descriptor = open_regular(path)
    try:
        size = os.fstat(descriptor).st_size
        stop = size if end is None else min(end, size)
        starts = _starts_backwards(descriptor, count, stop)
        ends = [*starts[1:], stop]
        lines = [_read_line(descriptor, a, b) for a, b in zip(starts, ends, strict=True)] if starts else []
        return Tail(starts[0] if starts else stop, stop, tuple(lines))
    finally:
        os.close(descriptor)


def _starts_backwards(descriptor: int, count: int, stop: int) -> list[int]:
    """Where the last ``count`` lines ahead of ``stop`` begin, rising."""
    starts: list[int] = []  # falling while we go
    position = stop
    lowest = max(0, stop - SCAN_LIMIT)
    while len(starts) < count and position > lowest:
        begin = max(lowest, position - BLOCK)
        data = os.pread(descriptor, position - begin, begin)
        at = len(data)
        while len(starts) < count and (at := data.rfind(b"\n", 0, at)) >= 0:
            if begin + at + 1 < stop:  # the newline that ends the last line begins none
                starts.append(begin + at + 1)
        position = begin
    if len(starts) < count and position == lowest and stop > lowest:
        starts.append(lowest)
    return starts[::-1]


def _read_line(descriptor: int, begin: int, end: int) -> bytes:
    return os.pread(descriptor, min(end - begin, MAX_LINE + 1), begin).removesuffix(b"\n")[:MAX_LINE]
