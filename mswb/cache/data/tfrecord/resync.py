"""Finding the next whole frame after a damaged place: twelve bytes whose CRC fits, and data whose CRC fits too.

That both fit by chance has odds of 1 to 2**64 a byte.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from mswb.cache.crc import extend, mask, masked_lengths, value
from mswb.cache.data.tfrecord.source import Source

HEADER, FOOTER = 12, 4
STREAM = 1 << 20
_CHUNK = 1 << 18
SEARCHED = 64 << 20
"""Bytes of a packed file's content in which a first record is looked for."""
_NOWHERE = 1 << 40
"""What is taken for the size of a packed content that hasn't been seen to its end."""
_SLACK = 1 << 28
_SMALL = 1 << 20


_NUL = bytes(_CHUNK + HEADER - 1)


class Budget:
    """How many bytes may be read for frames that turn out to be none: some times the file.

    Ordinary damage never gets there. A file made to be slow does: from then on only records of :data:`_SMALL` bytes
    are tried.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._spent = 0
        self._reach = 0

    def allows(self, offset: int, length: int) -> bool:
        """Whether a frame of so much data may be tried at ``offset``."""
        self._reach = max(self._reach, offset)
        size = self._source.size or self._reach
        return length <= _SMALL or self._spent <= 4 * size + _SLACK

    def spend(self, count: int) -> None:
        """So many bytes were read in vain."""
        self._spent += count


def data_fits(source: Source, start: int, length: int, budget: Budget) -> tuple[bool, bool]:
    """Whether the data of ``length`` bytes at ``start`` has the CRC that follows it, and whether it is all there."""
    size = source.size
    if size is not None and start + length + FOOTER > size:
        return False, False
    if not budget.allows(start, length):
        return False, True
    crc, done = 0, 0
    while done < length:
        piece = source.read(start + done, min(STREAM, length - done))
        if not piece:
            budget.spend(done)
            return False, False
        crc, done = (extend(crc, piece) if done else value(piece)), done + len(piece)
    footer = source.read(start + length, FOOTER)
    if len(footer) < FOOTER:
        budget.spend(done)
        return False, False
    if mask(crc) == struct.unpack("<I", footer)[0]:
        return True, True
    budget.spend(done)
    return False, True


def is_nul(data: bytes) -> bool:
    """Whether there is nothing but NUL in at most :data:`STREAM` bytes."""
    return data == (_NUL if len(data) == len(_NUL) else bytes(len(data)))


def next_frame(
    source: Source, start: int, budget: Budget, watch: Callable[[int], bool], limit: int | None = None
) -> int | None:
    """The first offset from ``start`` on at which a whole frame lies; None when there is none before ``limit``.

    Args:
        watch: told the offset now and then; once it returns True, the search ends.
    """
    at, kept = start, b""
    while limit is None or at < limit:
        # What a packed file holds is never gone back in for the few bytes that are looked at twice.
        data = kept + source.read(at + len(kept), _CHUNK + HEADER - 1 - len(kept))
        if len(data) < HEADER + FOOTER or watch(at):
            return None
        if not is_nul(data):
            left = (_NOWHERE if source.size is None else source.size) - at - HEADER - FOOTER
            for place, length in zip(*_headers(data, left), strict=True):
                if data_fits(source, at + place + HEADER, length, budget)[0]:
                    return at + place
        at, kept = at + len(data) - HEADER + 1, data[1 - HEADER :]
    return None


def begins_with_records(source: Source, cancelled: Callable[[], bool] = lambda: False) -> bool:
    """Whether a packed file may hold records: its first header fits, or a whole record follows within
    :data:`SEARCHED` bytes, or there are no more bytes than that.

    A small file can unpack to any size, and to look for records in all of that would take as long.
    """
    head = source.read(0, HEADER)
    if len(head) < HEADER or mask(value(head[:8])) == int.from_bytes(head[8:], "little"):
        return True
    found = next_frame(source, 1, Budget(source), lambda offset: cancelled(), limit=SEARCHED)
    return found is not None or not source.read(SEARCHED, 1)


def _headers(data: bytes, left: int) -> tuple[list[int], list[int]]:
    """Where in ``data`` eight bytes have the CRC that follows them, and are a length that ``left`` allows."""
    windows = len(data) - HEADER + 1
    # the upper half of a length is nearly always zero: that leaves few places to look at
    above = left >> 32
    upper = [_words(data, 4 + shift, windows - shift) <= above for shift in range(4)]
    places = np.concatenate([np.flatnonzero(fits) * 4 + shift for shift, fits in enumerate(upper)])
    places.sort()
    raw = np.frombuffer(data, np.uint8)
    stored = _gather(raw, places + 8, 4).view("<u4").ravel()
    lengths = _gather(raw, places, 8).view("<u8").ravel()
    likely = (lengths <= max(left, 0)) & ((lengths != 0) | (stored != 0))
    places, stored, lengths = places[likely], stored[likely], lengths[likely]
    fits = masked_lengths(lengths) == stored
    fits &= lengths.astype(np.int64) + places <= left
    return places[fits].tolist(), lengths[fits].tolist()


def _words(data: bytes, offset: int, windows: int) -> NDArray[np.uint32]:
    """Every fourth 32-bit word from ``offset`` on, as many as windows of four begin in ``windows``."""
    return np.frombuffer(data, "<u4", count=max(0, (windows + 3) // 4), offset=offset)


def _gather(raw: NDArray[np.uint8], places: NDArray[np.int64], width: int) -> NDArray[np.uint8]:
    return raw.take(places[:, None] + np.arange(width))
