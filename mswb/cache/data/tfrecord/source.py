"""The bytes of a TFRecord file by offset, whether it lies there plain or compressed; memory stays flat."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Protocol, overload

from mswb.cache.crc import mask, value
from mswb.files.safety import open_regular

CHUNK = 1 << 18
"""Bytes of a compressed file that are fed at once, and the most that comes out of one call."""
_MARKS = 128
_SPACING = 1 << 22
_GLANCE = 512
_STEP = 16
_EITHER = 47
"""zlib's window bits for a header of gzip or zlib."""
WRONG_TRAILER = "the checksum at the end of the packed data does not fit what came out"
"""What is said where every byte came out, and the packed file's own checksum of them is another."""
_PACKED = {b"\x1f\x8b\x08": "gzip", b"\x78\x01": "zlib", b"\x78\x5e": "zlib", b"\x78\x9c": "zlib", b"\x78\xda": "zlib"}


class Source(Protocol):
    """What frames are read from. ``size`` is None while nobody knows it; ``packing`` is "", "gzip" or "zlib"."""

    packing: str
    quick: Callable[[int, int], bytes]
    """As :meth:`read`, but with the length first, and fewer bytes may come at any time."""

    @property
    def size(self) -> int | None: ...

    def read(self, offset: int, length: int) -> bytes:
        """``length`` bytes from ``offset``; fewer only at the end."""
        ...

    def into(self, offset: int, view: memoryview) -> int:
        """Fill ``view`` from ``offset``; how many bytes that were, fewer than asked only at the end."""
        ...


class Plain:
    """A file as it lies there."""

    packing = ""

    def __init__(self, descriptor: int, size: int) -> None:
        self._descriptor = descriptor
        self.quick: Callable[[int, int], bytes] = partial(os.pread, descriptor)
        self.size: int | None = size

    def read(self, offset: int, length: int) -> bytes:
        data = os.pread(self._descriptor, length, offset)
        while 0 < len(data) < length:
            more = os.pread(self._descriptor, length - len(data), offset + len(data))
            if not more:
                break
            data += more
        return data

    def into(self, offset: int, view: memoryview) -> int:
        done = 0
        while done < len(view):
            count = os.preadv(self._descriptor, [view[done:]], offset + done)
            if not count:
                break
            done += count
        return done


