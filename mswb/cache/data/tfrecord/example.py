"""tf.train.Example, parsed strictly: what MindSpore's own parser of them would refuse is refused here, and where.

The message (tensorflow/core/example/{example,feature}.proto)::

    Example { Features features = 1; }          Features { map<string, Feature> feature = 1; }
    Feature { oneof { BytesList = 1; FloatList = 2; Int64List = 3; } }
    BytesList { repeated bytes = 1; }   FloatList { repeated float = 1; }   Int64List { repeated int64 = 1; }

A map is a repeated message { key = 1; value = 2 }; numbers come packed or one by one. Fields of other numbers or wire
types are skipped, as protobuf does. Nothing is recursive but groups, which nobody writes; they end at
:data:`MAX_DEPTH`.
"""

from __future__ import annotations

from collections.abc import Container, Iterator

import numpy as np

from mswb.cache.data.tfrecord.records import ENDLESS, endless
from mswb.cache.data.tfrecord.source import Window

KINDS = {1: "bytes", 2: "float", 3: "int64"}
"""A Feature's lists by field number."""
EMPTY = "empty"
"""The kind of a feature that holds no list at all."""
MAX_DEPTH = 100
_VARINT, _FIXED64, _BYTES, _GROUP, _END_GROUP, _FIXED32 = range(6)
_FIXED = {_FIXED64: 8, _FIXED32: 4}
_PART = 1 << 20

Data = bytes | Window
Columns = frozenset[tuple[str, str]]
"""The features of a record: name and kind."""


class NotAnExample(ValueError):
    """The bytes are no tf.train.Example; ``at`` is the byte from their start that shows it."""

    def __init__(self, reason: str, at: int) -> None:
        super().__init__(reason)
        self.at = at


def columns(data: Data) -> Columns:
    """Names and kinds of an Example's features.

    Raises:
        NotAnExample: a field passes its message, a number does not end, or a name is no UTF-8.
    """
    found: dict[str, str] = {}
    for _, start, end in _messages(data, 0, len(data), (1,)):
        for _, begin, stop in _messages(data, start, end, (1,)):
            name, kind = _entry(data, begin, stop)
            found[name] = kind
    return frozenset(found.items())


def _entry(data: Data, start: int, end: int) -> tuple[str, str]:
    """One entry of the map."""
    name, kind = "", EMPTY
    for number, begin, stop in _messages(data, start, end, (1, 2)):
        if number == 2:
            again = _feature(data, begin, stop)
            kind = again if again != EMPTY else kind  # of two values one is made
            continue
        try:
            name = data[begin:stop].decode("utf-8")
        except UnicodeDecodeError as problem:
            raise NotAnExample("the name of a feature is not UTF-8", begin + problem.start) from None
    return name, kind


def _feature(data: Data, start: int, end: int) -> str:
    kind = EMPTY
    for number, begin, stop in _messages(data, start, end, KINDS):
        kind = KINDS[number]
        for _, first, last in _messages(data, begin, stop, (1,)):
            if kind == "float" and (last - first) % 4:
                raise NotAnExample("packed floats that are no multiple of 4 bytes", first)
            if kind == "int64":
                _integers(data, first, last)
    return kind


def _messages(data: Data, start: int, end: int, numbers: Container[int]) -> Iterator[tuple[int, int, int]]:
    """Number and extent of the fields of bytes that have one of these numbers."""
    return (
        (number, begin, stop)
        for number, wire, begin, stop in _fields(data, start, end)
        if wire == _BYTES and number in numbers
    )


def _integers(data: Data, start: int, end: int) -> None:
    """See that packed integers end, each and all together."""
    if start < end and data[end - 1] >= 0x80:
        raise NotAnExample("the last packed integer is cut", end - 1)
    for at in range(start, end - ENDLESS + 1, _PART):
        found = endless(np.frombuffer(data[at : min(end, at + _PART + ENDLESS - 1)], np.uint8))
        if len(found):
            raise NotAnExample("a packed integer of more than 10 bytes", at + int(found[0]))


def _fields(data: Data, start: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """Number, wire type and extent of each field in ``data[start:end]``; groups are passed over."""
    at, groups = start, list[int]()
    while at < end:
        tag, begin = _varint(data, at, end)
        number, wire = tag >> 3, tag & 7
        if not 0 < number < 1 << 29:
            raise NotAnExample(f"a field of number {number}", at)
        if wire == _BYTES:
            length, begin = _varint(data, begin, end)
            stop = begin + length
        elif wire == _VARINT:
            stop = _varint(data, begin, end)[1]
        elif wire in _FIXED:
            stop = begin + _FIXED[wire]
        else:
            _nest(groups, number, wire, at)
            at = begin
            continue
        if stop > end:
            raise NotAnExample(f"a field of {stop - begin} bytes in a message that ends after {end - begin}", at)
        if not groups:
            yield number, wire, begin, stop
        at = stop
    if groups:
        raise NotAnExample("a group without an end", start)


def _nest(groups: list[int], number: int, wire: int, at: int) -> None:
    if wire == _GROUP and len(groups) < MAX_DEPTH:
        groups.append(number)
    elif wire != _END_GROUP or not groups or groups.pop() != number:
        raise NotAnExample(f"a field of wire type {wire}", at)


def _varint(data: Data, at: int, end: int) -> tuple[int, int]:
    value = 0
    for count in range(min(ENDLESS, end - at)):
        byte = data[at + count]
        value |= (byte & 0x7F) << 7 * count
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at + count + 1
    raise NotAnExample("a number that does not end", at)
