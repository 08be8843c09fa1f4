"""Many records at once: one step of parsing tf.train.Example is done for all of them before the next.

Records of one file are built alike, so numpy does in one call what Python would do for each. At each feature the head
of one record (its tags, lengths and name) is parsed, and all records whose head differs in nothing but the lengths are
done with it; then the next one that is left, and so on. Whatever is not the plain form that every writer of Examples
produces (packed numbers, name before value, nothing else) is left to :mod:`mswb.cache.data.tfrecord.example`: here a
record is only ever found to be surely whole, never to be damaged.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mswb.cache.data.tfrecord.example import KINDS
from mswb.cache.data.tfrecord.records import ENDLESS, Records

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Hashes = NDArray[np.uint64]

MAX_FEATURES = 64
MAX_VALUES = 16
"""Byte strings of one list; longer lists are parsed one by one."""
_MAX_NAME = 127
_HEADS = 16
"""Different heads that are tried at one step."""
_LONGEST = 5
"""Bytes of a length that are read; more would be 2**35 and beyond."""
_KINDS = _BYTES, _FLOATS, _INTEGERS = tuple(number << 3 | 2 for number in KINDS)
_ENTRY, _NAME, _VALUE, _ITEM = 0x0A, 0x0A, 0x12, 0x0A
_NEVER = 1 << 48
"""Stands for a length that can't be read: nothing is so long."""
_START = np.uint64(0x9E3779B97F4A7C15)


def signatures(records: Records) -> Hashes:
    """For each record a hash of its features' names and kinds, or 0 where it isn't sure.

    Records with one hash have the same features.
    """
    result = np.zeros(len(records), np.uint64)
    rows = np.arange(len(records))
    at, end, good = _open(records, records.starts, records.ends, _ENTRY)
    good &= end == records.ends
    hashes = np.full(len(records), _START, np.uint64)
    for _ in range(MAX_FEATURES):
        more = good & (at < end)
        whole = good & ~more
        result[rows[whole]] = hashes[whole]
        if not more.any():
            break
        if not more.all():
            records, rows, at, end, hashes = records.some(more), rows[more], at[more], end[more], hashes[more]
        at, good = _feature(records, at, end, hashes)
    return result


@dataclass(frozen=True, slots=True)
class _Head:
    """The bytes of one entry before the values of its list.

    Attributes:
        size: how many they are.
        bytes: all of them, filled up to whole words.
        mask: the bits of them that are alike in records built alike: all, but of a length only whether it goes on.
        lengths: place and width of each length in it: of the entry, the feature and, unless that is empty, the list.
        item: the same of the only item of the list; None where it has none or several.
        kind: the tag of the list, 0 without one.
        hash: of name and kind.
        whole: the size of the entry if it is sound as its lengths say and holds one item or none; else None.
    """

    size: int
    bytes: NDArray[np.uint8]
    mask: NDArray[np.uint8]
    lengths: tuple[tuple[int, int], ...]
    item: tuple[int, int] | None
    kind: int
    hash: np.uint64
    whole: int | None

    @property
    def filled(self) -> NDArray[np.uint8]:
        """A mask of the bytes that are the head's."""
        return _words(b"\xff" * self.size)


def _feature(records: Records, at: Ints, end: Ints, hashes: Hashes) -> tuple[Ints, Bools]:
    """One entry of the map in each record: where the next one begins, and whether it is surely whole.

    ``hashes`` are added to.
    """
    after = at.copy()
    good = np.zeros(len(at), np.bool_)
    left = np.arange(len(at))
    for _ in range(_HEADS):
        if not len(left):
            break
        some = records if len(left) == len(at) else records.some(left)
        head = _head(some.bytes(int(at[left[0]]), 16 + _MAX_NAME))
        if head is None:
            left = left[1:]
            continue
        alike, stop, fits = _like(some, at[left], end[left], head)
        after[left] = stop
        good[left] = alike & fits
        hashes[left[alike]] += head.hash
        left = left[~alike]
    return after, good


def _head(data: bytes) -> _Head | None:
    """The head of the entry that ``data`` begins with; None where it is not of the plain form."""
    at = 0
    mask = bytearray()
    lengths: list[tuple[int, int]] = []
    for tag in (_ENTRY, _NAME, _VALUE):
        width = _width(data, at + 1)
        if not width or data[at] != tag:
            return None
        mask += b"\xff" + b"\x80" * width
        at += 1 + width
        if tag != _NAME or not lengths:
            lengths.append((at - width, width))
            continue
        size = data[at - 1]
        name = data[at : at + size]
        if width > 1 or len(name) < size:
            return None
        mask[-1] = 0xFF
        mask += b"\xff" * size
        at += size
    kind, item = 0, None
    if data[at - 1] or lengths[-1][1] > 1:
        width = _width(data, at + 1)
        if not width or data[at] not in _KINDS:
            return None
        kind = data[at]
        end = _number(data, at + 1, width) + at + 1 + width
        mask += b"\xff" + b"\x80" * width
        at += 1 + width
        lengths.append((at - width, width))
        width = _width(data, at + 1)
        if width and data[at] == _ITEM and at + 1 + width + _number(data, at + 1, width) == end:
            item = (at + 1, width)
            mask += b"\xff" + b"\x80" * width
            at += 1 + width
    else:
        mask[-1] = 0xFF
    ends = {place + width + _number(data, place, width) for place, width in (*lengths, *([item] if item else []))}
    sound = len(ends) == 1 and (item is not None or not kind) and (kind != _FLOATS or (min(ends) - at) % 4 == 0)
    whole = min(ends) if sound else None
    return _Head(at, _words(data[:at]), _words(bytes(mask)), tuple(lengths), item, kind, _hash(name, kind), whole)


