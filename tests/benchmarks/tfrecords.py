"""TFRecord files for benchmarks."""

from __future__ import annotations

import struct

import google_crc32c

from mswb.cache.crc import mask


def frame(data: bytes) -> bytes:
    """One record as it stands in a file."""
    length = struct.pack("<Q", len(data))
    return b"".join((length, _masked(length), data, _masked(data)))


def example(features: dict[str, bytes | int]) -> bytes:
    """A tf.train.Example of byte strings and integers."""
    entries = (_field(1, _field(1, name.encode()) + _field(2, _feature(value))) for name, value in features.items())
    return _field(1, b"".join(entries))


def _feature(value: bytes | int) -> bytes:
    return _field(1, _field(1, value)) if isinstance(value, bytes) else _field(3, _field(1, _varint(value)))


def _field(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(number: int) -> bytes:
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def _masked(data: bytes) -> bytes:
    return struct.pack("<I", mask(google_crc32c.value(data)))
