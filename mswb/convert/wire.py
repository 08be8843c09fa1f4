"""Protobuf messages of a model, field by field: metadata becomes data, and weights stay spans of the file.

A message is described by a table (:class:`Spec`), not by a generated class, so a file of many gigabytes is read with
the memory of its metadata. What a hostile file can make us do is bounded by a :class:`Source`: so many fields, so
many bytes of text, so many levels.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from mswb.files.safety import open_regular
from mswb.files.wire import BYTES, FIXED32, FIXED64, VARINT

MAX_DEPTH = 48
"""Messages in one another; real models need about ten."""
MAX_FIELDS = 4_000_000
"""Fields of one file; a graph of 10,000 nodes needs some 300,000."""
MAX_TEXT = 1 << 20
"""Bytes of one name."""
KEEP = 4096
"""Bytes fields up to this length are read; longer ones stay spans."""
WINDOW = 1 << 16


class Damage(Exception):
    """The bytes are no such message. ``offset`` is in bytes from the start of the file; ``cut`` tells that it ends
    before the message does."""

    def __init__(self, offset: int, reason: str, *, cut: bool = False) -> None:
        super().__init__(reason)
        self.offset = offset
        self.reason = reason
        self.cut = cut


@dataclass(frozen=True, slots=True)
class Span:
    """Bytes ``start`` to ``end`` of the file that is read."""

    start: int
    end: int

    def __len__(self) -> int:
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class InFile(Span):
    """Bytes ``start`` to ``end`` of another file, which is opened when they are written."""

    path: str


Data = bytes | Span
"""The payload of a field: in memory, or still in the file."""


class Spec(NamedTuple):
    """One field of a message: its number, its name, what it holds, and whether it may stand more than once.

    ``kind`` is text, data (bytes, kept as a span when long), blob (always a span), int, float, double, or the name of
    a message of the same table.
    """

    number: int
    name: str
    kind: str
    many: bool


Table = Mapping[str, Mapping[int, Spec]]
Values = dict[str, Any]


class Field(NamedTuple):
    """One field as it stands in the file: ``at`` is the byte of its tag, ``start:end`` its payload."""

    number: int
    wire: int
    value: int
    start: int
    end: int
    at: int


def table(text: Mapping[str, str]) -> Table:
    """The specs of messages written as ``number name kind`` with a ``*`` at what repeats, parted by commas."""
    return {name: {spec.number: spec for spec in map(_spec, fields.split(","))} for name, fields in text.items()}


def _spec(text: str) -> Spec:
    number, name, kind = text.split()
    return Spec(int(number), name, kind.rstrip("*"), kind.endswith("*"))


class Source:
    """A file that is read through one window; closed by :func:`open_source`."""

    def __init__(self, descriptor: int, path: str) -> None:
        self.path = path
        self.size = os.fstat(descriptor).st_size
        self._descriptor = descriptor
        self._window = b""
        self._from = 0
        self._left = MAX_FIELDS

    def at(self, start: int, length: int) -> bytes:
        """``length`` bytes from ``start``, fewer at the end of the file."""
        low = start - self._from
        if low < 0 or low + length > len(self._window):
            self._window = os.pread(self._descriptor, max(length, WINDOW), start)
            self._from, low = start, 0
        return self._window[low : low + length]

    def pieces(self, span: Span, size: int = 1 << 20) -> Iterator[bytes]:
        """The bytes of a span in pieces of at most ``size``; they end early where the file does."""
        position = span.start
        while position < span.end:
            piece = os.pread(self._descriptor, min(size, span.end - position), position)
            if not piece:
                return
            yield piece
            position += len(piece)

    def charge(self, fields: int, offset: int) -> None:
        """Count what was read.

        Raises:
            Damage: it is more than a model has.
        """
        self._left -= fields
        if self._left < 0:
            raise Damage(offset, f"it holds more than {MAX_FIELDS:,} fields")


@contextmanager
def open_source(path: str) -> Iterator[Source]:
    """A regular file to read messages from.

    Raises:
        MswbError: ``path-missing`` or ``path-unreadable``.
    """
    descriptor = open_regular(path)
    try:
        yield Source(descriptor, path)
    finally:
        os.close(descriptor)


def fields(source: Source, span: Span) -> Iterator[Field]:
    """The fields of the message in ``span``, in the file's order; payloads are not touched.

    Raises:
        Damage: there are bytes that are no field.
    """
    position = span.start
    while position < span.end:
        field = _field(source.at(position, min(20, span.end - position)), position)
        if field is None:
            raise _no_field(source, position, span)
        if field.end > span.end:
            raise Damage(position, _past(field, span), cut=span.end >= source.size)
        source.charge(1, position)
        yield field
        position = field.end


def _past(field: Field, span: Span) -> str:
    return f"field {field.number} wants {field.end - field.start:,} bytes where {max(0, span.end - field.start):,} are"


def _no_field(source: Source, position: int, span: Span) -> Damage:
    chunk = source.at(position, min(20, span.end - position))
    ends = len(chunk) < 20 and all(byte & 0x80 for byte in chunk[-2:])
    return Damage(position, "there is no field of a model here", cut=ends and span.end >= source.size)


def _field(chunk: bytes, position: int) -> Field | None:
    if len(chunk) > 1 and chunk[0] < 0x80 and chunk[1] < 0x80 and chunk[0] > 7:  # nearly all: one byte each
        number, wire, value = chunk[0] >> 3, chunk[0] & 7, chunk[1]
        if wire == BYTES:
            return Field(number, wire, value, position + 2, position + 2 + value, position)
        if wire == VARINT:
            return Field(number, wire, value, position + 2, position + 2, position)
    tag, used = _varint(chunk, 0)
    number, wire = tag >> 3, tag & 7
    if not used or not 0 < number < 1 << 29:
        return None
    start = position + used
    if wire in (FIXED32, FIXED64):
        return Field(number, wire, 0, start, start + (4 if wire == FIXED32 else 8), position)
    if wire not in (VARINT, BYTES):
        return None
    value, after = _varint(chunk, used)
    if not after:
        return None
    start = position + after
    return Field(number, wire, value, start, start + value if wire == BYTES else start, position)


def _varint(chunk: bytes, at: int) -> tuple[int, int]:
    """The number (64 bits) and the index after it; (0, 0) when it isn't whole."""
    value = shift = 0
    for index in range(at, min(at + 10, len(chunk))):
        byte = chunk[index]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, index + 1
        shift += 7
    return 0, 0


