"""Reading a data file of any size with little memory: a window of it at a time, by offset."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

WINDOW = 4 << 20
"""Bytes that are read at once; a longer row is read whole."""


class Reader:
    """A file and the window of it that was read last. One for each place that is read in order.

    Attributes:
        size: of the file in bytes, when it was opened.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._window = memoryview(b"")
        self._begin = 0
        self.size = os.fstat(descriptor).st_size

    def twin(self) -> Reader:
        """Another window on the same file."""
        return Reader(self._descriptor)

    def view(self, offset: int, length: int) -> memoryview:
        """``length`` bytes at ``offset``; fewer at the end of the file."""
        begin = offset - self._begin
        if begin < 0 or begin + length > len(self._window):
            # What was asked for may end behind the file: then this reads up to its end, and again the next time.
            self._window = memoryview(os.pread(self._descriptor, max(length, WINDOW), offset))
            self._begin, begin = offset, 0
        return self._window[begin : begin + length]


@contextmanager
def opened(path: str) -> Iterator[Reader]:
    """A reader of a regular file.

    Raises:
        OSError: it can't be opened, or is no regular file.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, "it is not a regular file")
        yield Reader(descriptor)
    finally:
        os.close(descriptor)
