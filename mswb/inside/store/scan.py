"""Reading a shard from its first record to its last without its index: what is whole, what is not, and where.

Blocks are read with pread, never mapped, so a file that is cut meanwhile ends the scan and not the process; memory
stays at one block whatever a record claims to hold.
"""

from __future__ import annotations

import os
from typing import Any, Iterator, NamedTuple, Optional

from .layout import (
    GRID,
    RECORD_HEADER,
    RECORD_MAGIC,
    ShardHeader,
    StreamHash,
    hash_function,
    record_size,
    unpack_record_header,
)

BLOCK = 4 << 20
"""Bytes that are read at once; longer payloads are hashed in pieces."""


class Seen(NamedTuple):
    """A place in a shard. ``reason`` is "" for a whole record, else what is wrong.

    ``offset`` is where the record (or the damaged place) begins, ``size`` the bytes that it takes in the shard with its
    header and padding, ``length`` and ``digest`` what its header says of the payload (-1 without one), ``byte`` the
    place of the fault where that is known, ``intact`` whether the payload is whole.
    """

    offset: int
    size: int
    sample_id: int
    length: int
    digest: int
    reason: str = ""
    status: str = ""
    byte: Optional[int] = None
    intact: bool = True


class Window:
    """A file through one block of memory."""

    def __init__(self, descriptor: int, size: int, block: int = BLOCK) -> None:
        self.size = size
        self._descriptor = descriptor
        self._buffer = bytearray(block)
        self._memory = memoryview(self._buffer)
        self._start = self._end = 0

    @property
    def block(self) -> int:
        """Bytes that can be asked for at once."""
        return len(self._buffer)

    def at(self, offset: int, length: int) -> memoryview:
        """``length`` bytes from ``offset``, fewer at the end of the file; valid until the next call.

        At most a block can be asked for.
        """
        if offset < self._start or offset + length > self._end:
            self._read(offset)
        begin = offset - self._start
        return self._memory[begin : min(begin + length, self._end - self._start)]

    def find(self, what: bytes, offset: int, end: int) -> int:
        """Where ``what`` begins at a multiple of 64 at or after ``offset`` and before ``end``; -1 if nowhere."""
        while offset + len(what) <= end:
            if not self._start <= offset <= self._end - len(what):
                self._read(offset)
                if self._end < offset + len(what):
                    return -1
            stop = min(self._end, end) - self._start
            hit = self._buffer.find(what, offset - self._start, stop)
            if hit < 0:
                offset = self._start + stop - len(what) + 1
            elif (self._start + hit) % GRID == 0:
                return self._start + hit
            else:
                offset = self._start + hit + 1
        return -1

    def _read(self, offset: int) -> None:
        want = min(len(self._buffer), max(0, self.size - offset))
        done = 0
        while done < want:
            got = os.preadv(self._descriptor, [self._memory[done:want]], offset + done)
            if not got:
                break
            done += got
        self._start, self._end = offset, offset + done


def scan(descriptor: int, header: ShardHeader, start: int, end: int, block: int = BLOCK) -> Iterator[Seen]:
    """Every record between two offsets, and every place that is none, in order.

    A payload that does not give its hash is told with its record; behind a damaged header the next whole header on
    the grid goes on. What follows the last whole record and holds no further one is a torn tail: one place with the
    status ``truncated``.

    Raises:
        MissingHash: see :func:`mswb.inside.store.layout.hash_function`.
        OSError: the file can't be read.
    """
    window = Window(descriptor, end, block)
    digest_of = hash_function(header.hash_name)
    seed, offset = header.seed, start
    while offset < end:
        known = unpack_record_header(window.at(offset, RECORD_HEADER), seed)
        if known is None:
            resumed = _next_header(window, offset + GRID, end, seed)
            yield _gap(window, offset, end if resumed < 0 else resumed, resumed < 0)
            offset = end if resumed < 0 else resumed
            continue
        sample_id, length, digest = known
        size = record_size(length)
        if offset + size > end:
            resumed = _next_header(window, offset + GRID, end, seed)
            stop = end if resumed < 0 else resumed
            reason = "the record needs %d bytes and %d are left" % (size, end - offset)
            status = "truncated" if resumed < 0 else "corrupted"
            yield Seen(offset, stop - offset, sample_id, length, digest, reason, status, intact=False)
            offset = stop
            continue
        yield _record(window, offset, size, sample_id, length, digest, digest_of, header.hash_name)
        offset += size


def _record(
    window: Window, offset: int, size: int, sample_id: int, length: int, digest: int, digest_of: Any, hash_name: str
) -> Seen:
    if size <= window.block:
        data = window.at(offset, size)
        if len(data) < size:
            return Seen(
                offset, size, sample_id, length, digest, "the file was cut while it was read", "truncated", intact=False
            )
        found = digest_of(data[RECORD_HEADER : RECORD_HEADER + length])
        pad = bytes(data[RECORD_HEADER + length :])
    else:
        found, pad = _streamed(window, offset + RECORD_HEADER, length, size - RECORD_HEADER, hash_name)
    if found != digest:
        reason = "the payload's hash is %016x, the data gives %016x" % (digest, found)
        return Seen(offset, size, sample_id, length, digest, reason, "corrupted", intact=False)
    if pad.count(0) != len(pad):
        byte = offset + RECORD_HEADER + length + len(pad) - len(pad.lstrip(b"\0"))
        return Seen(offset, size, sample_id, length, digest, "the padding after it is not zero", "corrupted", byte)
    return Seen(offset, size, sample_id, length, digest)


def _streamed(window: Window, start: int, length: int, whole: int, hash_name: str) -> "tuple[int, bytes]":
    state, at = StreamHash(hash_name), start
    while at < start + length:
        piece = window.at(at, min(window.block, start + length - at))
        if not piece:
            break
        state.update(piece)
        at += len(piece)
    return state.value(), bytes(window.at(start + length, whole - length)) if whole > length else b""


def _next_header(window: Window, offset: int, end: int, seed: int) -> int:
    """Where the next whole record header begins; -1 when there is none."""
    while True:
        offset = window.find(RECORD_MAGIC, offset, end)
        if offset < 0:
            return -1
        if unpack_record_header(window.at(offset, RECORD_HEADER), seed) is not None:
            return offset
        offset += GRID


def _gap(window: Window, offset: int, stop: int, is_tail: bool) -> Seen:
    data = bytes(window.at(offset, RECORD_HEADER))
    what = "zeros" if data.count(0) == len(data) else "no record header"
    if data.startswith(RECORD_MAGIC):
        what = "a record header whose CRC is wrong" if len(data) == RECORD_HEADER else "a record header that is cut"
    reason = "there are %s, up to %s" % (what, "the end" if is_tail else "byte %d" % stop)
    return Seen(offset, stop - offset, -1, -1, -1, reason, "truncated" if is_tail else "corrupted", intact=False)