def decode(source: Source, span: Span, message: str, specs: Table, make: Mapping[str, Any], depth: int = 0) -> Any:
    """The message in ``span`` as ``make[message](at=span, unknown=..., **values)``.

    What repeats becomes a tuple, what is absent is left out, and fields that the table lacks are kept as spans.

    Raises:
        Damage: the bytes are no such message, or go deeper than :data:`MAX_DEPTH`.
    """
    if depth > MAX_DEPTH:
        raise Damage(span.start, f"its messages lie more than {MAX_DEPTH} deep in one another")
    source.charge(8, span.start)  # an object costs more than a field
    known = specs[message]
    values: Values = {}
    unknown: list[Span] = []
    for field in fields(source, span):
        spec = known.get(field.number)
        if spec is None:
            unknown.append(Span(field.at, field.end))
        elif spec.kind in specs:
            _check(field, BYTES, message, spec)
            inner = decode(source, Span(field.start, field.end), spec.kind, specs, make, depth + 1)
            _put(values, spec, (inner,))
        else:
            _put(values, spec, _scalars(source, field, message, spec))
    return make[message](
        at=span,
        unknown=tuple(unknown),
        **{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()},
    )


def _put(values: Values, spec: Spec, items: tuple[Any, ...]) -> None:
    """The last one counts of what may stand once, as protobuf has it."""
    if spec.many:
        values.setdefault(spec.name, []).extend(items)
    elif items:
        values[spec.name] = items[-1]


def _check(field: Field, wire: int, message: str, spec: Spec) -> None:
    if field.wire != wire:
        raise Damage(field.at, f"{message}.{spec.name} (field {field.number}) has wire type {field.wire}, not {wire}")


_FIXED = {"float": (FIXED32, "<f", 4), "double": (FIXED64, "<d", 8)}


def _scalars(source: Source, field: Field, message: str, spec: Spec) -> tuple[Any, ...]:
    """The values of one field; more than one where numbers are packed."""
    if spec.kind == "int":
        return _integers(source, field, message, spec)
    if spec.kind in _FIXED:
        return _floats(source, field, message, spec)
    _check(field, BYTES, message, spec)
    length = field.end - field.start
    if spec.kind == "blob" or (spec.kind == "data" and length > KEEP):
        return (Span(field.start, field.end),)
    if length > MAX_TEXT:
        raise Damage(field.at, f"{message}.{spec.name} is a text of {length:,} bytes")
    if length >= 64:
        source.charge(length // 64, field.at)
    raw = source.at(field.start, length)
    return (raw if spec.kind == "data" else raw.decode("utf-8", "surrogateescape"),)


def _integers(source: Source, field: Field, message: str, spec: Spec) -> tuple[int, ...]:
    if field.wire == VARINT:
        return (_signed(field.value),)
    _check(field, BYTES, message, spec)
    found, position = [], field.start
    while position < field.end:
        value, used = _varint(source.at(position, min(10, field.end - position)), 0)
        if not used:
            raise Damage(position, f"{message}.{spec.name} holds bytes that are no number")
        source.charge(1, position)
        found.append(_signed(value))
        position += used
    return tuple(found)


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def _floats(source: Source, field: Field, message: str, spec: Spec) -> tuple[float, ...]:
    wire, form, width = _FIXED[spec.kind]
    length = field.end - field.start
    if field.wire != BYTES:
        _check(field, wire, message, spec)
    elif length % width:
        raise Damage(field.at, f"{message}.{spec.name} holds {length:,} bytes, no multiple of {width}")
    source.charge(length // width, field.at)
    return tuple(
        value[0] for piece in source.pieces(Span(field.start, field.end), 1 << 16) for value in _each(form, piece)
    )


def _each(form: str, piece: bytes) -> Iterator[tuple[float]]:
    return struct.iter_unpack(form, piece[: len(piece) // struct.calcsize(form) * struct.calcsize(form)])
