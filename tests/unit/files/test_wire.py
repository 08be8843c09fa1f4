"""Hopping over the fields of protobuf messages."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from mswb.files import wire
from mswb.files.peek import LIMIT, Peek, of_bytes


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


def field(number: int, value: int | bytes) -> bytes:
    """A varint field or a length-delimited one."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def test_fields_and_places() -> None:
    data = field(1, 300) + field(2, b"name") + b"\x1d\0\0\0\0" + b"\x21" + bytes(8)
    message = wire.scan(of_bytes("m", data))
    assert [(one.number, one.wire, one.value) for one in message.fields] == [
        (1, 0, 300),
        (2, 2, 4),
        (3, 5, 0),
        (4, 1, 0),
    ]
    assert message.ending == "whole"
    assert wire.text(of_bytes("m", data), message.first(2)) == "name"
    assert message.first(9) is None and wire.text(of_bytes("m", data), None) is None


def test_huge_payloads_are_hopped_over() -> None:
    """The graph of a model of 3 GB is one hop; the fields after it are read all the same."""
    head = field(1, 8) + varint(7 << 3 | 2) + varint(3 << 30)
    tail = field(8, field(2, 17))
    size = len(head) + (3 << 30) + len(tail)
    read: list[int] = []

    def take(offset: int, length: int) -> bytes:
        piece = (
            (head + bytes(LIMIT))[offset : offset + length]
            if offset < LIMIT
            else tail[offset - size + len(tail) :][:length]
        )
        read.append(len(piece))
        return piece

    message = wire.scan(Peek("model.onnx", size, take))
    assert [one.number for one in message.fields] == [1, 7, 8] and message.ending == "whole"
    assert sum(read) <= LIMIT


def test_endings() -> None:
    whole = field(1, b"abc") * 3
    assert wire.scan(of_bytes("m", whole[:-1])).ending == "past-end"
    assert wire.scan(of_bytes("m", whole + b"\x0a")).ending in ("past-end", "bad")
    assert wire.scan(of_bytes("m", whole + b"\x0b\0\0\0")).ending == "bad"  # a group
    assert wire.scan(of_bytes("m", whole + b"\0\0\0\0")).ending == "bad"  # field 0
    assert wire.scan(of_bytes("m", whole), limit=2).ending == "unread"
    assert wire.scan(of_bytes("m", b"")).ending == "whole"


def test_text_refuses_what_is_none() -> None:
    data = field(1, b"\xff\xfe") + field(2, b"x" * 100)
    message = wire.scan(of_bytes("m", data))
    assert wire.text(of_bytes("m", data), message.first(1)) is None
    assert wire.text(of_bytes("m", data), message.first(2)) is None


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(1, 1 << 28), st.one_of(st.integers(0, (1 << 63) - 1), st.binary(max_size=30)))))
def test_round_trip(parts: list[tuple[int, int | bytes]]) -> None:
    data = b"".join(field(number, value) for number, value in parts)
    message = wire.scan(of_bytes("m", data), limit=1000)
    assert message.ending == "whole"
    read = [one.value if one.wire == wire.VARINT else data[one.start : one.end] for one in message.fields]
    assert read == [value for _, value in parts]


@settings(deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes(data: bytes) -> None:
    message = wire.scan(of_bytes("m", data))
    assert all(one.start >= 0 and one.end >= one.start for one in message.fields)
