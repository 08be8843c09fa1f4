"""A bounded look into a file of unknown content: at most 64 KiB are read, whatever the content asks for.

Sniffers take a :class:`Peek`, so they work alike on a file, on the inside of a compressed one, and on bytes in a test.
"""

from __future__ import annotations

import os
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LIMIT = 1 << 16
"""Bytes that are read of one file, at most."""
HEAD = 4096
UNKNOWN_SIZE = 1 << 62
"""The size of what a compressed file holds: never asked for, never reached."""

_GZIP = b"\x1f\x8b\x08"
_ZLIB = (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")


class Peek:
    """The first bytes of a file, and any others within the budget. ``name`` is the base name, ``size`` in bytes."""

    __slots__ = ("_left", "_read", "head", "lower", "name", "path", "size")

    def __init__(self, path: str, size: int, read: Callable[[int, int], bytes]) -> None:
        self.path = path
        self.name = os.path.basename(path)
        self.lower = self.name.lower()
        self.size = size
        self._read = read
        self._left = LIMIT
        self.head = b""
        self.head = self.at(0, HEAD)

    @property
    def is_text(self) -> bool:
        """Whether the first bytes hold none that a text never has."""
        return not any(byte < 9 or 13 < byte < 27 for byte in self.head[:512])

    def at(self, offset: int, length: int) -> bytes:
        """Up to ``length`` bytes from ``offset``; fewer at the end of the file, none once the budget is spent."""
        if offset < 0 or offset >= self.size:
            return b""
        length = min(length, self.size - offset)
        if offset + length <= len(self.head):
            return self.head[offset : offset + length]
        data = self._read(offset, min(length, self._left))
        self._left -= len(data)
        return data

    def start(self) -> bytes:
        """A longer beginning: half of the budget (the whole file when it is smaller)."""
        if len(self.head) < HEAD or self.size == len(self.head):
            return self.head
        return self.head + self.at(len(self.head), LIMIT // 2 - len(self.head))

    def tail(self, length: int) -> bytes:
        """The last ``length`` bytes, as far as the budget reaches; nothing when the size is unknown."""
        return b"" if self.size == UNKNOWN_SIZE else self.at(max(0, self.size - length), length)


@contextmanager
def open_peek(path: str) -> Iterator[Peek]:
    """A look into a regular file. The last part of the path may not be a link; a pipe or a device is not waited for.

    Raises:
        OSError: it can't be opened or read, or is no regular file.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(0, "it is not a regular file")
        yield Peek(path, status.st_size, lambda offset, length: os.pread(descriptor, length, offset))
    finally:
        os.close(descriptor)


def of_bytes(name: str, data: bytes, size: int | None = None) -> Peek:
    """A look into bytes that are in memory already."""
    return Peek(name, len(data) if size is None else size, lambda offset, length: data[offset : offset + length])


def compression(peek: Peek) -> str:
    """ "gzip", "zlib" or "" by the first bytes. Two bytes of zlib prove little: see :func:`unpacked`."""
    if peek.head.startswith(_GZIP):
        return "gzip"
    return "zlib" if peek.head.startswith(_ZLIB) else ""


def unpacked(peek: Peek) -> Peek | None:
    """A look at what a gzip or zlib file holds (its first 32 KiB), or None when it is neither."""
    if not compression(peek):
        return None
    inflater = zlib.decompressobj(wbits=47)  # 32 + 15: either header
    try:
        data = inflater.decompress(peek.start(), LIMIT // 2)
    except zlib.error:
        return None
    name = peek.path[:-3] if peek.lower.endswith(".gz") else peek.path
    return of_bytes(name, data, UNKNOWN_SIZE) if data else None