def _width(data: bytes, at: int) -> int:
    """Bytes of the length at ``at``; 0 where it does not end in time."""
    for width in range(1, _LONGEST + 1):
        if at + width > len(data):
            return 0
        if data[at + width - 1] < 0x80:
            return width
    return 0


def _number(data: bytes, at: int, width: int) -> int:
    return sum((data[at + index] & 0x7F) << 7 * index for index in range(width))


def _words(data: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(data + bytes(-len(data) % 8), np.uint8)


def _hash(name: bytes, kind: int) -> np.uint64:
    """64 bits that tell a feature from others; sums of them tell sets of features apart."""
    return np.uint64(int.from_bytes(blake2b(name, digest_size=8, salt=bytes([kind])).digest(), "little"))


def _like(records: Records, at: Ints, end: Ints, head: _Head) -> tuple[Bools, Ints, Bools]:
    """Which records go on with such a head, where their entries end, and whether what is in them is surely whole."""
    size = head.size
    first = records.index(at)
    heads = records.windows(first, len(head.bytes))
    unlike = heads.view(np.uint64) ^ head.bytes.view(np.uint64)
    joined = records.index(at + (size - 1)) - first == size - 1
    if head.whole is not None:
        same = _all_zero(unlike, head.filled)
        if 2 * np.count_nonzero(same) >= len(at):  # with the same lengths too: they need not be read
            stop = at + head.whole
            good = (stop <= end) & joined
            if head.kind == _INTEGERS:
                good &= _value(records, at + size, stop, head.kind)
            return same, stop, good
    alike = _all_zero(unlike, head.mask)
    inner = [(place + width, _decoded(heads, place, width)) for place, width in head.lengths]
    stop = at + inner[0][0] + inner[0][1]
    good = (stop <= end) & joined
    for place, length in inner[1:]:
        good &= at + place + length == stop
    if head.item is not None:
        alike &= at + size + _decoded(heads, *head.item) == stop
        good &= _value(records, at + size, stop, head.kind)
    elif head.kind:
        good &= (at + size == stop) | _values(records, at + size, stop, head.kind)
    return alike, stop, good


def _all_zero(words: NDArray[np.uint64], mask: NDArray[np.uint8]) -> Bools:
    """Whether no bit of the mask is set in each row."""
    masks = mask.view(np.uint64)
    zero = words[:, 0] & masks[0] == 0
    for column in range(1, len(masks)):
        zero &= words[:, column] & masks[column] == 0
    return np.asarray(zero)


def _value(records: Records, at: Ints, end: Ints, kind: int) -> Bools:
    """Whether each list's only item is of its kind."""
    if kind == _FLOATS:
        return np.asarray((end - at) & 3 == 0)
    good = np.ones(len(at), np.bool_)
    if kind == _INTEGERS:
        good = (end == at) | (records.take(end - 1) < 0x80)
        long = np.flatnonzero(good & (end - at >= ENDLESS))
        if len(long):
            good[long] = records.some(long).integers(at[long], end[long])
    return good


def _values(records: Records, at: Ints, end: Ints, kind: int) -> Bools:
    """Whether each list holds what its kind says."""
    value, stop, good = _open(records, at, end, _ITEM)
    last = stop == end
    good &= last | (kind == _BYTES)
    good[last] &= _value(records.some(last), value[last], stop[last], kind)
    rest = np.flatnonzero(good & ~last)
    for _ in range(MAX_VALUES):
        if not len(rest):
            return good
        _, stop[rest], fits = _open(records.some(rest), stop[rest], end[rest], _ITEM)
        good[rest] = fits
        rest = rest[fits & (stop[rest] < end[rest])]
    good[rest] = False
    return good


def _open(records: Records, at: Ints, end: Ints, tag: int) -> tuple[Ints, Ints, Bools]:
    """Enter the field that begins at ``at``: its extent, and whether it has this tag and lies before ``end``."""
    length, inside = _varint(records, at + 1)
    stop = inside + length
    return inside, stop, (records.take(at) == tag) & (stop <= end)


def _varint(records: Records, at: Ints) -> tuple[Ints, Ints]:
    """The numbers at ``at`` and what follows them; :data:`_NEVER` for one of more than five bytes."""
    value = records.take(at).astype(np.int64)
    after = at + 1
    rows = np.flatnonzero(value >= 0x80)
    if not len(rows):
        return value, after
    value &= 0x7F
    for shift in range(7, 7 * _LONGEST, 7):
        byte = records.some(rows).take(after[rows]).astype(np.int64)
        value[rows] |= (byte & 0x7F) << shift
        after[rows] += 1
        rows = rows[byte >= 0x80]
        if not len(rows):
            return value, after
    value[rows] = _NEVER
    return value, after


def _decoded(heads: NDArray[np.uint8], place: int, width: int) -> Ints:
    """The length of ``width`` bytes at ``place`` in each head."""
    value: Any = heads[:, place].astype(np.int64) & 0x7F
    for more in range(1, width):
        value |= (heads[:, place + more].astype(np.int64) & 0x7F) << 7 * more
    return np.asarray(value)
