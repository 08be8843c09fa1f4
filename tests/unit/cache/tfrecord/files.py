"""TFRecord files for tests: written by the rule, byte by byte, without the code under test."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from pathlib import Path

import google_crc32c

from mswb.cache.check import Checked, Options, Watch
from mswb.cache.data.tfrecord.verify import check

SAMPLES = Path(__file__).parents[3] / "fixtures" / "cache" / "tfrecord"
GOOD = (SAMPLES / "good.tfrecord").read_bytes()
SIZE = 169
"""Bytes of each of its 50 frames."""
RECORDS = tuple(GOOD[at : at + SIZE] for at in range(0, len(GOOD), SIZE))

Value = bytes | list[bytes] | list[float] | list[int]


def masked_crc(data: bytes) -> int:
    """A CRC-32C as frames hold it."""
    crc = google_crc32c.value(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def frame(data: bytes) -> bytes:
    """One record as it stands in a file."""
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked_crc(length)) + data + struct.pack("<I", masked_crc(data))


def varint(number: int) -> bytes:
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def field(number: int, data: bytes) -> bytes:
    """A field of bytes."""
    return varint(number << 3 | 2) + varint(len(data)) + data


def feature(value: Value) -> bytes:
    """A Feature with one list."""
    if isinstance(value, bytes):
        value = [value]
    first = value[0] if value else b""
    if isinstance(first, bytes):
        return field(1, b"".join(field(1, item) for item in value if isinstance(item, bytes)))
    if isinstance(first, float):
        return field(2, field(1, struct.pack(f"<{len(value)}f", *value)))
    return field(3, field(1, b"".join(varint(int(item) & 0xFFFFFFFFFFFFFFFF) for item in value)))


def example(features: Mapping[str, Value]) -> bytes:
    """A tf.train.Example in the form that its writers give it."""
    entries = (field(1, field(1, name.encode()) + field(2, feature(value))) for name, value in features.items())
    return field(1, b"".join(entries))


def write(path: Path, records: Iterable[bytes]) -> Path:
    """A file of records of any content."""
    path.write_bytes(b"".join(map(frame, records)))
    return path


def verified(path: Path, **options: object) -> Checked:
    return check(str(path), Options(**options), Watch())  # type: ignore[arg-type]


def flipped(data: bytes, offset: int, bit: int = 0) -> bytes:
    """The data with one bit the other way."""
    return data[:offset] + bytes([data[offset] ^ 1 << bit]) + data[offset + 1 :]