class Packed:
    """What a gzip or zlib file holds.

    It is unpacked forwards. To go back, which only damage asks for, it begins again from the nearest of at most
    :data:`_MARKS` marks, which lie :data:`_SPACING` bytes apart, and farther the longer ago they were passed.

    Attributes:
        problem: why no more comes out, though the packed data does not end rightly; "" while all is well.
        cut: whether the problem is that the file ends too early.
        consumed: bytes of the file that went in.
    """

    def __init__(self, feed: Callable[[int, int], bytes], packing: str) -> None:
        self._feed = feed
        self.packing = packing
        self.quick: Callable[[int, int], bytes] = lambda length, offset: self.read(offset, length)
        self.problem = ""
        self.cut = False
        self._size: int | None = None
        self._marks: list[tuple[int, int, zlib._Decompress, bytes]] = []
        self._at = self.consumed = 0
        self._inflater = zlib.decompressobj(_EITHER)
        self._waiting = self._ready = b""
        self._ended = False
        self._mark()

    @property
    def size(self) -> int | None:
        return self._size

    def read(self, offset: int, length: int) -> bytes:
        if offset < self._at:
            at, consumed, inflater, waiting = next(mark for mark in reversed(self._marks) if mark[0] <= offset)
            self._go_to(at, consumed, inflater.copy(), waiting)
        pieces: list[bytes] = []
        wanted = length
        while wanted and not (self._ended and not self._ready):
            if not self._ready:
                self._ready = self._more()
                continue
            skip = offset - self._at
            if skip >= len(self._ready):
                self._advance(len(self._ready))
                continue
            piece = self._ready[skip : skip + wanted]
            pieces.append(piece)
            wanted -= len(piece)
            offset += len(piece)
            self._advance(skip + len(piece))
        return b"".join(pieces)

    def into(self, offset: int, view: memoryview) -> int:
        data = self.read(offset, len(view))
        view[: len(data)] = data
        return len(data)

    def _go_to(self, at: int, consumed: int, inflater: zlib._Decompress, waiting: bytes) -> None:
        self._at, self.consumed, self._inflater, self._waiting = at, consumed, inflater, waiting
        self._ready = b""
        self._ended = False

    def _advance(self, count: int) -> None:
        self._at += count
        self._ready = self._ready[count:]

    def _mark(self) -> None:
        self._marks.append((self._at, self.consumed, self._inflater.copy(), self._waiting))
        if len(self._marks) > _MARKS:
            self._marks = self._marks[: _MARKS // 2 : 2] + self._marks[_MARKS // 2 :]

    def _more(self) -> bytes:
        """The next bytes that come out, none at the end. Only called when nothing is ready."""
        if self._at >= self._marks[-1][0] + _SPACING:
            self._mark()
        while True:
            if self._inflater.eof:
                if not self._next_member():
                    return self._end("")
                continue
            if not self._waiting:
                self._waiting = self._fed()
                if not self._waiting:
                    return self._end("the packed data ends too early", cut=True)
            before, fed = self._inflater.copy(), self._waiting
            try:
                data = self._inflater.decompress(fed, CHUNK)
            except zlib.error as problem:
                return self._end(_words(problem), last=_before_error(before, fed))
            self._waiting = self._inflater.unconsumed_tail or self._inflater.unused_data
            if data:
                return data

    def _fed(self) -> bytes:
        data = self._feed(self.consumed, CHUNK >> 2)
        self.consumed += len(data)
        return data

    def _next_member(self) -> bool:
        """Whether another gzip member follows the one that has ended; padding with NUL is none (gzip -l)."""
        while not self._waiting.lstrip(b"\0"):
            self._waiting = self._fed()
            if not self._waiting:
                return False
        self._inflater = zlib.decompressobj(_EITHER)
        return True

    def _end(self, problem: str, *, cut: bool = False, last: bytes = b"") -> bytes:
        self._ended = True
        self.problem, self.cut = problem, cut
        self._size = self._at + len(last)
        return last


def _before_error(inflater: zlib._Decompress, fed: bytes) -> bytes:
    """What comes out of ``fed`` before the byte that zlib stumbles over."""
    out: list[bytes] = []
    for at in range(0, len(fed), _STEP):
        before = inflater.copy()
        try:
            out.append(inflater.decompress(fed[at : at + _STEP], CHUNK))
        except zlib.error:
            return b"".join([*out, *_single(before, fed[at : at + _STEP])])
    return b"".join(out)


def _single(inflater: zlib._Decompress, fed: bytes) -> Iterator[bytes]:
    """The same, byte by byte: the last records come out with the bytes before a trailer that is wrong."""
    try:
        for at in range(len(fed)):
            yield inflater.decompress(fed[at : at + 1], CHUNK)
    except zlib.error:
        return


def _words(problem: zlib.error) -> str:
    words = str(problem).rpartition(": ")[2]
    return WRONG_TRAILER if words == "incorrect data check" else words


class Window:
    """A record of any length as if it were bytes in memory, of which only what is asked for is read."""

    def __init__(self, source: Source, start: int, length: int) -> None:
        self._source, self._start, self._length = source, start, length
        self._from = 0
        self._here = b""

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, at: int) -> int: ...
    @overload
    def __getitem__(self, at: slice) -> bytes: ...
    def __getitem__(self, at: int | slice) -> int | bytes:
        if isinstance(at, slice):
            start, stop, _ = at.indices(self._length)
            return self._source.read(self._start + start, max(0, stop - start))
        if not self._from <= at < self._from + len(self._here):
            self._from = at
            self._here = self._source.read(self._start + at, min(_GLANCE, self._length - at))
        return self._here[at - self._from]


def packing_of(head: bytes) -> str:
    """ "gzip", "zlib" or "" by the first bytes, which for zlib prove little."""
    return next((name for magic, name in _PACKED.items() if head.startswith(magic)), "")


def _is_header(head: bytes) -> bool:
    return len(head) == 12 and mask(value(head[:8])) == int.from_bytes(head[8:], "little")


@contextmanager
def opened(path: str) -> Iterator[Source]:
    """The content of a regular file. It is unpacked when it begins like a packed file and something comes out.

    Raises:
        MswbError: ``path-missing`` or ``path-unreadable``.
    """
    descriptor = open_regular(path)
    try:
        plain = Plain(descriptor, os.fstat(descriptor).st_size)
        head = plain.read(0, 12)
        # a first record of 560,927 bytes begins like a gzip file, one of 376 like zlib
        packing = "" if _is_header(head) else packing_of(head)
        if packing:
            packed = Packed(plain.read, packing)
            if packed.read(0, 1) or packing == "gzip":
                yield packed
                return
        yield plain
    finally:
        os.close(descriptor)
