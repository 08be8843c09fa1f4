"""The outermost fields of a protobuf message, hopped over without reading what they hold.

The wire format (protobuf.dev, "Encoding"): each field is a varint ``number << 3 | type`` and its value; type 0 is a
varint, 1 eight bytes, 2 a length and that many bytes, 5 four bytes. Types 3 and 4 are long gone and taken for damage.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from mswb.files.peek import Peek

Ending = Literal["whole", "past-end", "bad", "unread"]
"""How a scan ended: at the end of the message; with a field that passes it; at bytes that are no field; before the
end, since enough was seen or the budget of the look is spent."""

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_WIDTH = {FIXED64: 8, FIXED32: 4}


@dataclass(frozen=True, slots=True)
class Field:
    """One field. ``value`` is a varint's; ``start`` and ``end`` bound the payload of the others, in file offsets."""

    number: int
    wire: int
    value: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Message:
    """The fields met, in file order, and how the scan ended."""

    fields: tuple[Field, ...]
    ending: Ending

    def all(self, number: int) -> tuple[Field, ...]:
        """Every field of this number."""
        return tuple(field for field in self.fields if field.number == number)

    def first(self, number: int) -> Field | None:
        """The first field of this number."""
        return next((field for field in self.fields if field.number == number), None)

    def fits(self, schema: Mapping[int, int]) -> bool:
        """Whether there are fields, and each is of a number and type that ``schema`` knows."""
        return bool(self.fields) and all(schema.get(field.number) == field.wire for field in self.fields)


def scan(peek: Peek, start: int = 0, end: int | None = None, limit: int = 64) -> Message:
    """At most ``limit`` fields of the message in ``start:end`` of the file."""
    stop = peek.size if end is None else end
    found: list[Field] = []
    position = start
    while position < stop:
        if len(found) == limit:
            return Message(tuple(found), "unread")
        chunk = peek.at(position, min(20, stop - position))
        field = _field(chunk, position)
        if field is None:
            return Message(tuple(found), _why_no_field(chunk, position, stop))
        found.append(field)
        if field.end > stop:
            return Message(tuple(found), "past-end")
        position = field.end
    return Message(tuple(found), "whole")


def text(peek: Peek, field: Field | None, limit: int = 80) -> str | None:
    """A short string field as text; None when it is absent, no string, too long, or not UTF-8."""
    if field is None or field.wire != BYTES or field.end - field.start > limit:
        return None
    data = peek.at(field.start, field.end - field.start)
    try:
        return data.decode("utf-8") if len(data) == field.end - field.start else None
    except UnicodeDecodeError:
        return None


def _why_no_field(chunk: bytes, position: int, stop: int) -> Ending:
    if not chunk:
        return "unread"
    return "past-end" if position + len(chunk) >= stop and all(byte & 0x80 for byte in chunk) else "bad"


def _field(chunk: bytes, position: int) -> Field | None:
    tag, used = _varint(chunk, 0)
    number, wire = tag >> 3, tag & 7
    if not used or not 0 < number < 1 << 29:
        return None
    if wire in _WIDTH:
        start = position + used
        return Field(number, wire, 0, start, start + _WIDTH[wire])
    if wire not in (VARINT, BYTES):
        return None
    value, after = _varint(chunk, used)
    if not after:
        return None
    start = position + after
    return Field(number, wire, value, start, start + value if wire == BYTES else start)


def _varint(chunk: bytes, at: int) -> tuple[int, int]:
    """The number and the index after it; (0, 0) when it isn't whole."""
    value = 0
    for index in range(at, min(at + 10, len(chunk))):
        value |= (chunk[index] & 0x7F) << (7 * (index - at))
        if chunk[index] < 0x80:
            return value, index + 1
    return 0, 0
