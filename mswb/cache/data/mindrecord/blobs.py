"""What is inside a row: the msgpack map of the raw part, and the columns of the blob part.

Raw part: a map of the columns that are no blob; a file without any has ``{"id": 0}`` there. Blob part: with one blob
column its bytes straight, with more of them ``u64 big-endian length`` before each; without any, four NULs. Arrays of
int32 and int64 are packed: ``u32 big-endian count``, two bits a number for its width (1, 2, 4, 8 bytes; the first in
the high bits), then the numbers, little-endian.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from math import prod
from typing import Annotated, Any

import msgspec

from mswb.cache.data.mindrecord.header import Column, Header

WIDTHS = bytes(sum(1 << (byte >> shift & 3) for shift in (0, 2, 4, 6)) for byte in range(256))
"""The bytes that four packed integers take together, by their byte of the bit map."""
_SIZES = {"float32": 4, "float64": 8}
_TYPES: Mapping[str, Any] = {
    "int32": Annotated[int, msgspec.Meta(ge=-(1 << 31), le=(1 << 31) - 1)],
    "int64": Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)],
    "float32": float,
    "float64": float,
    "string": str,
}


class BadRow(ValueError):
    """A row that can't be one; the text says why."""


def raw_struct(header: Header) -> type[msgspec.Struct]:
    """The type that the raw part of a row decodes to; its fields are the columns in the order of the schema."""
    columns = {name: kind for name, kind in header.columns.items() if name not in header.blob_fields}
    named = [(f"c{number}", _TYPES[kind.type]) for number, kind in enumerate(columns.values())]
    rename = {f"c{number}": name for number, name in enumerate(columns)}
    if not columns:
        named, rename = [("c0", int)], {"c0": "id"}
    return msgspec.defstruct("row", named, rename=rename, forbid_unknown_fields=True, gc=False)


def raw_decoder(header: Header) -> Callable[[memoryview], tuple[Any, ...]]:
    """A function from the raw part of a row to the values of its columns, in the order of the schema.

    The function raises BadRow.
    """
    decode = msgspec.msgpack.Decoder(raw_struct(header)).decode

    def decoded(data: memoryview) -> tuple[Any, ...]:
        try:
            return msgspec.structs.astuple(decode(data))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
            raise BadRow(f"its columns can't be read: {problem}") from None

    return decoded


def scalar_names(header: Header) -> tuple[str, ...]:
    """The columns whose values :func:`raw_decoder` gives, in its order."""
    return tuple(name for name in header.columns if name not in header.blob_fields)


def indexed_places(header: Header) -> tuple[int, ...]:
    """Where the values of the index fields stand among those that :func:`raw_decoder` gives."""
    names = scalar_names(header)
    return tuple(names.index(field.index_field) for field in header.indexed)


def blob_checker(header: Header) -> Callable[[memoryview], None] | None:
    """A function that raises BadRow for a blob part that no row can have; None where any bytes will do."""
    columns = [(name, _column_checker(header.columns[name])) for name in header.blob_fields]
    if not columns:
        return _no_columns
    if len(columns) == 1:
        return columns[0][1]

    def check(data: memoryview) -> None:
        at = 0
        for name, inner in columns:
            if at + 8 > len(data):
                raise BadRow(f"it ends before its column {name}")
            (length,) = struct.unpack_from(">Q", data, at)
            at += 8
            if at + length > len(data):
                raise BadRow(f"its column {name} should have {length} bytes, {len(data) - at} are left")
            if inner is not None:
                inner(data[at : at + length])
            at += length
        if at != len(data):
            raise BadRow(f"{len(data) - at} bytes are left behind its columns")

    return check


def _no_columns(data: memoryview) -> None:
    if bytes(data) != b"\0\0\0\0":
        raise BadRow("it should be four NULs, since there is no blob column")


def _column_checker(column: Column) -> Callable[[memoryview], None] | None:
    if column.shape is None:
        return None
    known = prod(size for size in column.shape if size != -1)
    exact = -1 not in column.shape
    if column.type in _SIZES:
        return _floats(_SIZES[column.type] * known, exact)
    return _integers(4 if column.type == "int32" else 8, known, exact)


def _floats(step: int, exact: bool) -> Callable[[memoryview], None]:
    def check(data: memoryview) -> None:
        if len(data) != step if exact else len(data) % step:
            raise BadRow(f"an array of {len(data)} bytes, where its shape asks for {'' if exact else 'n x '}{step}")

    return check


def _integers(widest: int, known: int, exact: bool) -> Callable[[memoryview], None]:
    def check(data: memoryview) -> None:
        if len(data) < 4:
            raise BadRow("an array of integers without its count")
        (count,) = struct.unpack_from(">I", data)
        if count != known if exact else count % known:
            raise BadRow(f"an array of {count} integers, where its shape asks for {'' if exact else 'n x '}{known}")
        widths = data[4 : 4 + (count + 3) // 4]
        # The bits behind the last number are 0 and stand for one byte each.
        needed = 4 + (count + 3) // 4 + sum(widths.tobytes().translate(WIDTHS)) - -count % 4
        if len(data) != needed:
            raise BadRow(f"an array of integers of {len(data)} bytes, its widths add up to {needed}")
        if widest == 4 and any(byte & mask == mask for byte in set(widths) for mask in (3, 12, 48, 192)):
            raise BadRow("an array of int32 with numbers of eight bytes")

    return check
